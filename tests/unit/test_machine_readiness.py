"""Readiness: from the CLI's start until it can take a prompt."""

from __future__ import annotations

import pytest

from agentd.agents import effects as fx
from agentd.contract import Readiness
from agentd.model import Failure, Kind, Outcome, Receipt, State
from tests.unit.story import BUSY, EMPTY, UNKNOWN, Story


def starting(**limits: float) -> Story:
    story = Story(readiness=Readiness(**limits))
    story.send("m1")
    return story


@pytest.mark.parametrize("kind", [Kind.SESSION_STARTED, Kind.READY])
def test_the_cli_says_that_it_is_ready(kind: Kind) -> None:
    story = starting(inactivity=300.0)
    story.hook(kind)
    assert repr(story) == "<Machine a ready, delivery=m1/look>"
    assert story.states == [State.STARTING, State.READY]


def test_a_composer_that_stands_for_a_while_is_ready_too() -> None:
    story = starting(inactivity=300.0)
    story.screen = EMPTY
    story.after(1.0)
    assert story.state is State.STARTING
    story.after(1.5)
    assert story.log == ["start", "paste m1"]


def test_a_composer_that_only_flashes_up_is_not() -> None:
    story = starting(inactivity=300.0)
    for _ in range(5):
        story.screen = EMPTY
        story.after(0.8)
        story.screen = BUSY
        story.after(0.8)
    assert story.state is State.STARTING


def test_a_prompt_typed_in_the_pane_shows_that_it_is_ready() -> None:
    story = starting(inactivity=300.0)
    story.hook.taken("typed", key="k1")
    assert repr(story) == "<Machine a working, turn=t1, queued=1>"


def test_inactivity_fires_names_its_layer_and_shows_the_screen() -> None:
    story = starting(inactivity=300.0)
    story.after(301)
    assert repr(story) == "<Machine a failed>"
    assert story.outcome("m1") == (Outcome.TIMED_OUT, None)
    assert story.receipts["m1"] == [Receipt.QUEUED, Receipt.REJECTED]
    error = story.error("m1")
    assert (error.layer, error.timeout_s, error.session) == ("prompt_readiness", 300.0, "a")
    assert error.message == (
        "TIMEOUT layer=prompt_readiness tool=- session=a timeout=5m: "
        "tiny was not ready for a prompt: no sign of life for 5m\n"
        "The screen's last lines:\n  | the tail"
    )
    assert story.log == ["start"], "the pane stays to be looked at"


def test_every_change_of_the_screen_re_arms_inactivity() -> None:
    story = starting(inactivity=60.0)
    for number in range(10):
        story.after(50)
        story.digest = f"step {number}"
    assert story.state is State.STARTING
    story.after(62)
    assert repr(story) == "<Machine a failed>"


def test_every_event_re_arms_inactivity() -> None:
    story = starting(inactivity=60.0)
    for _ in range(10):
        story.after(50)
        story.hook(Kind.ACTIVITY)
    assert story.state is State.STARTING


def test_an_idle_redraw_re_arms_nothing() -> None:
    story = starting(inactivity=60.0)
    story.after(59)
    story.look()
    story.after(2)
    assert repr(story) == "<Machine a failed>"


def test_nothing_re_arms_the_absolute_limit() -> None:
    story = starting(inactivity=60.0, absolute=90.0)
    for number in range(3):
        story.after(29)
        story.digest = f"step {number}"
    assert story.state is State.STARTING
    story.after(5)
    assert repr(story) == "<Machine a failed>"
    assert "not ready for a prompt 1m30s after its start" in story.error("m1").message


def test_no_limit_is_no_limit() -> None:
    story = starting()
    story.after(2_000)
    assert story.state is State.STARTING


def test_the_next_message_tries_again_after_a_failure() -> None:
    story = starting(inactivity=60.0)
    story.after(61)
    story.send("m2")
    assert story.log == ["start", "start"]
    story.screen = EMPTY
    story.hook.started()
    assert story.log[-1] == "paste m2"
    assert story.machine.memory.failure is None


def test_the_cli_ends_before_it_is_ready() -> None:
    story = starting(inactivity=60.0)
    story.die(2)
    assert repr(story) == "<Machine a failed>"
    assert story.error("m1").message == (
        "the CLI ended with status 2 before it was ready\nThe screen's last lines:\n  | last words"
    )


def test_the_cli_can_not_be_started() -> None:
    story = starting(inactivity=60.0)
    story.tell(fx.StartFailed(Failure("unsupported", "too old")))
    assert repr(story) == "<Machine a failed>"
    assert story.error("m1") == Failure("unsupported", "too old")


def test_a_conversation_is_not_given_up_by_a_start_that_failed() -> None:
    story = Story.ready()
    story.die(0)
    assert repr(story) == "<Machine a retired>"
    story.send("m1")
    story.after(301)
    assert repr(story) == "<Machine a failed>"
    story.send("m2")
    assert story.log == ["start s1", "start s1"]


def test_a_terminal_that_refuses_a_look_is_asked_again() -> None:
    story = starting(inactivity=300.0)
    story.screen = None
    story.after(20)
    story.screen = EMPTY
    story.after(8)
    assert story.log == ["start", "paste m1"]


def test_a_start_goes_on_under_a_new_daemon() -> None:
    story = starting(inactivity=60.0)
    story.after(30)
    story.machine.adopt(story.now)
    story.after(20)
    assert story.state is State.STARTING
    story.after(11)
    assert repr(story) == "<Machine a failed>"


def test_the_last_error_of_a_failed_pane_and_a_person_who_repairs_it() -> None:
    story = starting(inactivity=60.0)
    story.screen = UNKNOWN
    story.after(61)
    story.hook.taken("typed", key="k1")
    assert repr(story) == "<Machine a working, turn=t1>"
