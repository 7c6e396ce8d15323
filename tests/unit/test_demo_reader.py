"""The demo agent's adapter: its facts as events, its launch, its guards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentd.adapter import Adapter, LaunchRequest, Program
from agentd.contract import Policy
from agentd.demo.adapter import Demo
from agentd.demo.reader import DemoReader
from agentd.model import Event, Kind, Source


@pytest.fixture
def reader() -> DemoReader:
    return Demo().reader({})


def hook(event: str, **values: object) -> dict[str, Any]:
    return {"hook_event_name": event, "time": 5.0, **values}


def row(kind: str, **values: object) -> dict[str, Any]:
    return {"type": kind, "time": 5.0, **values}


def only(events: Any) -> Event:
    (event,) = events
    assert isinstance(event, Event)
    return event


def test_a_prompt_is_told_by_both_sources_with_one_key(reader: DemoReader) -> None:
    first = only(reader.feed("hook", hook("UserPromptSubmit", prompt="x", prompt_id="k", origin="human")))
    second = only(reader.feed("record", row("user", text="x", prompt_id="k", origin="human")))
    assert first.data == second.data == {"text": "x", "key": "k", "origin": "human"}
    assert (first.source, second.source, first.time) == (Source.HOOK, Source.RECORD, 5.0)


def test_the_end_is_told_by_both_and_the_record_only_confirms(reader: DemoReader) -> None:
    tasks = [{"id": "t1", "status": "running"}, {"id": "t2", "status": "done"}]
    stop = hook("Stop", last_assistant_message="r", prompt_id="k", background_tasks=tasks)
    done = only(reader.feed("hook", stop))
    assert done.data == {"reply": "r", "key": "k", "background": True}
    said = reader.feed("record", row("assistant", text="r", prompt_id="k", final=True))
    assert only(said).kind == Kind.ACTIVITY
    done = only(reader.feed("record", row("turn_end", prompt_id="k", background=["t1"])))
    assert done.data == {"reply": "r", "key": "k", "background": True, "settle": 0.5}


def test_the_reply_outlives_the_reader(reader: DemoReader) -> None:
    reader.feed("record", row("assistant", text="r", prompt_id="k", final=True))
    again = Demo().reader(json.loads(json.dumps(reader.memory)))
    assert only(again.feed("record", row("turn_end", prompt_id="k", background=[]))).get("reply") == "r"
    assert "reply" not in again.memory


def test_an_answer_of_another_turn_is_not_this_ones(reader: DemoReader) -> None:
    reader.feed("record", row("assistant", text="old", prompt_id="k1", final=True))
    assert only(reader.feed("record", row("turn_end", prompt_id="k2", background=[]))).get("reply") is None


def test_comments_are_text(reader: DemoReader) -> None:
    event = only(reader.feed("record", row("assistant", text="hm", prompt_id="k", final=False)))
    assert (event.kind, event.data) == (Kind.TEXT, {"text": "hm"})


def test_failures_and_interruptions(reader: DemoReader) -> None:
    failed = only(
        reader.feed("hook", hook("StopFailure", error="e", prompt_id="k", last_assistant_message="r"))
    )
    again = only(reader.feed("record", row("error", message="e", prompt_id="k", reply="r")))
    assert failed.data == again.data == {"error": "e", "code": "api_error", "key": "k", "reply": "r"}
    stopped = only(reader.feed("record", row("interrupted", prompt_id="k")))
    assert (stopped.kind, stopped.get("key")) == (Kind.TURN_INTERRUPTED, "k")


@pytest.mark.parametrize("first", ["hook", "record"])
def test_tools_and_waiting_texts_are_told_once(reader: DemoReader, first: str) -> None:
    facts = {
        "hook": [
            hook("PreToolUse", tool_name="Read", tool_use_id="u"),
            hook("SteerQueued", text="s", steer_id="w"),
            hook("PostToolUse", tool_name="Read", tool_use_id="u", failed=True),
            hook("SteerJoined", text="s", steer_id="w"),
        ],
        "record": [
            row("tool_use", tool_name="Read", tool_use_id="u"),
            row("steer", operation="enqueue", text="s", steer_id="w"),
            row("tool_result", tool_name="Read", tool_use_id="u", failed=True),
            row("steer", operation="join", text="s", steer_id="w"),
        ],
    }
    told = [only(reader.feed(first, fact)) for fact in facts.pop(first)]
    assert [event.kind for event in told] == [
        Kind.TOOL_STARTED, Kind.STEER_WAITING, Kind.TOOL_ENDED, Kind.STEER_JOINED
    ]  # fmt: skip
    assert told[2].data == {"tool": "Read", "id": "u", "failed": True}
    ((second, rest),) = facts.items()
    assert [event for fact in rest for event in reader.feed(second, fact)] == []


def test_what_is_remembered_stays_small(reader: DemoReader) -> None:
    for number in range(1000):
        reader.feed("record", row("tool_use", tool_name="Read", tool_use_id=str(number)))
    assert len(reader.memory["said"]) <= 200


def test_a_session_begins_and_ends(reader: DemoReader) -> None:
    start = hook("SessionStart", session_id="s", record="/r", source="resume")
    assert only(reader.feed("hook", start)).data == {"session_id": "s", "record": "/r", "resumed": True}
    assert only(reader.feed("record", row("session", session_id="s", source="startup"))).data == {
        "session_id": "s",
        "record": None,
        "resumed": False,
    }
    end = only(reader.feed("hook", hook("SessionEnd", reason="other")))
    assert (end.kind, end.get("reason")) == (Kind.SESSION_ENDED, "other")
    asked = only(reader.feed("hook", hook("PermissionRequest", tool_name="Approval", text="May I?")))
    assert asked.data == {"text": "May I?", "tool": "Approval", "reason": "approval"}


HOOKS = [
    "SessionStart", "UserPromptSubmit", "SteerQueued", "PreToolUse", "PostToolUse", "PermissionRequest",
    "Stop", "StopFailure", "SessionEnd", "NeverHeardOf",
]  # fmt: skip
ROWS = [
    "session",
    "user",
    "assistant",
    "tool_use",
    "tool_result",
    "steer",
    "error",
    "interrupted",
    "turn_end",
]
FIELDS = [
    "time", "prompt_id", "text", "prompt", "operation", "final", "background", "background_tasks",
    "last_assistant_message", "tool_use_id", "failed", "message", "source", "steer_id",
]  # fmt: skip


@pytest.mark.parametrize("odd", [None, 7, "x", [], [1, None], {}, {"a": 1}, True])
def test_odd_data_never_raises(reader: DemoReader, odd: object) -> None:
    rest = dict.fromkeys(FIELDS, odd)
    for event in HOOKS:
        reader.feed("hook", {"hook_event_name": event, **rest})
    for kind in [*ROWS, odd]:
        reader.feed("record", {"type": kind, **rest})
    assert reader.feed("another source", row("user", text="x")) == []
    json.dumps(reader.memory)


def request(tmp_path: Path, **values: Any) -> LaunchRequest:
    program = Program(("/bin/demo",), "1.0.0 (demo)", "")
    given: dict[str, Any] = {"hook": ("/bin/hook", "a b"), "spool": tmp_path / "spool", **values}
    return LaunchRequest(
        agent="demo-x", program=program, cwd=tmp_path, folder=tmp_path, policy=Policy(), home=tmp_path,
        environment={}, **given,
    )  # fmt: skip


def test_launch(tmp_path: Path) -> None:
    demo = Demo()
    assert isinstance(demo, Adapter)
    launch = demo.launch(request(tmp_path, new_session="id", model="m", args=("--tick", "0.1")))
    record = tmp_path / "demo-record.jsonl"
    assert launch.argv == (
        "/bin/demo", "--session-id", "id", "--record", str(record), "--hook", '["/bin/hook", "a b"]',
        "--model", "m", "--tick", "0.1",
    )  # fmt: skip
    assert (launch.session_id, launch.follow) == ("id", {"record": record})
    again = demo.launch(request(tmp_path, resume="id", new_session="other"))
    assert again.argv[:3] == ("/bin/demo", "--resume", "id")
    assert again.session_id == "id"


@pytest.mark.parametrize("text", ["/x", "!x", "#x", "exit", "quit", "exit\n", "/x\nmore"])
def test_traps_are_guarded(text: str) -> None:
    assert Demo().guard(text, raw=False) == f" {text}"
    assert Demo().guard(text, raw=True) == text


@pytest.mark.parametrize("text", [" /x", "x /y", "exit now", "", "\n/x"])
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert Demo().guard(text, raw=False) == text


def test_the_same_prompt_but_for_white_space() -> None:
    assert Demo().same_prompt("/a\n b", " /a b")
    assert not Demo().same_prompt("a", "b")
