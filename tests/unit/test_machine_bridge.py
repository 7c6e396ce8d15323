"""The first prompt waits for the bridge, where the CLI would take it without."""

from __future__ import annotations

from agentd.agents import effects as fx
from agentd.agents.readiness import BRIDGE_S
from agentd.model import Receipt, State
from tests.unit.story import EMPTY, Story


def starting(*, await_bridge: bool = True) -> Story:
    story = Story()
    story.send("m1")
    story.tell(fx.Started("s1", await_bridge))
    story.screen = EMPTY
    return story


def test_the_prompt_waits_until_the_bridge_asked_for_its_tools() -> None:
    story = starting()
    story.hook.started()
    story.after(1.0)
    assert story.log == ["start"] and story.state is State.READY
    story.tell(fx.BridgeReady())
    assert story.log == ["start"], "the CLI takes the tools in first"
    story.after(0.5)
    assert story.log == ["start", "paste m1"]
    assert story.warnings == []


def test_a_bridge_that_is_there_before_the_cli_is_ready() -> None:
    story = starting()
    story.tell(fx.BridgeReady())
    story.hook.started()
    assert story.log == ["start", "paste m1"]


def test_a_bridge_that_never_comes_is_told_and_the_prompt_goes_in() -> None:
    story = starting()
    story.hook.started()
    story.after(BRIDGE_S - 0.1)
    assert story.log == ["start"]
    story.after(0.2)
    assert story.log == ["start", "paste m1"]
    assert story.warnings == [
        "the bridge was not there within 15s; the prompt goes in without agentd's tools"
    ]


def test_without_a_bridge_nothing_waits() -> None:
    story = starting(await_bridge=False)
    story.hook.started()
    assert story.log == ["start", "paste m1"]


def test_a_message_that_waits_can_be_taken_back() -> None:
    story = starting()
    story.hook.started()
    story.withdraw("m1")
    story.after(60)
    assert story.log == ["start"] and story.receipts["m1"] == [Receipt.QUEUED]
    story.send("m2")
    assert story.log == ["start", "paste m2"]


def test_only_the_first_prompt_waits() -> None:
    story = starting()
    story.tell(fx.BridgeReady())
    story.hook.started()
    story.hook.taken("m1", key="k1")
    story.hook.done("hello", key="k1")
    story.after(10)
    story.send("m2")
    assert story.log == ["start", "paste m1", "paste m2"]


def test_the_next_start_waits_anew() -> None:
    story = starting()
    story.tell(fx.BridgeReady())
    story.hook.started()
    story.stop()
    story.send("m2")
    story.tell(fx.Started("s2", True))
    story.hook.started()
    story.after(1)
    assert story.log == ["start", "paste m1", "kill", "start"]
