"""The owner task: inputs in turn, effects run, everything written down. A fake terminal, a real store."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from agentd.agents import effects as fx
from agentd.agents.body import POLITE_S
from agentd.agents.clock import Clock
from agentd.agents.dialogs import DialogError
from agentd.agents.hub import Hub
from agentd.agents.life import Life, Records
from agentd.agents.machine import Machine
from agentd.agents.owner import Owner
from agentd.agents.services import LaunchError, Services
from agentd.contract import Readiness
from agentd.ledger import Ledger
from agentd.model import Event, Failure, Kind, Message, Outcome, Receipt, State
from agentd.records.watch import FileWatcher
from agentd.store import AgentRow, Result
from agentd.testing.terminal import FakePane, FakeTerminal
from agentd.tmux.server import TmuxError, TmuxHangs
from agentd.tmux.terminal import PaneRef
from tests.unit.story import Tiny


class StillWatcher(FileWatcher):
    """Tells of a change when the test says so: a mock clock knows nothing of real files."""

    def __init__(self) -> None:
        self.woken: list[Callable[[], None]] = []

    def watch(self, path: Path, changed: Callable[[], None]) -> Callable[[], None]:
        self.woken.append(changed)
        return lambda: self.woken.remove(changed)


class Starter:
    """Starts the tiny CLI; `failure` is what keeps it from it."""

    def __init__(self, terminal: FakeTerminal, launched: Callable[[], None] = lambda: None) -> None:
        self.terminal = terminal
        self._launched = launched
        self.failure: Exception | None = None
        self.resumed: list[str | None] = []

    async def launch(self, life: Life, records: Records, resume: str | None) -> tuple[PaneRef, str | None]:
        if self.failure:
            raise self.failure
        self.resumed.append(resume)
        self._launched()
        life.folder.mkdir(parents=True, exist_ok=True)
        records.begin()
        name, tag = life.row.name, life.row.id
        return await self.terminal.start(name, tag, ["tiny"], {}, Path("/"), life.folder), resume or "s1"


class Cli:
    """The owner of agent `a`, and what its CLI does."""

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        self.folder = folder
        self.terminal = FakeTerminal()
        self.store = Ledger(folder / "store.db")
        self.row = AgentRow("a", "tag", "tiny", "/", None, 0.0)
        self.store.save_agent(self.row)
        self.watcher = StillWatcher()
        self.starter = Starter(self.terminal)
        clock = clock or Clock(1000.0)
        self.services = Services(self.store, Hub(), self.terminal, self.watcher, clock, self.starter)
        self.ids = itertools.count(1)
        self.owner = self.own()

    def own(self, life: Life | None = None) -> Owner:
        life = life or Life(self.row, self.folder / "a")
        machine = Machine(
            "a",
            Tiny(),
            readiness=Readiness(inactivity=300.0),
            retention_s=3600.0,
            new_id=lambda: f"t{next(self.ids)}",
            memory=life.memory,
            messages=self.store.open_messages("a"),
        )
        return Owner(life, Tiny(), machine, self.services)

    @property
    def pane(self) -> FakePane:
        return self.terminal["a"]

    def send(self, id: str, text: str | None = None, **more: Any) -> None:
        now = self.services.clock.now()
        self.owner.submit(Message(id, "a", id if text is None else text, created_at=now, **more))

    async def hook(self, kind: Kind, **data: Any) -> None:
        """A hook's line in the spool, heard and handled."""
        self.write_row({"kind": kind, **data})
        await self.settle()

    def write_row(self, row: Mapping[str, Any]) -> None:
        with self.owner.life.spool.open("a") as spool:
            spool.write(json.dumps({"time": 1.0, "hook": row}) + "\n")
        for woken in [*self.watcher.woken]:
            woken()

    async def settle(self) -> None:
        """Until nothing is left to do at this moment."""
        await trio.testing.wait_all_tasks_blocked()

    async def ready(self) -> None:
        """Start it with a first message, which is answered."""
        self.send("first")
        await self.settle()
        self.pane.show("> ")
        await self.hook(Kind.SESSION_STARTED, session_id="s1")
        await self.turn("first", "hello")
        self.pane.typed.clear()

    async def turn(self, text: str, reply: str, key: str | None = None) -> None:
        key = key or f"k-{text}"
        await self.hook(Kind.PROMPT_TAKEN, text=text, key=key)
        await self.hook(Kind.TURN_DONE, reply=reply, key=key)


@asynccontextmanager
async def running(folder: Path, clock: Clock | None = None) -> AsyncIterator[Cli]:
    cli = Cli(folder, clock)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        try:
            yield cli
        finally:
            nursery.cancel_scope.cancel()
            cli.store.close()


async def test_a_prompt_from_the_inbox_to_the_answer(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1", "do it")
        assert cli.store.result("m1") == Result("m1", "a", Receipt.PENDING), "on disk before it is handled"
        await cli.settle()
        assert cli.pane.typed == ["text:do it", "Enter"]
        await cli.turn("do it", "did it")
        result = await cli.owner.settled("m1")
        assert (result.outcome, result.reply, result.receipt) == (
            Outcome.COMPLETED,
            "did it",
            Receipt.ACCEPTED,
        )
        assert repr(cli.owner) == "<Owner of <Machine a ready>>"
        last = cli.store.last_turn("a")
        assert last and (last.message, last.reply) == ("m1", "did it")


async def test_what_is_pasted_arrives_as_text(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1", "/x")
        await cli.settle()
        assert cli.pane.typed == ["text: /x", "Enter"]


async def test_an_unknown_message_can_not_be_waited_for(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        with pytest.raises(KeyError):
            await cli.owner.settled("m9")


async def test_waiting_for_a_message_that_is_over_returns_at_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        assert (await cli.owner.settled("first")).reply == "hello"


async def test_time_is_the_machines_deadlines(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.terminal.on_input = lambda pane, what: pane.die(0) if what == "text:/exit" else None
        await trio.sleep(3601)
        assert cli.pane.typed == ["C-u", "text:/exit", "Enter"]
        assert not cli.pane.exists
        assert cli.owner.state is State.RETIRED
        cli.send("m1")
        await cli.settle()
        assert cli.starter.resumed == [None, "s1"]


async def test_a_cli_that_does_not_leave_is_ended(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        await trio.sleep(3600 + POLITE_S + 1)
        assert (cli.owner.state, cli.pane.status) == (State.RETIRED, 143)


async def test_death_with_last_words(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        cli.pane.show("Out of memory")
        line = json.dumps({"hook": {"kind": Kind.TEXT, "text": "half"}})
        with cli.owner.life.spool.open("a") as spool:
            spool.write(line + "\n")
        cli.pane.die(137)
        result = await cli.owner.settled("m1")
        assert (result.outcome, result.reply) == (Outcome.LOST, "half")
        assert not cli.pane.exists, "the dead pane and its children are cleared away"


async def test_what_outlives_its_end_is_told(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.pane.left = ["4711 (stone)"]
        await cli.owner.ask(fx.Stop("a person"))
        warnings = [e.get("text") for _, _, e in cli.store.events("a") if e.kind is Kind.WARNING]
        assert warnings == ["still alive after SIGKILL: 4711 (stone)"]
        assert cli.owner.state is State.STOPPED


async def test_a_start_that_fails(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        cli.starter.failure = LaunchError(Failure("unsupported", "too old"))
        cli.send("m1")
        result = await cli.owner.settled("m1")
        assert result.error == Failure("unsupported", "too old")
        cli.starter.failure = TmuxError("tmux new-session: no")
        cli.send("m2")
        result = await cli.owner.settled("m2")
        assert result.error and result.error.code == "start_failed"


async def test_readiness_fires_on_trios_clock(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        cli.send("m1")
        result = await cli.owner.settled("m1")
        assert result.error and result.error.layer == "prompt_readiness"
        assert trio.current_time() == pytest.approx(300.4, abs=0.5)
        assert cli.pane.exists, "it stays to be looked at"


async def test_a_dialog_is_answered_through_the_owner(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        with pytest.raises(DialogError, match="no dialog"):
            await cli.owner.answer("approve")
        cli.pane.show("? Run ls")
        await cli.owner.answer("approve")
        assert cli.pane.typed == ["Enter"]
        with pytest.raises(DialogError, match="possible: approve, deny, 1, 2"):
            await cli.owner.answer("7")


async def test_without_a_pane_there_is_nothing_to_answer(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        with pytest.raises(DialogError, match="no pane"):
            await cli.owner.answer("approve")


async def test_a_terminal_that_hangs_for_a_while_loses_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.terminal.refuse = TmuxHangs("tmux didn't answer")
        cli.send("m1")
        await trio.sleep(20)
        assert cli.pane.typed == []
        cli.terminal.refuse = None
        await trio.sleep(10)
        assert cli.pane.typed == ["text:m1", "Enter"]


async def test_a_terminal_that_refuses_in_the_middle_of_the_record_loses_no_line(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        cli.send("m2")
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        cli.terminal.refuse = TmuxHangs("tmux didn't answer")
        lines = [
            {"kind": Kind.TURN_DONE, "reply": "one", "key": "k1"},
            {"kind": Kind.PROMPT_TAKEN, "text": "typed in the pane", "key": "k2"},
        ]
        with cli.owner.life.spool.open("a") as spool:
            spool.write("".join(json.dumps({"hook": line}) + "\n" for line in lines))
        await cli.hook(Kind.TOOL_STARTED, tool="Bash", id="1")
        await trio.sleep(3)
        turn = cli.owner.machine.memory.turn
        assert turn and (turn.message, turn.keys, turn.tools) == (None, ["k2"], {"1": "Bash"})


ROW = {
    "all": [
        {"kind": Kind.TOOL_STARTED, "tool": "Bash", "id": "1"},
        {"kind": Kind.APPROVAL_WANTED, "tool": "Bash", "text": "Run it?", "reason": "approval"},
        {"kind": Kind.TOOL_STARTED, "tool": "Read", "id": "2"},
        {"kind": Kind.TURN_DONE, "reply": "the answer", "key": "k1"},
    ]
}
"""Each of these makes the owner look at the screen or answer somebody."""


async def test_one_events_trouble_takes_no_other_event_of_its_row_along(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        publish, heard = cli.owner._publish, list[Kind]()

        def refuse(event: Event) -> None:
            heard.append(event.kind)
            publish(event)
            if len(heard) < len(ROW["all"]):
                raise TmuxHangs("tmux didn't answer")

        cli.owner._publish = refuse  # type: ignore[method-assign]
        cli.write_row(ROW)
        assert (await cli.owner.settled("m1")).reply == "the answer"
        assert heard == [event["kind"] for event in ROW["all"]]


@pytest.mark.parametrize("heard", range(1, len(ROW["all"])))
async def test_a_daemon_that_ends_within_a_row_hears_its_rest_the_next_time(
    tmp_path: Path, autojump_clock: MockClock, heard: int
) -> None:
    cli = Cli(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        handle, left = cli.owner._handle, heard

        async def handle_some(what: fx.Input) -> None:
            nonlocal left
            await handle(what)
            if isinstance(what, Event):
                left -= 1
                if not left:
                    nursery.cancel_scope.cancel()
                    await trio.sleep_forever()

        cli.owner._handle = handle_some  # type: ignore[method-assign]
        cli.write_row(ROW)
    [row] = cli.store.agents()
    cli.owner = cli.own(Life.load(row, tmp_path / "a"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        assert (await cli.owner.settled("m1")).reply == "the answer"
        nursery.cancel_scope.cancel()
    told = [event.get("id") for _, _, event in cli.store.events("a") if event.kind is Kind.TOOL_STARTED]
    assert told == ["1", "2"], "each once"
    cli.store.close()


async def test_a_pane_that_was_taken_away_is_noticed(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.pane.vanish()
        await trio.sleep(2)
        assert cli.owner.state is State.LOST


async def test_an_input_that_fails_does_not_end_the_owner(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        await cli.owner.ask("nonsense")  # type: ignore[arg-type]
        cli.send("m1")
        await cli.settle()
        assert cli.pane.typed == ["text:m1", "Enter"]


async def test_a_search_that_fails_ends_nothing(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.owner.life.search = True
        monkeypatch.setattr(cli.owner.adapter, "records", None)
        cli.send("m1")
        await trio.sleep(1)
        assert cli.pane.typed == ["text:m1", "Enter"]
        await cli.turn("m1", "still there")
        assert cli.store.result("m1").reply == "still there"  # type: ignore[union-attr]


@pytest.mark.parametrize("way", ["it dies", "its pane is gone", "it is stopped"])
async def test_last_words_that_fail_hide_no_end(tmp_path: Path, autojump_clock: MockClock, way: str) -> None:
    """A row that its reader can't take, heard while the end of the CLI is handled: the end counts, and
    neither the owner nor the daemon goes down with it."""
    async with running(tmp_path) as cli:
        await cli.ready()
        was = cli.pane
        with cli.owner.life.spool.open("a") as spool:
            spool.write(json.dumps({"hook": {"kind": "nonsense"}}) + "\n")
        if way == "it dies":
            cli.pane.die(1)
            await trio.sleep(2)
            assert cli.owner.state is State.LOST
        elif way == "it is stopped":
            await cli.owner.ask(fx.Stop("a test"))
            assert cli.owner.state is State.STOPPED
        else:
            cli.pane.exists = False
        cli.send("m1")
        await trio.sleep(2)
        assert cli.pane is not was
        assert cli.owner.state is State.STARTING


async def test_a_hook_of_the_process_before_is_not_heard(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        old = cli.owner.life.spool
        cli.pane.die(0)
        await trio.sleep(2)
        cli.send("m1")
        await cli.settle()
        assert cli.owner.life.spool != old
        old.write_text(json.dumps({"hook": {"kind": Kind.PROMPT_TAKEN, "text": "ghost"}}) + "\n")
        for woken in [*cli.watcher.woken]:
            woken()
        await cli.settle()
        assert cli.owner.state is State.STARTING


async def test_a_new_daemon_goes_on_with_turn_and_queue(tmp_path: Path, autojump_clock: MockClock) -> None:
    cli = Cli(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        cli.send("m2")
        await cli.settle()
        nursery.cancel_scope.cancel()
    with cli.owner.life.spool.open("a") as spool:
        spool.write(json.dumps({"hook": {"kind": Kind.TURN_DONE, "reply": "one", "key": "k1"}}) + "\n")
    [row] = cli.store.agents()
    cli.owner = cli.own(Life.load(row, tmp_path / "a"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        assert (await cli.owner.settled("m1")).reply == "one", "it was told while no daemon ran"
        await cli.settle()
        assert cli.pane.typed == ["text:m1", "Enter", "text:m2", "Enter"]
        nursery.cancel_scope.cancel()
    cli.store.close()


async def test_a_new_daemon_hears_the_last_words_of_a_cli_that_is_gone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    cli = Cli(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        nursery.cancel_scope.cancel()
    with cli.owner.life.spool.open("a") as spool:
        spool.write(json.dumps({"hook": {"kind": Kind.TURN_DONE, "reply": "one", "key": "k1"}}) + "\n")
    cli.pane.vanish()
    [row] = cli.store.agents()
    cli.owner = cli.own(Life.load(row, tmp_path / "a"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cli.owner.run)
        assert (await cli.owner.settled("m1")).reply == "one"
        await trio.sleep(1)
        assert cli.owner.state is State.LOST
        nursery.cancel_scope.cancel()
    cli.store.close()


async def test_a_terminal_that_refuses_the_goodbye_still_ends_the_cli(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()

        def refuse(pane: FakePane, what: str) -> None:
            raise TmuxError("tmux send-keys: no")

        cli.terminal.on_input = refuse
        await trio.sleep(3601)
        assert (cli.owner.state, cli.pane.exists) == (State.RETIRED, False)


async def test_events_reach_those_who_listen_and_the_store(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        with cli.services.hub.listen("a") as events, cli.services.hub.listen("b") as others:
            await cli.ready()
            await cli.hook(Kind.ACTIVITY)
            heard = []
            while events.statistics().current_buffer_used:
                heard.append((await events.receive()).seq)
            assert others.statistics().current_buffer_used == 0
        stored = cli.store.events("a")
        assert heard == [seq for seq, _, _ in stored]
        assert Kind.ACTIVITY not in [event.kind for _, _, event in stored]


async def test_the_clock_runs_with_trio_not_with_the_wall(autojump_clock: MockClock) -> None:
    clock = Clock(1000.0)
    await trio.sleep(90)
    assert clock.now() == 1090.0
    assert clock.to_trio(1100.0) - trio.current_time() == 10.0


async def test_the_fake_terminal_says_how_it_is(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        assert repr(cli.terminal) == "<FakeTerminal 1 alive of 1>"
        assert repr(cli.pane) == "<FakePane a ALIVE, typed: 0>"
        cli.pane.die(3)
        assert repr(cli.pane) == "<FakePane a DEAD (3), typed: 0>"
        cli.pane.vanish()
        assert repr(cli.pane) == "<FakePane a GONE, typed: 0>"
        with pytest.raises(TmuxError, match="can't find pane"):
            await cli.terminal.screen(cli.pane.ref)


async def test_a_damaged_record_is_told_and_hides_no_end(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        spool = cli.owner.life.spool
        position = spool.stat().st_size
        done = json.dumps({"hook": {"kind": Kind.TURN_DONE, "reply": "cut \ud83d", "key": "k1"}})
        with spool.open("ab") as file:
            file.write(b'\0\0nonsense\n{"hook": {"kind": "te' + done.encode() + b"\n")
        await cli.hook(Kind.ACTIVITY)
        assert (await cli.owner.settled("m1")).reply == "cut \ufffd"
        warnings = [e.get("text") for _, _, e in cli.store.events("a") if e.kind is Kind.WARNING]
        text = f"the record {spool} has a line that is no JSON object at byte {position}: skipped"
        assert warnings == [text]
