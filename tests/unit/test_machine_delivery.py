"""Delivery: a message goes in once, and the record says so."""

from __future__ import annotations

import pytest

from agentd.agents import effects as fx
from agentd.agents.delivery import CLEARS, CONFIRM_S
from agentd.model import Mode, Outcome, Receipt, State
from tests.unit.story import APPROVAL, BUSY, EMPTY, UNKNOWN, Story, asks, draft


def test_a_prompt_is_pasted_once_taken_in_and_answered() -> None:
    story = Story.ready()
    story.send("m1", "do it")
    assert repr(story) == "<Machine a ready, delivery=m1/pasted>"
    story.hook.taken("do it", key="k1")
    assert repr(story) == "<Machine a working, turn=t2>"
    story.hook.done("did it", key="k1")
    assert story.log == ["paste m1"]
    assert story.receipts["m1"] == [Receipt.ACCEPTED]
    assert story.outcome("m1") == (Outcome.COMPLETED, "did it")
    assert repr(story) == "<Machine a ready>"


def test_the_first_message_starts_the_cli_and_waits_for_it() -> None:
    story = Story()
    story.send("m1")
    assert repr(story) == "<Machine a starting, queued=1>"
    assert story.receipts["m1"] == [Receipt.QUEUED]
    story.screen = EMPTY
    story.hook.started("s9")
    assert story.log == ["start", "paste m1"]
    assert story.machine.memory.session_id == "s9"


def test_a_swallowed_enter_is_pressed_again_while_the_draft_is_seen() -> None:
    story = Story.ready()
    story.send("m1", "do it")
    story.screen = draft("do it")
    story.after(0.5)
    assert story.log == ["paste m1", "enter"]
    story.screen = EMPTY
    story.after(20)
    assert story.log == ["paste m1", "enter"], "an empty composer gets no Enter"
    story.hook.taken("do it", key="k1")
    assert story.state is State.WORKING


def test_a_folded_paste_that_is_stuck_is_ours() -> None:
    from agentd.screen import Look

    story = Story.ready()
    story.send("m1", "a\n" * 60)
    story.screen = Look(composer=True, draft="[Pasted text #1 +60 lines]", folded=True)
    story.after(0.5)
    assert story.log == ["paste m1", "enter"]


def test_neither_record_nor_composer_ends_as_unconfirmed_and_is_never_sent_again() -> None:
    story = Story.ready()
    story.send("m1")
    story.after(CONFIRM_S + 1)
    assert story.log == ["paste m1"]
    assert story.receipts["m1"] == [Receipt.UNCONFIRMED]
    assert story.outcome("m1") == (Outcome.LOST, None)
    assert story.error("m1").code == "unconfirmed"
    assert repr(story) == "<Machine a ready>"


def test_very_late_evidence_still_says_whose_turn_it_is() -> None:
    story = Story.ready()
    story.send("m1")
    story.after(CONFIRM_S + 1)
    story.hook.taken("m1", key="k1")
    assert repr(story) == "<Machine a working, turn=t2>"
    assert story.machine.memory.turn and story.machine.memory.turn.message == "m1"
    assert story.receipts["m1"][-1] is Receipt.ACCEPTED
    story.send("m2")
    assert story.log == ["paste m1"], "the next one waits"
    story.hook.done("late", key="k1")
    assert story.outcome("m1") == (Outcome.LOST, None), "the first word counts"
    assert story.log == ["paste m1", "paste m2"]


def test_a_stuck_prompt_that_was_given_up_is_cleared_for_the_next_one() -> None:
    story = Story.ready()
    story.send("m1")
    story.screen = draft("m1")
    story.after(CONFIRM_S + 1)
    story.log.clear()
    story.send("m2")
    assert story.log == ["clear"]
    story.screen = EMPTY
    story.after(0.5)
    assert story.log == ["clear", "paste m2"]


def test_the_unconfirmed_are_not_kept_for_ever() -> None:
    story = Story.ready()
    for number in range(8):
        story.send(f"m{number}")
        story.after(CONFIRM_S + 1)
    assert story.machine.memory.unconfirmed == ["m3", "m4", "m5", "m6", "m7"]
    assert set(story.machine.messages) == set(story.machine.memory.unconfirmed)


def test_a_stranded_draft_is_cleared_first() -> None:
    story = Story.ready()
    story.screen = draft("left over")
    story.send("m1")
    assert story.log == ["clear"]
    story.screen = EMPTY
    story.after(0.3)
    assert story.log == ["clear", "paste m1"]


def test_a_draft_that_cannot_be_cleared_rejects_the_message() -> None:
    story = Story.ready()
    story.screen = draft("stone")
    story.send("m1")
    story.after(10)
    assert story.log == ["clear"] * CLEARS
    assert story.receipts["m1"] == [Receipt.REJECTED]
    assert story.error("m1").code == "draft"
    assert repr(story) == "<Machine a ready>"


def test_a_persons_draft_is_theirs_while_they_are_attached() -> None:
    story = Story.ready()
    story.screen, story.attached = draft("I am wri"), True
    story.send("m1")
    story.after(600)
    assert story.log == []
    assert "a person is typing" in story.machine.memory.fact.text
    assert len(story.warnings) == 1 and "a person is typing" in story.warnings[0], "told once"
    story.screen = EMPTY
    story.after(2)
    assert story.log == ["paste m1"]


def test_a_redraw_after_a_long_wait_calls_nobody() -> None:
    story = Story.ready()
    story.screen, story.attached = draft("I am wri"), True
    story.send("m1")
    story.after(600)
    story.screen = UNKNOWN
    story.after(2)
    assert story.state is State.READY
    story.screen = EMPTY
    story.after(1)
    assert story.log == ["paste m1"]


def test_text_is_not_typed_into_a_dialog() -> None:
    story = Story.ready()
    story.screen = asks(APPROVAL)
    story.send("m1")
    assert repr(story) == "<Machine a attention, queued=1, attention=approval>"
    story.after(120)
    assert story.log == []
    story.screen = EMPTY
    story.after(5)
    assert story.log == ["paste m1"]


def test_a_screen_that_nobody_knows_calls_a_person() -> None:
    story = Story.ready()
    story.screen = UNKNOWN
    story.send("m1")
    story.after(4)
    assert story.state is State.READY
    story.after(4)
    assert repr(story) == "<Machine a attention, queued=1, attention=unknown_dialog>"
    story.screen = EMPTY
    story.after(5)
    assert story.log == ["paste m1"]


def test_a_cli_that_is_up_may_take_long_to_draw_its_first_composer() -> None:
    story = Story()
    story.send("m1")
    story.hook.started()
    story.after(20)
    assert repr(story) == "<Machine a ready, delivery=m1/look>"
    story.screen = EMPTY
    story.after(1)
    assert story.log == ["start", "paste m1"]


def test_a_cli_that_never_draws_its_composer_calls_a_person() -> None:
    story = Story()
    story.send("m1")
    story.hook.started()
    story.after(40)
    assert repr(story) == "<Machine a attention, queued=1, attention=unknown_dialog>"


def test_every_start_has_a_first_composer() -> None:
    story = Story.ready()
    story.die(1)
    story.screen = UNKNOWN
    story.send("m1")
    story.hook.started()
    story.after(20)
    assert repr(story) == "<Machine a ready, delivery=m1/look>"


def test_a_busy_screen_without_a_composer_is_waited_for() -> None:
    from agentd.screen import Look

    story = Story.ready()
    story.screen = Look(busy=True)
    story.send("m1")
    story.after(60)
    assert story.state is State.READY
    story.screen = EMPTY
    story.after(1)
    assert story.log == ["paste m1"]


def test_a_dialog_after_the_paste_stops_the_patience() -> None:
    story = Story.ready()
    story.send("m1")
    story.screen = asks(APPROVAL)
    story.after(1)
    assert repr(story) == "<Machine a attention, delivery=m1/pasted, attention=approval>"
    story.after(120)
    assert story.outcome("m1") is None
    story.screen = EMPTY
    story.after(5)
    assert story.state is State.READY
    story.hook.taken("m1", key="k1")
    assert repr(story) == "<Machine a working, turn=t2>"
    assert story.log == ["paste m1"]


def test_a_terminal_that_refuses_a_look_is_asked_again() -> None:
    story = Story.ready()
    story.screen = None
    story.send("m1")
    assert repr(story) == "<Machine a ready, delivery=m1/look>"
    story.after(4)
    story.screen = EMPTY
    story.after(2)
    assert story.log == ["paste m1"]


def test_messages_go_in_first_come_first_served() -> None:
    story = Story.working()
    story.send("m1")
    story.send("m2")
    assert repr(story) == "<Machine a working, turn=t2, queued=2>"
    story.screen = EMPTY
    story.hook.done("one", key="k1")
    assert story.log == ["paste m1"]
    story.hook.taken("m1", key="k2")
    story.hook.done("two", key="k2")
    assert story.log == ["paste m1", "paste m2"]


def test_fail_if_busy() -> None:
    story = Story.working()
    story.send("m1", mode=Mode.FAIL_IF_BUSY)
    assert story.receipts["m1"] == [Receipt.REJECTED]
    assert (story.outcome("m1"), story.error("m1").code) == ((Outcome.FAILED, None), "busy")
    idle = Story.ready()
    idle.send("m1", mode=Mode.FAIL_IF_BUSY)
    assert idle.log == ["paste m1"]
    idle.send("m2", mode=Mode.FAIL_IF_BUSY)
    assert idle.error("m2").code == "busy"


def test_a_prompt_of_somebody_else_was_quicker() -> None:
    story = Story.ready()
    story.screen = UNKNOWN
    story.send("m1")
    story.hook.taken("typed in the pane", key="k1")
    story.screen = BUSY
    story.after(1)
    assert repr(story) == "<Machine a working, turn=t2, queued=1>"
    story.screen = EMPTY
    story.hook.done("for the person", key="k1")
    assert story.log == ["paste m1"]


# A caller who leaves -----------------------------------------------------------------------------


def test_withdrawn_in_the_queue() -> None:
    story = Story.working()
    story.send("m1")
    story.withdraw("m1")
    assert story.outcome("m1") == (Outcome.INTERRUPTED, None)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_withdrawn_before_the_paste() -> None:
    story = Story.ready()
    story.screen = UNKNOWN
    story.send("m1")
    story.withdraw("m1")
    story.screen = EMPTY
    story.after(60)
    assert story.log == []
    assert story.outcome("m1") == (Outcome.INTERRUPTED, None)


def test_withdrawn_after_the_paste_and_taken_in_all_the_same() -> None:
    story = Story.ready()
    story.send("m1")
    story.withdraw("m1")
    assert story.outcome("m1") == (Outcome.INTERRUPTED, None)
    story.hook.taken("m1", key="k1")
    assert story.log == ["paste m1", "escape"]
    story.record.interrupted(key="k1")
    assert repr(story) == "<Machine a ready>"


def test_withdrawn_after_the_paste_and_stuck_is_cleared_and_not_sent() -> None:
    story = Story.ready()
    story.send("m1")
    story.withdraw("m1")
    story.screen = draft("m1")
    story.after(1)
    assert story.log == ["paste m1", "clear"]
    assert repr(story) == "<Machine a ready>"


def test_a_deadline_in_the_queue() -> None:
    story = Story.working()
    story.send("m1", deadline_s=30.0)
    story.after(31)
    assert story.outcome("m1") == (Outcome.TIMED_OUT, None)
    error = story.error("m1")
    assert (error.layer, error.timeout_s, error.session) == ("workflow", 30.0, "a")
    assert str(error.message).startswith("TIMEOUT layer=workflow tool=- session=a timeout=30s: ")
    assert repr(story) == "<Machine a working, turn=t2>"


def test_a_deadline_during_the_delivery() -> None:
    story = Story.ready()
    story.send("m1", deadline_s=3.0)
    story.after(4)
    assert story.outcome("m1") == (Outcome.TIMED_OUT, None)
    story.hook.taken("m1", key="k1")
    assert story.log == ["paste m1", "escape"]


def test_interrupting_a_message_on_its_way() -> None:
    story = Story.ready()
    story.send("m1")
    story.interrupt()
    assert story.outcome("m1") == (Outcome.INTERRUPTED, None)
    story.hook.taken("m1", key="k1")
    assert story.log == ["paste m1", "escape"]


# Commands ----------------------------------------------------------------------------------------


def test_a_raw_command_has_no_record_and_the_screen_says_when_it_is_over() -> None:
    story = Story.ready()
    story.send("m1", "/compact", raw=True)
    story.after(1)
    assert repr(story) == "<Machine a working, turn=t2>"
    story.screen = BUSY
    story.after(60)
    assert story.outcome("m1") is None
    story.screen = EMPTY
    story.after(5)
    assert story.outcome("m1") == (Outcome.COMPLETED, None)
    assert story.log == ["paste m1"]


def test_a_raw_command_with_a_turn_and_no_prompt_report() -> None:
    story = Story.ready()
    story.send("m1", "!ls", raw=True)
    story.hook.done("a b c", key="k1")
    assert story.outcome("m1") == (Outcome.COMPLETED, "a b c")


def test_a_raw_command_that_opens_a_dialog() -> None:
    story = Story.ready()
    story.send("m1", "/model", raw=True)
    story.screen = asks(APPROVAL)
    story.after(1)
    assert repr(story) == "<Machine a attention, turn=t2, attention=approval>"
    story.screen = EMPTY
    story.after(10)
    assert story.outcome("m1") == (Outcome.COMPLETED, None)


def test_a_raw_command_that_puts_something_unknown_on_the_screen() -> None:
    story = Story.ready()
    story.send("m1", "/usage", raw=True)
    story.screen = UNKNOWN
    story.after(8)
    assert repr(story) == "<Machine a attention, turn=t2, attention=unknown_dialog>"
    story.screen = EMPTY
    story.after(10)
    assert story.outcome("m1") == (Outcome.COMPLETED, None)


def test_a_raw_command_into_a_running_turn_does_not_replace_it() -> None:
    story = Story.working()
    story.send("m1", "/cost", raw=True, mode=Mode.STEER)
    story.screen = EMPTY
    story.after(0.1)
    story.look()
    story.after(2)
    assert story.outcome("m1") == (Outcome.COMPLETED, None)
    assert repr(story) == "<Machine a working, turn=t2>"
    story.hook.done("worked", key="k1")
    assert story.outcome("work") == (Outcome.COMPLETED, "worked")


def test_a_refused_prompt_is_blocked_whether_or_not_it_was_reported_before() -> None:
    for reported in (True, False):
        story = Story.ready()
        story.send("m1")
        if reported:
            story.hook.taken("m1", key="k1")
        story.hook.blocked("a hook of the user's said no", key="k1")
        assert story.outcome("m1") == (Outcome.BLOCKED, None)
        assert story.error("m1").message == "a hook of the user's said no"
        assert repr(story) == "<Machine a ready>"


# A new daemon ------------------------------------------------------------------------------------


def test_a_new_daemon_goes_on_with_a_delivery() -> None:
    story = Story.ready()
    story.send("m1")
    story.machine.adopt(story.now)
    story.screen = draft("m1")
    story.after(0.1)
    assert story.log == ["paste m1", "enter"]


@pytest.mark.parametrize("pasted", [True, False])
def test_a_new_daemon_takes_no_empty_composer_for_a_command_that_ran(pasted: bool) -> None:
    """The daemon before it may have ended between its word that it would paste and the paste."""
    story = Story.ready()
    story.send("m1", "!ls", raw=True)
    story.machine.adopt(story.now)
    if pasted:
        story.screen = draft("!ls")
        story.after(0.1)
        assert story.log == ["paste m1", "enter"]
        story.screen = EMPTY
    story.after(CONFIRM_S + 10)
    if pasted:
        assert story.outcome("m1") == (Outcome.COMPLETED, None)
    else:
        assert story.outcome("m1") == (Outcome.LOST, None)
        assert story.receipts["m1"] == [Receipt.UNCONFIRMED]
    assert repr(story) == "<Machine a ready>"


def test_a_message_that_was_settled_is_unknown_to_a_new_daemon() -> None:
    story = Story.ready()
    story.send("m1")
    story.withdraw("m1")
    story.machine.messages.clear()
    story.screen = draft("m1")
    story.after(CONFIRM_S + 1)
    assert story.log == ["paste m1"], "a draft that nobody can vouch for gets no Enter"
    assert repr(story) == "<Machine a ready>"


def test_messages_on_disk_that_the_machine_was_not_told_of() -> None:
    from agentd.model import Message

    story = Story.working()
    story.send("m1")
    lost = Message("m9", "a", "stored, then the daemon ended")
    story.machine.messages["m9"] = lost
    assert story.machine.unclaimed() == [lost]
    story.tell(fx.Submit(lost))
    assert story.machine.unclaimed() == []
    assert repr(story) == "<Machine a working, turn=t2, queued=2>"


@pytest.mark.parametrize("raw", [True, False])
def test_a_guarded_prompt_is_known_again(raw: bool) -> None:
    story = Story.ready()
    story.send("m1", "/x", raw=raw)
    story.hook.taken("/x" if raw else " /x", key="k1")
    assert story.receipts["m1"] == [Receipt.ACCEPTED]


def test_a_refused_paste_keeps_the_messages_place() -> None:
    """Nothing went in, so the message is tried again when the pane can be read."""
    story = Story.ready()
    story.send("m1", "hello")
    story.may_paste_again.add("m1")
    story.tell(fx.PasteFailed("m1", "no such pane"))
    assert repr(story) == "<Machine a ready, queued=1>"
    story.after(1.5)
    assert story.log == ["paste m1", "paste m1"]
    assert story.outcome("m1") is None


def test_a_screen_that_is_still_being_drawn_is_not_unknown() -> None:
    """A resumed CLI prints its whole conversation first: that takes as long as it takes, but not for ever."""
    story = Story.ready()
    story.screen, story.streams = UNKNOWN, True
    story.send("m1", "hello")
    story.after(30)
    assert story.state is State.READY
    story.screen = EMPTY
    story.after(1.0)
    assert story.log == ["paste m1"]
