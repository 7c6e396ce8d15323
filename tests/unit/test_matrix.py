"""Every way to die in every state: each ends in a named state with a text, none in a hang.

The owner runs with a terminal without tmux; a new prompt afterwards always has an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from agentd.agents import effects as fx
from agentd.model import Kind, Outcome, State
from agentd.testing.terminal import FakePane
from agentd.tmux.server import TmuxError
from tests.unit.story import APPROVAL as QUESTION
from tests.unit.story import Story, asks
from tests.unit.test_owner import Cli, running

Begin = Callable[[Cli], Awaitable[None]]


async def starting(cli: Cli) -> None:
    cli.send("m1")
    await cli.settle()


async def idle(cli: Cli) -> None:
    await cli.ready()


async def before_the_paste(cli: Cli) -> None:
    await cli.ready()
    cli.pane.show("something else")
    cli.send("m1")
    await cli.settle()


async def before_enter(cli: Cli) -> None:
    """The text stands in the composer, and the key never came."""
    await cli.ready()
    cli.terminal.on_input = lambda pane, what: pane.show("> m1") if what == "text:m1" else None
    cli.send("m1")
    await cli.settle()


async def before_the_record(cli: Cli) -> None:
    await cli.ready()
    cli.send("m1")
    await cli.settle()


async def working(cli: Cli) -> None:
    await before_the_record(cli)
    await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")


async def attention(cli: Cli) -> None:
    await working(cli)
    cli.pane.show("? Run ls")
    await cli.hook(Kind.APPROVAL_WANTED, tool="Bash", text="Run ls?", reason="approval")


async def interrupted(cli: Cli) -> None:
    await working(cli)
    await cli.owner.ask(fx.Interrupt("a person"))


async def settling(cli: Cli) -> None:
    await working(cli)
    await cli.hook(Kind.TURN_DONE, reply="one", key="k1", settle=60.0)


async def retiring(cli: Cli) -> None:
    """`/exit` is typed, and the CLI has not left yet."""
    await cli.ready()
    await trio.sleep(3601)


async def stopping(cli: Cli) -> None:
    await working(cli)
    cli.owner.tell(fx.Stop("a person"))


BEGIN: dict[str, Begin] = {
    begin.__name__: begin
    for begin in (
        starting, idle, before_the_paste, before_enter, before_the_record, working, attention, interrupted,
        settling, retiring, stopping,
    )
}  # fmt: skip


def crash(cli: Cli) -> None:
    cli.pane.show("Segmentation fault")
    cli.pane.die(139)


def killed(cli: Cli) -> None:
    cli.pane.die(137)


def pane_taken_away(cli: Cli) -> None:
    cli.pane.vanish()


def server_gone(cli: Cli) -> None:
    """Every command fails from now on, until a start makes a new server."""
    for pane in cli.terminal.panes:
        pane.vanish()
    cli.terminal.refuse = TmuxError("tmux list-panes: no server running on /run/t.sock")
    launch = cli.starter.launch

    async def start(*args: object) -> object:
        cli.terminal.refuse = None
        return await launch(*args)  # type: ignore[arg-type]

    cli.starter.launch = start  # type: ignore[method-assign, assignment]


DEATHS = (crash, killed, pane_taken_away, server_gone)
OUTCOMES = {
    "starting": Outcome.FAILED,
    "settling": Outcome.COMPLETED,
    "stopping": Outcome.INTERRUPTED,
}
"""Of the message that was under way; else it is lost."""


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("state", BEGIN)
async def test_every_death_in_every_state(
    tmp_path: Path, autojump_clock: MockClock, state: str, death: Callable[[Cli], None]
) -> None:
    async with running(tmp_path) as cli:
        await BEGIN[state](cli)
        was = len(cli.terminal.panes)
        death(cli)
        await trio.sleep(20)
        if state == "before_the_paste":
            assert cli.owner.state == State.STARTING, "nothing was pasted: it is tried in a new pane"
        else:
            assert not cli.owner.state.alive
            assert cli.owner.life.pane is None
            assert len(cli.terminal.panes) == was
        assert cli.owner.machine.memory.fact.text not in ("", "created")
        result = cli.store.result("m1")
        if result and state != "before_the_paste":
            assert result.outcome == OUTCOMES.get(state, Outcome.LOST)
            assert result.outcome is Outcome.COMPLETED or (result.error and result.error.message)
        cli.terminal.on_input = None
        await again(cli, was)


async def again(cli: Cli, panes: int) -> None:
    """The next prompt has an answer, in a new pane; what waited comes first."""
    cli.send("next")
    await cli.settle()
    assert len(cli.terminal.panes) == panes + 1
    cli.pane.show("> ")
    await cli.hook(Kind.SESSION_STARTED, session_id="s1")
    first = cli.store.result("m1")
    if first and first.outcome is None:
        await cli.turn("m1", "late, but once", key="k8")
        await cli.settle()
    await cli.turn("next", "here again", key="k9")
    assert (await cli.owner.settled("next")).reply == "here again"
    typed = [what for pane in cli.terminal.panes for what in pane.typed]
    assert typed.count("text:m1") <= 1, "nothing is pasted twice"


async def test_everybody_waits_for_an_answer_while_all_agents_die(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Three callers, one behind the other: each is told, none waits for ever."""
    async with running(tmp_path) as cli:
        await working(cli)
        cli.send("m2")
        cli.send("m3")
        await cli.settle()

        def dies(pane: FakePane, what: str) -> None:
            pane.die(1)

        cli.terminal.on_input = dies
        cli.pane.die(1)
        await trio.sleep(1)
        cli.pane.show("> ")
        await cli.hook(Kind.SESSION_STARTED, session_id="s1")
        await trio.sleep(60)
        outcomes = [(await cli.owner.settled(id)).outcome for id in ("m1", "m2", "m3")]
        assert outcomes == [Outcome.LOST] * 3
        assert cli.owner.state == State.LOST


# What a death says, where the conversation can be taken up again, and where not --------------------


def test_a_lost_agent_that_can_be_resumed_says_so() -> None:
    story = Story.working()
    story.die(137)
    fact = story.machine.memory.fact.text
    assert fact == "the CLI ended with status 137; the next prompt resumes its conversation"
    story.send("m1")
    assert story.log == ["start s1"]
    assert story.machine.memory.fact.text == "resuming session s1"


def test_a_lost_agent_that_can_not_be_resumed_says_so() -> None:
    story = Story.working(resume=False)
    story.die(137)
    fact = story.machine.memory.fact.text
    assert fact == (
        "the CLI ended with status 137; tiny can't take its conversation up again: "
        "the next prompt begins a new one"
    )
    story.send("m1")
    assert story.log == ["start"]
    assert story.warnings[-1] == "tiny can't take a conversation up again: this prompt begins a new one"


def test_a_first_conversation_is_no_loss() -> None:
    story = Story(resume=False)
    story.send("m1")
    assert story.warnings == []


def test_retired_says_what_the_next_prompt_will_find() -> None:
    story = Story.ready(retention_s=60.0, resume=False)
    story.after(61)
    assert story.machine.memory.fact.text == (
        "idle for the whole retention; tiny can't take its conversation up again: "
        "the next prompt begins a new one"
    )


def test_a_dialog_at_the_end_of_the_retention_is_not_answered() -> None:
    story = Story.ready(retention_s=60.0)
    story.screen = asks(QUESTION)
    story.after(61)
    assert story.log == ["kill"]
