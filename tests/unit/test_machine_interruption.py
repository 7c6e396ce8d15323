"""Interruption: by us, by a person in the pane, by a deadline, by a caller who left."""

from __future__ import annotations

import pytest

from agentd.agents.interruption import PATIENCE_S
from agentd.model import Outcome
from tests.unit.story import APPROVAL, BUSY, EMPTY, Story, asks, draft


@pytest.mark.parametrize("key", ["k1", None])
def test_the_record_says_when_it_is_over(key: str | None) -> None:
    story = Story.working(key=key)
    story.record.text("half")
    story.interrupt()
    assert story.log == ["escape"]
    assert story.outcome("work") is None
    story.record.interrupted(key=key)
    assert story.outcome("work") == (Outcome.INTERRUPTED, "half")
    assert story.error("work").message == "interrupted by a person"
    assert repr(story) == "<Machine a ready>"


def test_where_the_record_is_silent_the_screen_says_so_after_our_key() -> None:
    story = Story.working()
    story.interrupt()
    story.screen = EMPTY
    story.after(3)
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)
    assert story.log == ["escape"]


def test_the_prompt_is_back_in_the_composer_and_the_next_one_clears_it() -> None:
    story = Story.working()
    story.interrupt()
    story.screen = draft("work")
    story.after(3)
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)
    story.send("m2")
    assert story.log == ["escape", "clear"]


def test_a_text_that_goes_on_is_not_over() -> None:
    story = Story.working()
    story.screen, story.streams = EMPTY, True
    story.interrupt()
    story.after(5)
    assert story.outcome("work") is None
    assert story.log == ["escape", "escape", "escape"]


def test_a_key_that_was_swallowed_is_pressed_again() -> None:
    story = Story.working()
    story.interrupt()
    story.after(5)
    assert story.log == ["escape"] * 3
    story.screen = EMPTY
    story.after(3)
    assert repr(story) == "<Machine a ready>"


def test_a_caller_is_not_kept_waiting_by_a_cli_that_does_not_end() -> None:
    story = Story.working()
    story.interrupt()
    story.after(PATIENCE_S + 1)
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)
    assert repr(story) == "<Machine a working, turn=t2>", "the truth about the agent is another thing"


@pytest.mark.parametrize("key", ["k1", None])
def test_a_person_interrupts_in_the_pane(key: str | None) -> None:
    story = Story.working(key=key)
    story.record.text("half")
    story.record.interrupted(key=key)
    assert story.outcome("work") == (Outcome.INTERRUPTED, "half")
    assert story.error("work").message == "somebody interrupted the turn in its pane"


def test_the_turn_was_quicker() -> None:
    story = Story.working()
    story.interrupt()
    story.hook.done("all of it", key="k1")
    assert story.outcome("work") == (Outcome.COMPLETED, "all of it")


def test_the_turn_was_over_but_for_its_settling() -> None:
    story = Story.working()
    story.hook.done("all of it", key="k1", settle=60.0)
    story.interrupt()
    story.screen = EMPTY
    story.after(5)
    assert story.outcome("work") == (Outcome.COMPLETED, "all of it")


def test_a_late_record_of_an_interruption_is_not_the_next_turns() -> None:
    story = Story.working(key=None)
    story.interrupt()
    story.screen = EMPTY
    story.after(3)
    story.send("m2")
    story.hook.taken("m2")
    story.record.interrupted()
    assert repr(story) == "<Machine a working, turn=t3>"
    story.hook.done("two")
    assert story.outcome("m2") == (Outcome.COMPLETED, "two")


def test_the_quick_end_of_the_next_turn_counts_after_an_interruption() -> None:
    story = Story.working(key=None)
    story.interrupt()
    story.record.interrupted()
    story.screen = EMPTY
    story.send("m2")
    story.after(0.5)
    story.hook.taken("m2")
    story.hook.done("two")
    assert story.outcome("m2") == (Outcome.COMPLETED, "two")


def test_the_callers_deadline() -> None:
    story = Story.ready()
    story.send("m1", deadline_s=30.0)
    story.hook.taken("m1", key="k1")
    story.screen = BUSY
    story.record.text("half")
    story.after(31)
    assert story.log == ["paste m1", "escape"]
    assert story.outcome("m1") is None, "first the turn ends, then its caller is told"
    story.record.interrupted(key="k1")
    assert story.outcome("m1") == (Outcome.TIMED_OUT, "half")
    assert story.error("m1").layer == "workflow"


def test_a_deadline_counts_from_the_message_and_survives_a_new_daemon() -> None:
    story = Story.working()
    story.send("m1", deadline_s=100.0)
    story.after(60)
    story.machine.adopt(story.now)
    story.screen = EMPTY
    story.hook.done("one", key="k1")
    story.hook.taken("m1", key="k2")
    story.screen = BUSY
    story.after(39)
    assert "escape" not in story.log
    story.after(2)
    assert story.log[-1] == "escape"


def test_a_deadline_during_an_interruption_is_what_the_caller_hears() -> None:
    story = Story.ready()
    story.send("m1", deadline_s=5.0)
    story.hook.taken("m1", key="k1")
    story.screen = BUSY
    story.after(4)
    story.interrupt()
    story.after(2)
    story.record.interrupted(key="k1")
    assert story.outcome("m1") == (Outcome.TIMED_OUT, None)


def test_a_running_turn_has_no_limit_of_its_own() -> None:
    story = Story.working()
    story.after(5_000)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_a_caller_who_leaves_ends_the_turn() -> None:
    story = Story.working()
    story.withdraw("work")
    assert story.log == ["escape"]
    story.record.interrupted(key="k1")
    assert story.error("work").code == "cancelled"
    assert story.error("work").message == "cancelled by its caller"


def test_a_caller_who_leaves_twice_and_after_the_end() -> None:
    story = Story.working()
    story.withdraw("work")
    story.withdraw("work")
    story.record.interrupted(key="k1")
    story.withdraw("work")
    story.withdraw("nobody")
    assert story.log == ["escape"]


def test_interrupting_a_steered_turn_looks_at_the_screen_during_the_delivery() -> None:
    story = Story.working()
    story.steer("s1")
    story.interrupt()
    story.screen = EMPTY
    story.after(5)
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)
    story.record.taken("s1", key="k2")
    assert repr(story) == "<Machine a working, turn=t3>"


def test_interrupting_while_a_person_is_asked() -> None:
    story = Story.working()
    story.hook.asks()
    story.screen = asks(APPROVAL)
    story.after(1)
    story.interrupt()
    assert story.log == ["escape"]
    story.screen = EMPTY
    story.after(6)
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)
    assert repr(story) == "<Machine a ready>"


def test_interrupting_an_idle_agent_does_nothing() -> None:
    story = Story.ready()
    story.interrupt()
    assert (story.log, repr(story)) == ([], "<Machine a ready>")


def test_the_queue_goes_on_after_an_interruption() -> None:
    story = Story.working()
    story.send("m2")
    story.interrupt()
    story.screen = EMPTY
    story.record.interrupted(key="k1")
    story.after(0.5)
    assert story.log == ["escape", "paste m2"]


@pytest.mark.parametrize("output", [False, True])
def test_a_prompt_that_is_on_its_way_back_does_not_mix_with_the_next(output: bool) -> None:
    """The record says that the turn was interrupted before the CLI has drawn its composer anew."""
    story = Story.working()
    if output:
        story.record.text("half")
    story.send("m2")
    story.interrupt()
    story.screen = EMPTY
    story.record.interrupted(key="k1")
    assert story.log == ["escape", *(["paste m2"] if output else [])]
    story.look()
    if not output:
        story.screen = draft("work")
        story.after(0.6)
        assert story.log == ["escape", "clear"]
        story.screen = EMPTY
        story.after(0.5)
    assert story.log[-1] == "paste m2" and story.log.count("paste m2") == 1


def test_a_prompt_that_comes_back_keeps_nobody_waiting_for_long() -> None:
    story = Story.working()
    story.interrupt()
    story.screen = EMPTY
    story.record.interrupted(key="k1")
    story.send("m2")
    story.withdraw("m2")
    story.send("m3")
    assert story.log == ["escape"]
    story.after(0.5)
    assert story.log == ["escape", "paste m3"]
