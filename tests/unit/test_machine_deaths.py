"""Deaths: in each state, again and again, and by a stop."""

from __future__ import annotations

import pytest

from agentd.agents.ends import MOST_DEATHS
from agentd.model import Kind, Mode, Outcome, Receipt, State
from tests.unit.story import APPROVAL, BUSY, EMPTY, Story, asks


def test_in_the_middle_of_a_turn() -> None:
    story = Story.working()
    story.record.text("half")
    story.die(137)
    assert repr(story) == "<Machine a lost>"
    assert story.outcome("work") == (Outcome.LOST, "half")
    assert story.error("work").message == "the CLI ended with status 137 in the middle of the turn"


def test_after_the_end_was_told_but_not_settled() -> None:
    story = Story.working()
    story.hook.done("all of it", key="k1", settle=60.0)
    story.die(0)
    assert story.outcome("work") == (Outcome.COMPLETED, "all of it")
    assert repr(story) == "<Machine a retired>"


def test_idle_and_clean_is_resumed_by_the_next_prompt() -> None:
    story = Story.ready()
    story.hook(Kind.SESSION_ENDED, reason="prompt_input_exit")
    story.die(0)
    assert repr(story) == "<Machine a retired>"
    story.send("m1")
    assert story.log == ["start s1"]


def test_idle_and_killed() -> None:
    story = Story.ready()
    story.die(137)
    assert repr(story) == "<Machine a lost>"
    story.send("m1")
    assert story.log == ["start s1"]


def test_a_session_that_went_on_after_its_goodbye() -> None:
    story = Story.ready()
    story.hook(Kind.SESSION_ENDED, reason="clear")
    story.hook.started("s2")
    story.die(137)
    assert repr(story) == "<Machine a lost>"


def test_before_the_paste_the_message_is_tried_again() -> None:
    story = Story.ready()
    story.screen = None
    story.send("m1")
    story.die()
    assert repr(story) == "<Machine a starting, queued=1>"
    story.screen = EMPTY
    story.hook.started()
    assert story.log == ["start s1", "paste m1"]


def test_after_the_paste_the_message_is_not_sent_again() -> None:
    story = Story.ready()
    story.send("m1")
    story.die()
    assert story.receipts["m1"] == [Receipt.UNCONFIRMED]
    assert story.outcome("m1") == (Outcome.LOST, None)
    assert repr(story) == "<Machine a lost>"


def test_what_waits_goes_to_the_next_process() -> None:
    story = Story.working()
    story.send("m1")
    story.send("m2")
    story.die()
    assert story.outcome("work") == (Outcome.LOST, None)
    assert repr(story) == "<Machine a starting, queued=2>"
    story.screen = EMPTY
    story.hook.started()
    assert story.log == ["start s1", "paste m1"]


def test_a_cli_that_dies_again_and_again_is_not_restarted_for_ever() -> None:
    story = Story.ready()
    for number in range(5):
        story.send(f"m{number}")
    starts = 0
    while story.state.alive and starts < 10:
        starts += 1
        story.screen = EMPTY
        story.hook.taken(story.machine.memory.delivery.message, key=f"k{starts}")  # type: ignore[union-attr]
        story.die()
        if story.state is State.STARTING:
            story.screen = EMPTY
            story.hook.started()
    assert starts == MOST_DEATHS
    assert {story.results[f"m{n}"].outcome for n in range(5)} == {Outcome.LOST}
    assert repr(story) == "<Machine a lost>"


def test_a_completed_turn_makes_good() -> None:
    story = Story.working()
    story.die()
    story.send("m1")
    story.screen = EMPTY
    story.hook.started()
    story.hook.taken("m1", key="k2")
    story.hook.done("one", key="k2")
    assert story.machine.memory.deaths == 0


def test_a_clean_exit_from_a_dialog_again_and_again() -> None:
    story = Story.ready()
    story.screen = asks(APPROVAL)
    story.send("m1")
    for _ in range(5):
        if not story.state.alive:
            break
        story.die(0)
        story.screen = asks(APPROVAL)
        if story.state is State.STARTING:
            story.hook.started()
    assert story.outcome("m1") == (Outcome.LOST, None)
    assert story.log == ["start s1"]


def test_in_attention() -> None:
    story = Story.working()
    story.hook.asks()
    story.die()
    assert repr(story) == "<Machine a lost>"
    assert story.machine.memory.attention is None


def test_while_it_is_interrupted() -> None:
    story = Story.working()
    story.interrupt()
    story.die()
    assert story.outcome("work") == (Outcome.LOST, None)


def test_a_failed_pane_that_dies_stays_failed() -> None:
    story = Story()
    story.send("m1")
    story.after(301)
    story.die()
    assert repr(story) == "<Machine a failed>"
    assert story.machine.next_deadline() is None


# Stop --------------------------------------------------------------------------------------------


def test_stop_ends_everything_that_is_open() -> None:
    story = Story.working()
    story.record.text("half")
    story.send("m1")
    story.send("s1", mode=Mode.STEER)
    story.hook.taken("s1", key="k1")
    story.stop()
    assert story.log == ["paste s1", "kill"]
    assert [story.outcome(id) for id in ("work", "m1", "s1")] == [
        (Outcome.INTERRUPTED, "half"),
        (Outcome.INTERRUPTED, None),
        (Outcome.INTERRUPTED, None),
    ]
    assert story.error("m1").message == "the agent was stopped by a person"
    assert repr(story) == "<Machine a stopped>"
    assert story.machine.memory.fact.text == "stopped by a person"


def test_a_stopped_agent_begins_a_new_conversation() -> None:
    story = Story.ready()
    story.stop()
    story.send("m1")
    assert story.log == ["kill", "start"]
    assert story.machine.memory.session_id is None


@pytest.mark.parametrize(
    "state", ["starting", "delivery", "attention", "retired", "failed", "lost", "stopped"]
)
def test_stop_in_every_state(state: str) -> None:
    story = Story() if state in ("starting", "failed") else Story.ready(retention_s=60.0)
    if state in ("starting", "failed"):
        story.send("m1")
    match state:
        case "delivery":
            story.send("m1")
        case "attention":
            story.screen = asks(APPROVAL)
            story.send("m1")
        case "retired":
            story.after(61)
        case "failed":
            story.after(301)
        case "lost":
            story.die()
        case "stopped":
            story.stop()
    story.stop()
    assert repr(story) == "<Machine a stopped>"
    assert story.machine.next_deadline() is None
    assert not story.machine.messages


def test_death_under_a_stop_is_the_stop() -> None:
    story = Story.working()
    story.screen = BUSY
    story.stop()
    story.die()
    assert story.state in (State.STOPPED, State.LOST)
