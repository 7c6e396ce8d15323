"""Attention: a person is needed; seen, named, answered, noticed when it is over."""

from __future__ import annotations

from agentd.agents import effects as fx
from agentd.agents.attention import UNSEEN_S
from agentd.contract import Readiness
from agentd.model import Outcome, State
from agentd.screen import Dialog
from tests.unit.story import APPROVAL, BUSY, EMPTY, TRUST, UNKNOWN, Story, asks


def test_an_approval_is_told_seen_and_answered() -> None:
    story = Story.working()
    story.hook.tool()
    story.hook.asks()
    assert repr(story) == "<Machine a attention, turn=t2, attention=approval>"
    story.screen = asks(APPROVAL)
    story.after(1)
    needed = story.machine.memory.attention
    assert needed and (needed.options, needed.answerable) == (["Yes", "No"], True)
    story.tell(fx.Answered("approve"))
    assert "answered approve" in story.machine.memory.fact.text
    story.hook.tool_ended()
    assert repr(story) == "<Machine a working, turn=t2>"
    story.screen = BUSY
    story.hook.done("ran it", key="k1")
    assert story.outcome("work") == (Outcome.COMPLETED, "ran it")


def test_a_person_answers_in_the_pane_and_the_screen_says_so() -> None:
    story = Story.working()
    story.screen = asks(APPROVAL)
    story.hook.asks()
    story.after(10)
    assert story.state is State.ATTENTION
    story.screen = BUSY
    story.after(3)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_an_approval_that_was_never_drawn_was_decided_without_a_person() -> None:
    story = Story.working()
    story.hook.asks()
    story.after(UNSEEN_S - 1)
    assert story.state is State.ATTENTION
    story.after(3)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_a_late_text_and_another_tool_do_not_answer_it() -> None:
    story = Story.working()
    story.hook.tool("Bash", "t1")
    story.hook.asks("Bash")
    story.record.text("I will run ls.")
    story.hook.tool("Read", "t2")
    story.hook.tool_ended("Read", "t2")
    assert repr(story) == "<Machine a attention, turn=t2, attention=approval>"


def test_two_tools_of_one_name_are_told_apart_by_the_screen() -> None:
    story = Story.working()
    story.screen = asks(APPROVAL)
    story.hook.tool("Bash", "t1")
    story.hook.tool("Bash", "t2")
    story.hook.asks("Bash")
    story.hook.tool_ended("Bash", "t1")
    story.after(1.5)
    assert repr(story) == "<Machine a attention, turn=t2, attention=approval>"


def test_another_question_follows() -> None:
    story = Story.working()
    story.screen = asks(APPROVAL)
    story.hook.asks()
    story.after(1)
    story.screen = asks(TRUST)
    story.after(1)
    assert repr(story) == "<Machine a attention, turn=t2, attention=trust>"


def test_a_turn_that_ends_needs_nobody() -> None:
    story = Story.working()
    story.hook.asks()
    story.record.interrupted(key="k1")
    assert repr(story) == "<Machine a ready>"


def test_messages_wait_and_are_withdrawn_in_attention() -> None:
    story = Story.working()
    story.screen = asks(APPROVAL)
    story.hook.asks()
    story.send("m1")
    story.steer("s1")
    story.send("m2", deadline_s=5.0)
    story.after(10)
    assert repr(story) == "<Machine a attention, turn=t2, queued=2, attention=approval>"
    assert story.outcome("m2") == (Outcome.TIMED_OUT, None)
    story.withdraw("m1")
    assert repr(story) == "<Machine a attention, turn=t2, queued=1, attention=approval>"


def test_the_readiness_timers_stand_still() -> None:
    story = Story(readiness=Readiness(inactivity=60.0, absolute=100.0))
    story.send("m1")
    story.after(50)
    story.screen = asks(TRUST)
    story.after(600)
    assert repr(story) == "<Machine a attention, queued=1, attention=trust>"
    story.screen = UNKNOWN
    story.after(10)
    assert story.state is State.STARTING
    story.after(30)
    assert repr(story) == "<Machine a starting, queued=1>"
    story.after(15)
    assert repr(story) == "<Machine a failed>"
    assert story.error("m1").timeout_s == 100.0


def test_two_questions_in_a_row_stand_still_for_both() -> None:
    story = Story(readiness=Readiness(absolute=100.0))
    story.send("m1")
    story.after(50)
    story.screen = asks(TRUST)
    story.after(500)
    story.hook.asks()
    story.after(500)
    assert story.state is State.ATTENTION
    story.screen = UNKNOWN
    story.after(10)
    story.after(30)
    assert repr(story) == "<Machine a starting, queued=1>"


def test_trust_is_answered_by_the_users_own_list_once() -> None:
    story = Story(trusted=True)
    story.send("m1")
    story.screen = asks(TRUST)
    story.after(2)
    assert story.log == ["start", "answer approve"]
    assert story.state is State.STARTING
    assert "as [trust] workspaces in the config says" in story.warnings[0]
    story.screen = EMPTY
    story.hook.started()
    assert story.log == ["start", "answer approve", "paste m1"]


def test_a_trust_dialog_that_stays_calls_a_person() -> None:
    story = Story(trusted=True)
    story.send("m1")
    story.screen = asks(TRUST)
    story.after(10)
    assert repr(story) == "<Machine a attention, queued=1, attention=trust>"
    assert story.log == ["start", "answer approve"]


def test_a_trust_dialog_before_a_delivery_is_not_asked_about_in_a_loop() -> None:
    story = Story.ready(trusted=True)
    story.screen = asks(TRUST)
    story.send("m1")
    assert repr(story) == "<Machine a ready, delivery=m1/look>"
    story.screen = EMPTY
    story.after(1)
    assert story.log == ["answer approve", "paste m1"]


def test_no_list_answers_another_kind_of_dialog() -> None:
    story = Story(trusted=True)
    story.send("m1")
    story.screen = asks(APPROVAL)
    story.after(10)
    assert story.log == ["start"]
    assert story.state is State.ATTENTION


def test_a_dialog_without_an_answer_says_what_to_do() -> None:
    from agentd.model import Reason

    story = Story()
    story.send("m1")
    story.screen = asks(Dialog(Reason.LOGIN, "Log in", fixed="run the CLI once"))
    story.after(1)
    needed = story.machine.memory.attention
    assert needed and (needed.reason, needed.fixed) == (Reason.LOGIN, "run the CLI once")


def test_a_new_daemon_looks_again() -> None:
    story = Story.working()
    story.screen = asks(APPROVAL)
    story.hook.asks()
    story.after(5)
    story.screen = BUSY
    story.machine.adopt(story.now)
    story.after(2)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_the_terminal_refuses_a_look() -> None:
    story = Story.working()
    story.screen = asks(APPROVAL)
    story.hook.asks()
    story.after(5)
    story.screen = None
    story.after(30)
    assert story.state is State.ATTENTION
    story.screen = BUSY
    story.after(8)
    assert repr(story) == "<Machine a working, turn=t2>"
