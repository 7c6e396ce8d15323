"""Turns: hook and record tell in either order, late, twice, or not at all."""

from __future__ import annotations

import pytest

from agentd.agents.turns import LATE_END_S
from agentd.model import Outcome, Receipt, State
from tests.unit.story import BUSY, EMPTY, Story, Voice, draft


def by(story: Story, source: str) -> Voice:
    return story.hook if source == "hook" else story.record


@pytest.mark.parametrize("key", ["k1", None])
@pytest.mark.parametrize(("first", "second"), [("hook", "record"), ("record", "hook")])
def test_both_sources_tell_in_either_order(first: str, second: str, key: str | None) -> None:
    story = Story.ready()
    story.send("m1")
    by(story, first).taken("m1", key=key)
    by(story, second).taken("m1", key=key)
    by(story, first).done("one", key=key)
    by(story, second).done("one", key=key)
    assert story.outcome("m1") == (Outcome.COMPLETED, "one")
    assert repr(story) == "<Machine a ready>"
    assert len(story.turns) == 2


@pytest.mark.parametrize("key", ["k1", None])
@pytest.mark.parametrize("source", ["hook", "record"])
def test_one_of_them_is_silent(source: str, key: str | None) -> None:
    story = Story.ready()
    for number in ("m1", "m1", "m3"):
        story.send(f"{number}-{len(story.turns)}", number)
        by(story, source).taken(number, key=key and f"{key}-{len(story.turns)}")
        by(story, source).done(number, key=key and f"{key}-{len(story.turns) - 1}")
        assert repr(story) == "<Machine a ready>"
    assert len(story.turns) == 4


@pytest.mark.parametrize("key", ["k1", None])
def test_the_second_report_of_the_start_comes_after_the_end(key: str | None) -> None:
    story = Story.ready()
    story.send("m1")
    story.hook.taken("m1", key=key)
    story.hook.done("one", key=key)
    story.record.taken("m1", key=key)
    story.record.done("one", key=key)
    assert repr(story) == "<Machine a ready>"
    assert len(story.turns) == 2


@pytest.mark.parametrize("key", ["k1", None])
def test_a_persons_prompt_is_a_turn_without_a_message(key: str | None) -> None:
    story = Story.ready()
    story.hook.taken("typed", key=key)
    assert story.states == [State.WORKING]
    story.hook.done("for you", key=key)
    story.record.taken("typed", key=key)
    story.record.done("for you", key=key)
    assert repr(story) == "<Machine a ready>"
    assert len(story.turns) == 2


@pytest.mark.parametrize("keyed", [True, False])
def test_identical_prompts_in_a_row_with_a_slow_record(keyed: bool) -> None:
    story = Story.ready()
    for number in (1, 2, 3):
        key = f"k{number}" if keyed else None
        story.send(f"m{number}", "continue")
        story.hook.taken("continue", key=key)
        story.hook.done(f"reply {number}", key=key)
        story.after(LATE_END_S + 1)
    for number in (1, 2, 3):
        story.record.taken("continue", key=f"k{number}" if keyed else None)
    assert [story.outcome(f"m{n}") for n in (1, 2, 3)] == [
        (Outcome.COMPLETED, f"reply {n}") for n in (1, 2, 3)
    ]
    assert repr(story) == "<Machine a ready>"
    assert len(story.turns) == 4


def test_a_report_that_was_heard_is_not_expected_again() -> None:
    story = Story.ready()
    story.send("m1", "continue")
    story.hook.taken("continue")
    story.record.taken("continue")
    story.hook.done("one")
    story.record.done("one")
    story.send("m2", "continue")
    story.record.taken("continue")
    assert story.receipts["m2"] == [Receipt.ACCEPTED], "the hook was silent; the record's word counts"


def test_a_report_with_another_key_is_of_another_turn() -> None:
    story = Story.ready()
    story.send("m1", "continue")
    story.hook.taken("continue", key="k1")
    story.hook.done("one", key="k1")
    story.send("m2", "continue")
    story.record.taken("continue", key="k2")
    assert story.receipts["m2"] == [Receipt.ACCEPTED]


def test_an_unconfirmed_prompt_and_the_record_of_the_same_text_before() -> None:
    story = Story.ready()
    story.send("m1", "continue")
    story.hook.taken("continue")
    story.hook.done("one")
    story.send("m2", "continue")
    story.record.taken("continue")
    assert repr(story) == "<Machine a ready, delivery=m2/pasted>", "this was the first one's, told late"
    story.hook.taken("continue")
    assert repr(story) == "<Machine a working, turn=t3>"


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize(("first", "late"), [("hook", "record"), ("record", "hook")])
def test_the_late_end_of_the_turn_before_does_not_end_the_next(first: str, late: str, keyed: bool) -> None:
    one, two = ("k1", "k2") if keyed else (None, None)
    story = Story.working(key=one)
    story.screen = EMPTY
    story.send("m2")
    by(story, first).done("one", key=one)
    story.hook.taken("m2", key=two)
    by(story, late).done("one", key=one)
    assert repr(story) == "<Machine a working, turn=t3>"
    by(story, late).done("two", key=two)
    assert story.outcome("m2") == (Outcome.COMPLETED, "two")


@pytest.mark.parametrize(("first", "second"), [("hook", "record"), ("record", "hook")])
def test_an_end_that_both_told_leaves_nothing_to_wait_for(first: str, second: str) -> None:
    story = Story.working(key=None)
    story.screen = EMPTY
    by(story, first).done("one", settle=2.0)
    by(story, second).done("one")
    story.send("m2")
    story.hook.taken("m2")
    story.hook.done("two")
    assert story.outcome("m2") == (Outcome.COMPLETED, "two")


@pytest.mark.parametrize(("first", "second"), [("hook", "record"), ("record", "hook")])
def test_a_late_end_before_the_next_turn_is_used_up(first: str, second: str) -> None:
    story = Story.working(key=None)
    story.screen = EMPTY
    by(story, first).done("one")
    by(story, second).done("one")
    story.send("m2")
    by(story, second).taken("m2")
    by(story, second).done("two")
    assert story.outcome("m2") == (Outcome.COMPLETED, "two")


def test_a_late_end_is_none_of_a_raw_commands() -> None:
    story = Story.working(key=None)
    story.screen = EMPTY
    story.record.done("one")
    story.send("m2", "!ls", raw=True)
    story.hook.done("one")
    assert story.outcome("m2") is None
    story.hook.done("a b c")
    assert story.outcome("m2") == (Outcome.COMPLETED, "a b c")


def test_the_end_of_a_child_or_of_a_title_request_is_not_the_turns() -> None:
    story = Story.working()
    story.hook.done("A title", key="title-1")
    story.hook.failed("the title failed", key="title-2")
    assert repr(story) == "<Machine a working, turn=t2>"


def test_the_answer_is_not_the_commentary() -> None:
    story = Story.working()
    story.record.text("I will look at it.")
    story.hook.tool()
    story.hook.tool_ended()
    story.hook.done("It is fine.", key="k1")
    assert story.outcome("work") == (Outcome.COMPLETED, "It is fine.")


def test_a_turn_with_only_tool_calls() -> None:
    story = Story.working()
    story.hook.tool()
    story.hook.tool_ended()
    story.hook.done(None, key="k1")
    assert story.outcome("work") == (Outcome.COMPLETED, None)


def test_a_failed_turn() -> None:
    story = Story.working()
    story.hook.failed("529 overloaded", key="k1", reply="so far")
    assert story.outcome("work") == (Outcome.FAILED, "so far")
    assert (story.error("work").code, story.error("work").message) == ("api_error", "529 overloaded")


def test_a_failure_that_the_hook_took_for_done() -> None:
    story = Story.working()
    story.hook.done("API Error: 529", key="k1", settle=2.0)
    story.record.failed("529 overloaded", key="k1")
    assert story.outcome("work") == (Outcome.FAILED, "API Error: 529")


# Settling ----------------------------------------------------------------------------------------


def test_a_stop_hook_of_the_user_lets_the_turn_go_on() -> None:
    story = Story.working()
    story.hook.done("first try", key="k1", settle=60.0)
    assert repr(story) == "<Machine a working, turn=t2>"
    story.hook.tool()
    story.after(61)
    assert repr(story) == "<Machine a working, turn=t2>", "work means that it wasn't the end"
    story.hook.done("second try", key="k1", settle=60.0)
    story.record.done("second try", key="k1", settle=1.0)
    assert story.outcome("work") == (Outcome.COMPLETED, "second try")


def test_a_stop_hook_of_the_user_and_a_turn_that_goes_on_with_text_alone() -> None:
    story = Story.working()
    story.hook.done("first try", key="k1", settle=60.0)
    story.after(50)
    story.hook.done("second try", key="k1", settle=60.0)
    story.after(50)
    assert story.outcome("work") is None
    story.after(11)
    assert story.outcome("work") == (Outcome.COMPLETED, "second try")


def test_the_record_is_first_and_the_hook_never_comes() -> None:
    story = Story.working()
    story.record.done("one", key="k1", settle=1.0)
    story.after(0.9)
    assert story.outcome("work") is None
    story.after(0.2)
    assert story.outcome("work") == (Outcome.COMPLETED, "one")


def test_a_text_told_late_does_not_reopen_the_turn() -> None:
    story = Story.working()
    story.hook.done("the answer", key="k1", settle=2.0)
    story.record.text("the answer")
    story.after(3)
    assert story.outcome("work") == (Outcome.COMPLETED, "the answer")


# Background --------------------------------------------------------------------------------------


def test_background_agents_belong_to_the_request() -> None:
    story = Story.working()
    story.screen = EMPTY
    story.hook.done("started two agents", key="k1", background=True)
    story.record.done("started two agents", key="k1", background=True)
    story.after(600)
    assert repr(story) == "<Machine a working, turn=t2>"
    story.hook.taken("<task-notification>one is done", key="k2", origin="system")
    story.record.taken("<task-notification>one is done", key="k2", origin="system")
    story.hook.done("one is done, one to go", key="k2", background=True)
    story.hook.taken("<task-notification>two is done", key="k3", origin="system")
    story.hook.done("both are done", key="k3", background=False)
    assert story.outcome("work") == (Outcome.COMPLETED, "both are done")
    assert len(story.turns) == 2


def test_a_hook_that_knows_of_background_work_contradicts_the_record() -> None:
    story = Story.working()
    story.record.done("main text", key="k1", settle=1.0)
    story.hook.done("main text", key="k1", background=True)
    story.after(10)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_a_person_types_while_background_work_runs() -> None:
    story = Story.working()
    story.hook.done("started", key="k1", background=True)
    story.hook.taken("how is it going?", key="k2")
    story.hook.done("well", key="k2", background=True)
    assert repr(story) == "<Machine a working, turn=t2>"
    story.hook.taken("<task-notification>", key="k3", origin="system")
    story.hook.done("done", key="k3")
    assert story.outcome("work") == (Outcome.COMPLETED, "done")


def test_the_cli_prompts_itself_while_idle() -> None:
    story = Story.ready()
    story.hook.taken("<task-notification>", key="k1", origin="system")
    story.send("m1")
    assert repr(story) == "<Machine a working, turn=t2, queued=1>"
    story.hook.done("noted", key="k1")
    assert story.log == ["paste m1"]


# An end that nobody tells ------------------------------------------------------------------------


def test_interrupted_before_any_output_and_another_prompt_typed() -> None:
    story = Story.working()
    story.hook.taken("a better prompt", key="k2")
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)
    assert repr(story) == "<Machine a working, turn=t3>"
    story.hook.done("a better answer", key="k2")
    assert repr(story) == "<Machine a ready>"


def test_an_end_that_was_lost_and_another_prompt_typed() -> None:
    story = Story.working()
    story.record.text("half an answer")
    story.hook.taken("next", key="k2")
    assert story.outcome("work") == (Outcome.LOST, "half an answer")
    story.hook.done("next answer", key="k2")
    assert repr(story) == "<Machine a ready>"


def test_another_prompt_while_the_end_settles() -> None:
    story = Story.working()
    story.hook.done("one", key="k1", settle=60.0)
    story.hook.taken("typed", key="k2")
    assert story.outcome("work") == (Outcome.COMPLETED, "one")
    assert repr(story) == "<Machine a working, turn=t3>"


def test_the_prompt_is_back_in_the_composer() -> None:
    story = Story.working()
    story.screen = draft("work")
    story.after(10)
    assert story.outcome("work") == (Outcome.INTERRUPTED, None)
    assert repr(story) == "<Machine a ready>"


def test_an_idle_screen_ends_no_turn() -> None:
    story = Story.working()
    story.screen = EMPTY
    story.after(120)
    story.screen = draft("somebody types something else")
    story.after(60)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_nothing_is_heard_of_a_process_that_is_over() -> None:
    story = Story.working()
    story.die()
    story.hook.taken("a late hook", key="k7")
    story.hook.done("a late end", key="k1")
    assert repr(story) == "<Machine a lost>"


def test_a_working_cli_that_writes_nothing_is_looked_at_for_dialogs() -> None:
    from tests.unit.story import APPROVAL, asks

    story = Story.working()
    story.screen = asks(APPROVAL)
    story.after(6)
    assert repr(story) == "<Machine a attention, turn=t2, attention=approval>"
    story.screen = BUSY
    story.after(4)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_an_end_that_overtakes_its_beginning_is_kept_for_it() -> None:
    """Hooks are processes of their own: the second may be the first to be heard."""
    story = Story.ready()
    story.send("m1", "do it")
    story.hook.done("did it", key="k1")
    assert repr(story) == "<Machine a ready, delivery=m1/pasted>"
    story.hook.taken("do it", key="k1")
    assert story.outcome("m1") == (Outcome.COMPLETED, "did it")
    assert repr(story) == "<Machine a ready>"


def test_an_early_end_of_another_turn_ends_nothing() -> None:
    story = Story.ready()
    story.send("m1", "do it")
    story.hook.done("another", key="k0")
    story.hook.taken("do it", key="k1")
    assert story.outcome("m1") is None
    assert story.state is State.WORKING
