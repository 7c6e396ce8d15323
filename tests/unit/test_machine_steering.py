"""Steering: prompts typed into a running turn, and what becomes of each."""

from __future__ import annotations

import pytest

from agentd.agents.delivery import CONFIRM_S
from agentd.model import Mode, Outcome, Receipt
from agentd.screen import Look
from tests.unit.story import BUSY, EMPTY, Story, draft


def steered(key: str | None = "k1", *ids: str) -> Story:
    """A working agent with messages inside its CLI; the hook told of each at once, with the turn's key."""
    story = Story.working(key=key)
    for id in ids or ("s1",):
        story.screen = BUSY
        story.steer(id)
        story.hook.taken(id, key=key) if key else story.record.steer_waits(id)
    return story


def test_a_steer_is_pasted_into_the_running_turn() -> None:
    story = Story.working()
    story.steer("s1")
    assert repr(story) == "<Machine a working, turn=t2, delivery=s1/pasted>"
    story.hook.taken("s1", key="k1")
    assert story.log == ["paste s1"]
    assert story.receipts["s1"] == [Receipt.QUEUED, Receipt.STEERED]


def test_it_joins_the_turn_and_shares_its_answer() -> None:
    story = steered()
    story.record.steer_waits("s1")
    story.record.steer_joined("s1")
    story.hook.done("both", key="k1")
    assert story.outcome("work") == story.outcome("s1") == (Outcome.COMPLETED, "both")
    assert repr(story) == "<Machine a ready>"


def test_that_it_joined_is_told_just_after_the_end() -> None:
    story = steered()
    story.hook.done("both", key="k1")
    assert story.outcome("work") is None, "the record may still say what became of it"
    story.record.steer_joined("s1")
    story.after(2)
    assert story.outcome("s1") == (Outcome.COMPLETED, "both")


def test_that_it_joined_is_told_long_after_the_end() -> None:
    story = steered()
    story.hook.done("both", key="k1")
    story.after(1.6)
    assert repr(story) == "<Machine a working, turn=t3>"
    story.record.steer_joined("s1")
    assert story.outcome("s1") == (Outcome.COMPLETED, "both")
    assert repr(story) == "<Machine a ready>"


@pytest.mark.parametrize("announced", [True, False])
def test_it_becomes_a_turn_of_its_own(announced: bool) -> None:
    story = steered()
    story.hook.done("one", key="k1")
    if announced:
        story.record.steer_runs("s1")
    story.record.taken("s1", key="k2")
    assert story.outcome("work") == (Outcome.COMPLETED, "one")
    story.record.done("one", key="k1")
    story.after(60)
    assert repr(story) == "<Machine a working, turn=t3>"
    story.hook.done("two", key="k2")
    assert story.outcome("s1") == (Outcome.COMPLETED, "two")


def test_its_own_turn_begins_before_the_end_of_the_first_is_told() -> None:
    story = steered()
    story.record.taken("s1", key="k2")
    story.hook.done("one", key="k1")
    assert story.outcome("work") == (Outcome.COMPLETED, "one")
    story.hook.done("two", key="k2")
    assert story.outcome("s1") == (Outcome.COMPLETED, "two")


def test_its_own_turn_ends_and_the_end_of_the_first_was_lost() -> None:
    story = steered()
    story.record.text("half")
    story.record.taken("s1", key="k2")
    story.hook.done("two", key="k2")
    assert story.outcome("work") == (Outcome.LOST, "half")
    assert story.outcome("s1") == (Outcome.COMPLETED, "two")
    assert repr(story) == "<Machine a ready>"


def test_it_is_told_only_after_the_end_of_the_turn_with_that_turns_key() -> None:
    story = Story.working()
    story.steer("s1")
    story.hook.done("one", key="k1")
    story.hook.taken("s1", key="k1")
    assert repr(story) == "<Machine a working, turn=t3>"
    story.hook.done("two", key="k2")
    assert story.outcome("s1") == (Outcome.COMPLETED, "two")


def test_nothing_is_ever_told_and_the_screen_is_idle() -> None:
    story = steered()
    story.screen = EMPTY
    story.hook.done("both", key="k1")
    story.after(10)
    assert story.outcome("s1") == (Outcome.COMPLETED, "both"), "nothing runs, so it had joined"
    assert repr(story) == "<Machine a ready>"


def test_a_text_that_streams_is_no_idle_screen() -> None:
    story = steered()
    story.screen, story.streams = EMPTY, True
    story.hook.done("one", key="k1")
    story.after(60)
    assert story.outcome("s1") is None
    story.hook.done("two", key="k2")
    assert story.outcome("s1") == (Outcome.COMPLETED, "two")


def test_several_join() -> None:
    story = steered("k1", "s1", "s2")
    story.record.steer_joined("s1")
    story.record.steer_joined("s2")
    story.hook.done("all", key="k1")
    assert [story.outcome(id) for id in ("work", "s1", "s2")] == [(Outcome.COMPLETED, "all")] * 3


def test_several_run_one_after_the_other() -> None:
    story = steered("k1", "s1", "s2")
    story.hook.done("one", key="k1")
    story.record.steer_runs("s1")
    story.record.taken("s1", key="k2")
    story.hook.done("two", key="k2")
    story.record.steer_runs("s2")
    story.record.taken("s2", key="k3")
    story.hook.done("three", key="k3")
    replies = [(Outcome.COMPLETED, text) for text in ("one", "two", "three")]
    assert [story.outcome(id) for id in ("work", "s1", "s2")] == replies


def test_identical_steers_are_two() -> None:
    story = Story.working()
    for id in ("s1", "s2"):
        story.steer(id, "hurry")
        story.hook.taken("hurry", key="k1")
    story.record.steer_joined("hurry")
    story.record.steer_joined("hurry")
    story.hook.done("all", key="k1")
    assert story.outcome("s1") == story.outcome("s2") == (Outcome.COMPLETED, "all")


def test_a_steer_with_the_text_of_the_turns_own_prompt() -> None:
    story = Story.working()
    story.steer("s1", "work")
    story.hook.taken("work", key="k1")
    assert story.receipts["s1"][-1] is Receipt.STEERED


def test_given_back_unsent() -> None:
    story = steered()
    story.may_paste_again.add("s1")
    story.record.steer_dropped("s1")
    assert story.receipts["s1"][-1] is Receipt.QUEUED
    story.screen = EMPTY
    story.hook.done("one", key="k1")
    assert story.log[-1] == "paste s1"


def test_a_cli_that_cannot_be_steered_queues() -> None:
    story = Story.working(steer="")
    story.steer("s1")
    assert story.warnings == ["tiny can't be steered: the message is queued"]
    assert repr(story) == "<Machine a working, turn=t2, queued=1>"
    assert story.log == []


def test_a_steer_sent_while_the_first_prompt_is_on_its_way() -> None:
    story = Story.ready()
    story.send("m1")
    story.send("m2")
    story.steer("s1")
    story.hook.taken("m1", key="k1")
    assert story.log == ["paste m1", "paste s1"]
    assert repr(story) == "<Machine a working, turn=t2, delivery=s1/pasted, queued=1>"


def test_a_steer_to_an_idle_agent_is_a_prompt() -> None:
    story = Story.ready()
    story.steer("s1")
    story.hook.taken("s1", key="k1")
    assert repr(story) == "<Machine a working, turn=t2>"


def test_a_steer_that_comes_too_late_is_a_prompt() -> None:
    story = Story.working()
    story.screen = None
    story.steer("s1")
    story.hook.done("one", key="k1")
    story.screen = EMPTY
    story.after(6)
    story.hook.taken("s1", key="k2")
    story.hook.done("two", key="k2")
    assert story.outcome("s1") == (Outcome.COMPLETED, "two")


def test_never_reported() -> None:
    story = Story.working()
    story.steer("s1")
    story.after(CONFIRM_S + 1)
    assert story.receipts["s1"][-1] is Receipt.UNCONFIRMED
    assert repr(story) == "<Machine a working, turn=t2>"


def test_into_a_request_that_waits_for_background_work() -> None:
    story = Story.working()
    story.hook.done("started", key="k1", background=True)
    story.screen = EMPTY
    story.steer("s1")
    story.hook.taken("s1", key="k2")
    story.hook.done("noted", key="k2", background=True)
    story.hook.taken("<task-notification>", key="k3", origin="system")
    story.hook.done("all done", key="k3")
    assert story.outcome("work") == story.outcome("s1") == (Outcome.COMPLETED, "all done")


# Ends --------------------------------------------------------------------------------------------


def test_escape_runs_the_waiting_steer_at_once() -> None:
    story = steered()
    story.interrupt()
    assert story.log[-1] == "escape"
    story.record.interrupted(key="k1")
    story.record.steer_runs("s1")
    story.record.taken("s1", key="k2")
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)
    assert repr(story) == "<Machine a working, turn=t3>"
    story.hook.done("steered", key="k2")
    assert story.outcome("s1") == (Outcome.COMPLETED, "steered")


def test_escape_and_the_steer_is_never_heard_of() -> None:
    story = steered()
    story.interrupt()
    story.screen = EMPTY
    story.record.interrupted(key="k1")
    story.after(10)
    assert story.outcome("s1") == (Outcome.INTERRUPTED, None), "it went with the turn; it isn't done"
    assert repr(story) == "<Machine a ready>"


def test_escape_puts_the_steer_back_into_the_composer() -> None:
    story = steered()
    story.interrupt()
    story.screen = draft("s1")
    story.record.interrupted(key="k1")
    story.after(10)
    assert story.outcome("s1") == (Outcome.INTERRUPTED, None)


def test_withdrawn_inside_the_cli_and_then_run() -> None:
    story = steered()
    story.withdraw("s1")
    assert story.outcome("s1") == (Outcome.INTERRUPTED, None)
    story.hook.done("one", key="k1")
    story.record.taken("s1", key="k2")
    assert story.log[-1] == "escape"
    story.record.interrupted(key="k2")
    assert repr(story) == "<Machine a ready>"


def test_withdrawn_on_its_way_and_then_run() -> None:
    story = Story.working()
    story.steer("s1")
    story.withdraw("s1")
    story.hook.taken("s1", key="k1")
    story.screen = EMPTY
    story.hook.done("one", key="k1")
    story.after(1.6)
    assert story.log[-1] == "escape"
    story.after(5)
    assert repr(story) == "<Machine a ready>"


def test_a_deadline_inside_the_cli_leaves_the_turn_alone() -> None:
    story = Story.working()
    story.send("s1", mode=Mode.STEER, deadline_s=10.0)
    story.hook.taken("s1", key="k1")
    story.after(11)
    assert story.outcome("s1") == (Outcome.TIMED_OUT, None)
    assert "escape" not in story.log
    story.record.steer_joined("s1")
    story.hook.done("both", key="k1")
    assert story.outcome("work") == (Outcome.COMPLETED, "both")


def test_no_steer_into_a_turn_that_is_to_end() -> None:
    story = Story.working()
    story.interrupt()
    story.steer("s1")
    assert story.log == ["escape"]
    story.screen = EMPTY
    story.record.interrupted(key="k1")
    story.after(0.5)
    assert story.log == ["escape", "paste s1"]


def test_the_cli_dies_with_a_steer_inside() -> None:
    story = steered()
    story.die()
    assert story.outcome("s1") == (Outcome.LOST, None)
    assert repr(story) == "<Machine a lost>"


# What only the screen shows ------------------------------------------------------------------------


def waits(*texts: str, busy: bool = True) -> Look:
    return Look(composer=True, draft="", busy=busy, waiting=texts)


@pytest.mark.parametrize("shown", ["s1 and a long text", "s1 and\na lo…"])
def test_a_steer_that_is_seen_inside_the_cli_is_steered(shown: str) -> None:
    """While a tool runs, a CLI may write nothing of it until the tool is over."""
    story = Story.working(key="k1")
    story.steer("s1", "s1 and a long text")
    story.screen = waits("another", shown)
    story.after(CONFIRM_S * 2)
    assert story.receipts["s1"] == [Receipt.QUEUED, Receipt.STEERED]
    story.record.steer_joined("s1 and a long text")
    story.record.done("both", key="k1")
    assert story.outcome("work") == story.outcome("s1") == (Outcome.COMPLETED, "both")


def test_another_text_that_waits_proves_nothing() -> None:
    story = Story.working(key="k1")
    story.steer("s1")
    story.screen = waits("s1 but longer", "s")
    story.after(CONFIRM_S + 1)
    assert story.receipts["s1"] == [Receipt.QUEUED, Receipt.UNCONFIRMED]


# After a command ---------------------------------------------------------------------------------


def commanded(text: str = "/compact") -> Story:
    """A command runs by the screen's word alone, and `s1` was steered into it."""
    story = Story.ready()
    story.send("m1", text, raw=True)
    story.after(1)
    assert repr(story) == "<Machine a working, turn=t2>"
    story.steer("s1")
    return story


@pytest.mark.parametrize("background", [False, True])
def test_a_prompt_after_a_command_has_its_own_end(background: bool) -> None:
    """The command is long over, but the screen wasn't read often enough to say so."""
    story = commanded()
    story.record.taken("s1", key="k1")
    assert story.outcome("m1") == (Outcome.COMPLETED, None)
    assert repr(story) == "<Machine a working, turn=t3>"
    if background:
        story.record.done("begun", key="k1", background=True)
        story.hook.taken("s1", key="k1")
        story.hook.done("begun", key="k1", background=True)
        story.record.taken("task over", key="k2", origin="system")
        story.record.done("its own", key="k2")
    else:
        story.hook.taken("s1", key="k1")
        story.hook.done("its own", key="k1")
    assert story.outcome("s1") == (Outcome.COMPLETED, "its own")
    assert repr(story) == "<Machine a ready>"


def test_a_hook_may_tell_of_a_prompt_that_waits_for_a_command() -> None:
    story = commanded()
    story.screen = BUSY
    story.hook.taken("s1", key="k1")
    story.after(60)
    assert story.outcome("m1") is None
    assert repr(story) == "<Machine a working, turn=t2>"
    story.record.taken("s1", key="k1")
    assert story.outcome("m1") == (Outcome.COMPLETED, None)
    story.hook.done("its own", key="k1")
    assert story.outcome("s1") == (Outcome.COMPLETED, "its own")
    assert repr(story) == "<Machine a ready>"


def test_a_hook_alone_tells_of_a_prompt_after_a_command() -> None:
    for works in (True, False):
        story = commanded()
        story.hook.taken("s1", key="k1")
        if works:
            story.hook.tool()
        story.hook.done("its own", key="k1")
        assert story.outcome("m1") == (Outcome.COMPLETED, None)
        assert story.outcome("s1") == (Outcome.COMPLETED, "its own")
        assert repr(story) == "<Machine a ready>"
