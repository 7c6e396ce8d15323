"""Retention: an idle CLI is kept for a while; new use can't race its end."""

from __future__ import annotations

import itertools

import pytest

from agentd.agents import effects as fx
from agentd.model import State
from agentd.screen import Look
from tests.unit.story import APPROVAL as QUESTION
from tests.unit.story import BUSY, EMPTY, Story, asks

HOURS = 3600.0


def test_an_idle_cli_is_ended_politely_and_the_next_prompt_resumes_it() -> None:
    story = Story.ready(retention_s=3 * HOURS)
    story.after(3 * HOURS)
    assert story.log == ["leave"]
    assert repr(story) == "<Machine a retired>"
    story.send("m1")
    assert story.log == ["leave", "start s1"]
    story.hook.started()
    assert story.log[-1] == "paste m1"


def test_what_cannot_be_resumed_starts_anew() -> None:
    story = Story.ready(resume=False, retention_s=HOURS)
    story.after(HOURS)
    story.send("m1")
    assert story.log == ["leave", "start"]


def test_use_starts_the_time_anew() -> None:
    story = Story.ready(retention_s=HOURS)
    story.after(0.9 * HOURS)
    story.send("m1")
    story.hook.taken("m1", key="k1")
    story.hook.done("one", key="k1")
    story.after(0.9 * HOURS)
    assert story.state is State.READY
    story.after(0.2 * HOURS)
    assert repr(story) == "<Machine a retired>"


def test_a_turn_is_use_however_long_it_takes() -> None:
    story = Story.working(retention_s=60.0)
    story.after(600)
    assert repr(story) == "<Machine a working, turn=t2>"
    story.screen = EMPTY
    story.hook.done("one", key="k1")
    story.after(59)
    assert story.state is State.READY


def test_a_person_who_is_attached_uses_it() -> None:
    story = Story.ready(retention_s=60.0)
    story.attached = True
    story.after(600)
    assert story.log == []
    story.attached = False
    story.after(61)
    assert story.log == ["leave"]


def test_a_screen_that_shows_work_is_not_left() -> None:
    story = Story.ready(retention_s=60.0)
    story.screen = BUSY
    story.after(600)
    assert story.log == []


@pytest.mark.parametrize("look", [asks(QUESTION), Look()])
def test_no_command_is_typed_into_a_dialog(look: Look) -> None:
    story = Story.ready(retention_s=60.0)
    story.screen = look
    story.after(61)
    assert story.log == ["kill"]
    assert story.state is State.RETIRED


def test_attention_is_no_idleness() -> None:
    story = Story.ready(retention_s=60.0)
    story.screen = asks(QUESTION)
    story.send("m1")
    story.after(300)
    assert story.state is State.ATTENTION


def test_a_terminal_that_refuses_the_look_is_asked_again() -> None:
    story = Story.ready(retention_s=60.0)
    story.screen = None
    story.after(120)
    assert story.state is State.READY
    story.screen = EMPTY
    story.after(6)
    assert repr(story) == "<Machine a retired>"


def test_a_message_between_the_end_of_the_time_and_the_look() -> None:
    story = Story.ready(retention_s=60.0)
    story.screen = None
    story.after(61)
    story.screen = EMPTY
    story.send("m1")
    story.after(10)
    assert story.log == ["paste m1"]


def test_a_prompt_typed_between_the_end_of_the_time_and_the_look() -> None:
    story = Story.ready(retention_s=60.0)
    story.screen = None
    story.after(61)
    story.hook.taken("typed", key="k1")
    story.screen = BUSY
    story.after(10)
    assert repr(story) == "<Machine a working, turn=t2>"


def test_a_hook_of_the_dying_cli_changes_nothing() -> None:
    story = Story.ready(retention_s=60.0)
    story.machine.memory.ending_since, story.machine.memory.ending_why = story.now, "retire"
    story.hook.taken("typed at the last moment", key="k9")
    story.send("m1")
    story.tell(fx.Gone(None))
    assert story.log == ["start s1"]
    assert repr(story) == "<Machine a starting, queued=1>"


def test_a_new_daemon_finishes_what_was_cut_short() -> None:
    story = Story.ready(retention_s=60.0)
    story.after(61 - 10)
    story.machine.memory.ending_since, story.machine.memory.ending_why = story.now, "retire"
    story.machine.adopt(story.now)
    assert repr(story) == "<Machine a ready>"
    story.after(20)
    assert story.log == ["leave"]
    assert repr(story) == "<Machine a retired>", "its conversation is kept"


@pytest.mark.parametrize("order", list(itertools.permutations(["time", "send", "attach", "stop"])))
def test_every_order_of_time_use_and_stop(order: tuple[str, ...]) -> None:
    story = Story.ready(retention_s=60.0)
    for what in order:
        match what:
            case "time":
                story.after(25)
                story.after(45)
            case "send":
                story.send("m1")
                if not story.log or story.log[-1].startswith("start"):
                    story.hook.started()
                story.hook.taken("m1", key="k1")
                story.hook.done("one", key="k1")
            case "attach":
                story.attached = True
            case "stop":
                story.stop()
    story.attached = False
    story.after(200)
    assert story.results["m1"].reply == "one"
    assert story.log.count("paste m1") == 1
    assert story.state in (State.RETIRED, State.STOPPED)
    assert story.machine.next_deadline() is None
