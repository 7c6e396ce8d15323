"""Clocks that jump, and machines that sleep: which timers run on, which stand still.

Real time (also while the machine sleeps): the retention, a caller's deadline, when something happened.
Time awake: readiness, deliveries, interruptions, the wait for a second source, dialogs.
The wall clock is read once; setting it changes nothing until the next daemon, which moves the times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from agentd.agents import adoption
from agentd.agents import effects as fx
from agentd.agents.clock import Clock
from agentd.agents.delivery import CONFIRM_S
from agentd.agents.memory import from_json, move, to_json
from agentd.agents.supervisor import AWAKE_EVERY_S, Supervisor
from agentd.config import Config
from agentd.contract import Policy, Readiness
from agentd.model import Kind, Outcome, Receipt, State
from tests.unit.story import APPROVAL, BUSY, EMPTY, UNKNOWN, Story, asks
from tests.unit.test_owner import Cli, running

HOUR = 3600.0
NIGHT = 4 * HOUR


class Laptop:
    """Its own count of seconds, which goes on while it sleeps and trio's stands still."""

    def __init__(self) -> None:
        self.slept = 0.0

    def __call__(self) -> float:
        return trio.current_time() + self.slept


def sleeps(story: Story, seconds: float = NIGHT) -> None:
    """Real time goes on; the owner notices before anything else is handled."""
    story.now += seconds
    story.tell(fx.Slept(seconds))


# The clock itself ---------------------------------------------------------------------------------


async def test_the_wall_clock_is_read_once(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock.of_this_machine()
    was = clock.now()
    for jump in (HOUR, -HOUR, -50 * 365 * 24 * HOUR):
        wall = time.time() + jump
        monkeypatch.setattr("time.time", lambda wall=wall: wall)
        assert clock.now() == pytest.approx(was, abs=5)


async def test_a_sleep_is_noticed_and_counts_as_real_time(autojump_clock: MockClock) -> None:
    laptop = Laptop()
    clock = Clock(1000.0, laptop)
    await trio.sleep(10)
    laptop.slept = NIGHT
    assert clock.now() == 1010 + NIGHT
    assert clock.asleep() == NIGHT
    assert clock.to_trio(clock.now() + 5) == trio.current_time() + 5


async def test_by_how_much_the_clock_was_set(autojump_clock: MockClock) -> None:
    laptop = Laptop()
    first = Clock(1000.0, laptop, "boot 1")
    await trio.sleep(100)
    laptop.slept = 50.0
    again = Clock(1000.0 + 150 + HOUR, laptop, "boot 1")
    assert again.moved_since(first.anchor) == HOUR
    assert again.moved_since(("boot 0", 5.0)) == 0.0, "another boot has another count"
    assert Clock(7.0, laptop).moved_since(("", 5.0)) == 0.0, "no boot id, no answer"


async def test_this_machine_has_a_real_clock(autojump_clock: MockClock) -> None:
    clock = Clock.of_this_machine()
    assert clock.now() == pytest.approx(time.time(), abs=5)
    assert clock.anchor[1] == pytest.approx(Clock.of_this_machine().anchor[1], abs=1)


# A machine that slept, by the machine's states ----------------------------------------------------


def test_a_start_is_not_silent_while_the_machine_sleeps() -> None:
    story = Story()
    story.send("m1")
    story.after(100)
    sleeps(story)
    story.after(150)
    assert story.state == State.STARTING.value
    story.after(60)
    assert story.state == State.FAILED.value, "300 s awake"


def test_an_absolute_readiness_limit_stands_still_too() -> None:
    story = Story(readiness=Readiness(inactivity=None, absolute=600.0))
    story.send("m1")
    story.after(100)
    sleeps(story)
    story.after(450)
    assert story.state == State.STARTING.value
    story.after(51)
    assert story.state == State.FAILED.value


def test_a_prompt_that_was_just_pasted_is_not_given_up() -> None:
    story = Story.ready()
    story.send("m1")
    story.after(5)
    sleeps(story)
    story.after(CONFIRM_S - 10)
    assert story.outcome("m1") is None
    story.hook.taken("m1", key="k1")
    assert story.receipts["m1"][-1] is Receipt.ACCEPTED


def test_the_second_source_of_an_end_has_its_time() -> None:
    story = Story.working()
    story.hook.done("early", key="k1", settle=60.0)
    sleeps(story)
    story.after(30)
    assert story.outcome("work") is None
    story.record.text("more")
    story.record.done("all of it", key="k1")
    assert story.outcome("work") == (Outcome.COMPLETED, "early")


def test_an_interruption_is_not_answered_by_the_sleep() -> None:
    story = Story.working()
    story.interrupt()
    sleeps(story)
    story.after(2)
    assert story.outcome("work") is None
    story.record.interrupted(key="k1")
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)


def test_a_dialog_is_the_same_dialog_afterwards() -> None:
    story = Story.working()
    story.hook.asks()
    story.screen = asks(APPROVAL)
    story.after(3)
    sleeps(story)
    story.after(3)
    assert story.state == State.ATTENTION.value
    assert story.states.count(State.ATTENTION) == 1
    story.screen = BUSY
    story.after(5)
    assert story.state == State.WORKING.value


def test_a_request_that_nobody_drew_yet_has_its_time() -> None:
    story = Story.working()
    story.screen = UNKNOWN
    story.hook.asks()
    sleeps(story)
    story.screen = BUSY
    story.after(2)
    assert story.state == State.ATTENTION.value, "4 s awake, not asleep"


def test_a_running_turn_is_no_idleness_however_long_the_machine_slept() -> None:
    story = Story.working(retention_s=3 * HOUR)
    sleeps(story)
    story.after(60)
    assert story.state == State.WORKING.value
    story.screen = EMPTY
    story.hook.done("one", key="k1")
    story.after(2 * HOUR)
    assert story.state == State.READY.value


def test_retention_is_real_time() -> None:
    story = Story.ready(retention_s=3 * HOUR)
    sleeps(story)
    story.after(1)
    assert repr(story) == "<Machine a retired>"


def test_a_person_who_opens_the_laptop_and_looks_keeps_the_agent() -> None:
    story = Story.ready(retention_s=3 * HOUR)
    story.attached = True
    sleeps(story)
    story.after(1)
    assert story.state == State.READY.value
    story.attached = False
    story.after(2 * HOUR)
    assert story.state == State.READY.value, "that was use"


def test_a_prompt_is_quicker_than_the_retention() -> None:
    story = Story.ready(retention_s=3 * HOUR)
    sleeps(story)
    story.send("m1")
    story.after(1)
    assert story.log == ["paste m1"]


def test_a_callers_deadline_is_real_time() -> None:
    story = Story.ready()
    story.send("m1", deadline_s=HOUR)
    story.hook.taken("m1", key="k1")
    story.screen = BUSY
    sleeps(story)
    story.after(1)
    assert story.log[-1] == "escape"
    story.record.interrupted(key="k1")
    assert story.outcome("m1") == (Outcome.TIMED_OUT, None)


@pytest.mark.parametrize("by", [HOUR, -HOUR, 400 * 24 * HOUR, -400 * 24 * HOUR])
@pytest.mark.parametrize(
    "begin",
    [
        lambda story: story.send("m1"),
        lambda story: (story.send("m1"), story.after(5)),
        lambda story: (story.__dict__.update(screen=asks(APPROVAL)), story.send("m1")),
    ],
    ids=["delivery", "pasted", "attention"],
)
def test_a_clock_that_was_set_moves_every_deadline(begin: Callable[[Story], object], by: float) -> None:
    story = Story.ready()
    begin(story)
    was = story.machine.next_deadline()
    assert was is not None
    memory = from_json(json.loads(json.dumps(to_json(story.machine.memory))))
    move(memory, by)
    story.machine.memory = memory
    assert story.machine.next_deadline() == pytest.approx(was + by)


def test_every_time_is_moved() -> None:
    """Whoever adds a time to the memory decides here what it means."""
    names: set[str] = set()

    def numbers(value: object, name: str = "") -> list[float]:
        if isinstance(value, dict):
            return [n for key, item in value.items() for n in numbers(item, key)]
        if isinstance(value, list):
            return [n for item in value for n in numbers(item, name)]
        if isinstance(value, float):
            names.add(name)
            return [value]
        return []

    story = Story.working(retention_s=HOUR)
    story.hook.done("x", key="k1", settle=60.0)
    story.record.taken("other", key="k2")
    story.hook.asks()
    story.interrupt()
    memory = story.machine.memory
    before = numbers(to_json(memory))
    move(memory, HOUR)
    moved = {round(b - a) for a, b in zip(before, numbers(to_json(memory)), strict=True)}
    assert moved <= {0, 3600}
    still = [b for a, b in zip(before, numbers(to_json(memory)), strict=True) if a == b]
    assert set(still) <= {0.0}, "only durations, of which none is set here, stay"
    assert "last_used_at" in names and "since" in names


# The owner and the supervisor ---------------------------------------------------------------------


async def test_the_owner_notices_a_sleep_before_a_timer(tmp_path: Path, autojump_clock: MockClock) -> None:
    laptop = Laptop()
    async with running(tmp_path, Clock(1000.0, laptop)) as cli:
        cli.send("m1")
        await trio.sleep(100)
        laptop.slept = NIGHT
        await trio.sleep(150)
        assert cli.owner.state == State.STARTING.value
        cli.pane.show("> ")
        await cli.hook(Kind.SESSION_STARTED, session_id="s1")
        await cli.turn("m1", "one")
        assert (await cli.owner.settled("m1")).reply == "one"


async def test_an_idle_agent_is_retired_soon_after_the_machine_wakes(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    laptop = Laptop()
    async with running(tmp_path, Clock(1000.0, laptop)) as cli, trio.open_nursery() as nursery:
        supervisor = Supervisor({}, cli.services, tmp_path, Config, Policy, tmp_path)
        supervisor.owners["a"] = cli.owner
        nursery.start_soon(supervisor._notice_sleep)
        await cli.ready()
        cli.terminal.on_input = lambda pane, what: pane.die(0) if what == "text:/exit" else None
        await trio.sleep(600)
        assert cli.owner.state == State.READY.value
        laptop.slept = NIGHT
        await trio.sleep(AWAKE_EVERY_S + 2)
        assert cli.owner.state == State.RETIRED.value
        nursery.cancel_scope.cancel()


async def test_what_was_written_counts_before_a_limit_that_has_passed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Nobody told that the file has grown (inotify lost it, or the machine just woke)."""
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        rows = ({"kind": Kind.PROMPT_TAKEN, "text": "m1", "key": "k1"}, {"kind": Kind.TURN_DONE, "key": "k1"})
        with cli.owner.life.spool.open("a") as spool:
            spool.write("".join(json.dumps({"hook": row}) + "\n" for row in rows))
        await trio.sleep(CONFIRM_S + 1)
        assert (await cli.owner.settled("m1")).outcome is Outcome.COMPLETED


def adopted(cli: Cli, clock: Clock) -> None:
    """A new daemon, by this clock."""
    object.__setattr__(cli.services, "clock", clock)
    [row] = cli.store.agents()
    cli.owner = cli.own(adoption.load(row, cli.folder / "a", cli.services))
    cli.owner.machine.adopt(clock.now())


@pytest.mark.parametrize("by", [0.0, HOUR, -HOUR, 400 * 24 * HOUR, -400 * 24 * HOUR])
async def test_a_daemon_that_comes_back_after_the_clock_was_set(
    tmp_path: Path, autojump_clock: MockClock, by: float
) -> None:
    """A deadline of ten minutes, set before; the daemon was away for a minute."""
    laptop = Laptop()
    cli = Cli(tmp_path, Clock(1e9, laptop, "boot"))
    cli.owner.life.clock = cli.services.clock.anchor
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        await cli.ready()
        cli.send("m1", deadline_s=600.0)
        await cli.settle()
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        nursery.cancel_scope.cancel()
    await trio.sleep(60)
    for _ in range(2):  # a second restart moves nothing again
        adopted(cli, Clock(1e9 + trio.current_time() + by, laptop, "boot"))
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        result = await cli.owner.settled("m1")
        assert result.outcome is Outcome.TIMED_OUT
        assert trio.current_time() - start == pytest.approx(540, abs=1)
        nursery.cancel_scope.cancel()
    cli.store.close()


async def test_a_daemon_that_was_away_for_hours_listens_before_it_judges(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    cli = Cli(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        cli.send("m1")
        await trio.sleep(5)
        nursery.cancel_scope.cancel()
    await trio.sleep(2 * HOUR)
    cli.pane.show("> ")
    adopted(cli, cli.services.clock)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        await trio.sleep(5)
        assert cli.pane.typed == ["text:m1", "Enter"], "it was ready long ago, and only the screen says so"
        nursery.cancel_scope.cancel()
    cli.store.close()
