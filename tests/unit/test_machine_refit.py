"""An idle CLI is ended so that its next start is another: other wishes of a caller's."""

from __future__ import annotations

import pytest

from agentd.agents import effects as fx
from agentd.model import State
from tests.unit.story import Story

REFIT = fx.Refit("agentd send --restart", polite=True, keep=True)


def test_the_next_prompt_takes_the_conversation_up_again() -> None:
    story = Story.ready()
    story.tell(REFIT)
    assert (story.log, story.state) == (["leave"], State.RETIRED)
    assert "agentd send --restart" in story.machine.memory.fact.text
    story.send("m1")
    assert story.log == ["leave", "start s1"]


def test_another_directory_begins_a_new_one() -> None:
    story = Story.ready()
    story.tell(fx.Refit("x", polite=False, keep=False))
    assert (story.log, story.state) == (["kill"], State.STOPPED)
    story.send("m1")
    assert story.log == ["kill", "start"]


@pytest.mark.parametrize("keep", [True, False])
def test_a_cli_that_does_not_run_has_nothing_to_end(keep: bool) -> None:
    story = Story.ready()
    story.die(0)
    before, state = list(story.log), story.state
    story.tell(fx.Refit("x", polite=True, keep=keep))
    assert (story.log, story.state) == (before, state)
    story.send("m1")
    assert story.log[-1] == ("start s1" if keep else "start")


def test_a_daemon_that_ends_in_the_middle_finds_it_at_rest() -> None:
    """The pane is gone when it comes back: that is what was wanted, not a death."""
    story = Story.ready()
    story.machine.memory.ending_since, story.machine.memory.ending_why = story.now, "refit"
    story.tell(fx.Gone(None, what="the pane was gone when the daemon came back"))
    assert story.state is State.RETIRED


def test_a_daemon_that_ends_before_the_cli_does_goes_on_with_it() -> None:
    """What is wanted is written down already: the prompt must not go to the CLI that is not wanted."""
    story = Story.ready()
    story.machine.memory.ending_since, story.machine.memory.ending_why = story.now, "refit"
    story.send("m1")
    story.tell(fx.Refit("a refit that the daemon's end cut short", polite=False, keep=True))
    assert story.log == ["kill", "start s1"]
