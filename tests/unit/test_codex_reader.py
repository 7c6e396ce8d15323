"""Codex's facts as events: rollouts as captured, notify, and what the terminal is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentd.model import Event, Kind, Reason, Source
from agentd_codex import Codex
from agentd_codex.record import CodexReader
from agentd_codex.rollout import born

CAPTURES = Path(__file__).parent / "captures" / "codex"
ROLLOUT = "rollout:c1"
NOW = 1_700_000_000.0


class Told:
    """A reader, and what it is told."""

    def __init__(self) -> None:
        self.reader = CodexReader({"born": NOW - 10})
        self.at = NOW

    def feed(self, source: str, row: dict[str, Any]) -> list[Event]:
        # What it remembers outlives the daemon.
        self.reader = CodexReader(json.loads(json.dumps(self.reader.memory)))
        return list(self.reader.feed(source, row))

    def row(self, type: str, payload: Any, source: str = ROLLOUT) -> list[Event]:
        stamp = datetime.fromtimestamp(self.at, UTC).isoformat().replace("+00:00", "Z")
        return self.feed(source, {"timestamp": stamp, "type": type, "payload": payload})

    def event(self, type: str, **payload: Any) -> list[Event]:
        return self.row("event_msg", {"type": type, **payload})

    def item(self, type: str, turn: str = "t1", **item: Any) -> list[Event]:
        return self.event("item_completed", turn_id=turn, item={"type": type, **item})

    def prompt(self, text: str, turn: str = "t1") -> list[Event]:
        return self.item("UserMessage", turn, content=[{"type": "text", "text": text}])

    def message(self, text: str, turn: str = "t1", kind: str = "user.text") -> list[Event]:
        meta = {"turn_id": turn, "content_item_kinds": [kind]}
        content = [{"type": "input_text", "text": text}]
        payload = {"type": "message", "role": "user", "content": content}
        return self.row("response_item", {**payload, "internal_chat_message_metadata_passthrough": meta})

    def call(self, type: str, **payload: Any) -> list[Event]:
        return self.row("response_item", {"type": type, **payload})

    def osc(self, text: str, number: int = 7501) -> list[Event]:
        return self.feed("output", {"osc": number, "text": text})

    def notify(self, thread: str, turn: str = "t1", reply: str | None = "done") -> list[Event]:
        row = {"type": "agent-turn-complete", "thread-id": thread, "turn-id": turn, "time": NOW + 1}
        return self.feed(
            "hook", {**row, "input-messages": ["all", "of them"], "last-assistant-message": reply}
        )


def short(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """Kind and data, without what is empty."""
    return [(e.kind.value, {k: v for k, v in e.data.items() if v not in (None, False, 0)}) for e in events]


# Captured ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["0.171.0", "0.155.1"])
def test_a_session_with_steers_interrupts_and_commands(release: str) -> None:
    reader = CodexReader({"born": 0.0})
    told = [
        event
        for line in (CAPTURES / release / "rollout.jsonl").read_text().splitlines()
        for event in reader.feed("rollout:x", json.loads(line))
    ]
    assert told[0].kind is Kind.SESSION_STARTED and told[0].get("session_id") == "x"
    assert all(event.source is Source.RECORD for event in told)
    kinds = [event.kind for event in told]
    taken = [e.get("text") for e in told if e.kind is Kind.PROMPT_TAKEN]
    first = ["@bash sleep 1; echo hi"] if release == "0.155.1" else []
    assert taken == [
        *first, "@delay 20 late answer", "@say after", "@bash sleep 8; echo T", "@bash sleep 6; echo T",
        "@slow 3 STEER esc", "@slow 6 end",
    ]  # fmt: skip
    joined = [str(e.get("text")).splitlines()[0] for e in told if e.kind is Kind.STEER_JOINED]
    assert joined == ["STEER one", "STEER two", "also this"]
    assert kinds.count(Kind.TURN_INTERRUPTED) == 2
    # `!command` and `/compact` are turns without a prompt; the summary is nobody's answer.
    done = [e.get("reply") for e in told if e.kind is Kind.TURN_DONE]
    assert done[len(first) : len(first) + 3] == ["bang\n", None, "after"]
    assert "Scripted title" not in [e.get("text") for e in told if e.kind is Kind.TEXT]
    assert kinds.count(Kind.TOOL_STARTED) == kinds.count(Kind.TOOL_ENDED) == len(first) + 2
    keys = {e.get("key") for e in told if e.kind is Kind.PROMPT_TAKEN}
    assert len(keys) == len(taken) and None not in keys


# Turns ---------------------------------------------------------------------------------------------


def test_the_first_prompt_begins_a_turn_and_later_ones_join_it() -> None:
    told = Told()
    assert short(told.prompt("do it")) == [
        ("prompt_taken", {"text": "do it", "key": "t1", "origin": "human"})
    ]
    assert short(told.prompt("and this")) == [("steer_joined", {"text": "and this", "key": "t1"})]
    assert short(told.prompt("and this")) == [("steer_joined", {"text": "and this", "key": "t1"})]
    assert short(told.prompt("next", "t2"))[0][0] == "prompt_taken"


def test_a_prompt_has_two_rows_and_counts_once() -> None:
    told = Told()
    assert short(told.message("do it"))[0][0] == "prompt_taken"
    assert told.prompt("do it") == []
    assert short(told.message("more"))[0][0] == "steer_joined"
    assert told.prompt("more") == []
    assert short(told.message("more"))[0][0] == "steer_joined"
    assert told.prompt("more") == []


def test_codexs_own_context_is_no_prompt() -> None:
    told = Told()
    assert told.message("<environment_context>", kind="environments.environment_context") == []
    assert told.message("<turn_aborted>", kind="generic.turn_aborted") == []


def test_tools_and_whether_they_failed() -> None:
    told = Told()
    told.prompt("go")
    arguments = json.dumps({"cmd": "ls"})
    assert short(told.call("function_call", name="exec_command", call_id="c1", arguments=arguments)) == [
        ("tool_started", {"tool": "exec_command", "id": "c1"})
    ]
    wait = {"name": "wait", "namespace": "mcp__api_bridge", "call_id": "c2", "arguments": "{}"}
    assert told.call("function_call", **wait)[0].get("tool") == "mcp__api_bridge__wait"
    assert told.item("McpToolCall", id="c2", status="failed") == []
    assert short(told.call("function_call_output", call_id="c2")) == [
        ("tool_ended", {"tool": "mcp__api_bridge__wait", "id": "c2", "failed": True})
    ]
    assert short(told.call("function_call_output", call_id="c1")) == [
        ("tool_ended", {"tool": "exec_command", "id": "c1"})
    ]
    assert told.call("web_search_call", id="w1", status="completed") == []


def test_answers_and_ends() -> None:
    told = Told()
    told.prompt("go")
    assert short(told.item("AgentMessage", content=[{"type": "Text", "text": "so far"}])) == [
        ("text", {"text": "so far"})
    ]
    assert short(told.event("task_complete", turn_id="t1", last_agent_message="all")) == [
        ("turn_done", {"reply": "all", "key": "t1"})
    ]
    assert short(told.event("turn_aborted", turn_id="t2", reason="interrupted")) == [
        ("turn_interrupted", {"key": "t2"})
    ]
    [failed] = told.event("turn_aborted", turn_id="t3", reason="budget_limited")
    assert (failed.kind, failed.get("code"), failed.get("key")) == (Kind.TURN_FAILED, "budget_limited", "t3")


@pytest.mark.parametrize(
    ("error", "text", "code"),
    [
        ({"message": '{"error": {"message": "inner"}}', "codex_error_info": "other"}, "inner", "api_error"),
        ({"message": "slow down", "codex_error_info": {"http_connection_failed": {"http_status_code": 529}}},
         "slow down", "http_connection_failed"),
        ({"message": "enough", "codex_error_info": "usage_limit_exceeded"}, "enough", "usage_limit_exceeded"),
        ({"message": '{"error": 3}', "codex_error_info": 7}, '{"error": 3}', "api_error"),
        ({}, "the turn failed", "api_error"),
    ],
)  # fmt: skip
def test_errors(error: dict[str, Any], text: str, code: str) -> None:
    [event] = Told().event("task_complete", turn_id="t1", last_agent_message=None, error=error)
    assert event.kind is Kind.TURN_FAILED
    assert (event.get("error"), event.get("code"), event.get("key")) == (text, code, "t1")


def test_history_is_not_told_again() -> None:
    """`/resume` opens an old conversation: only its name counts."""
    told = Told()
    told.at = NOW - 3600
    assert told.row("session_meta", {"id": "c1"})[0].get("session_id") == "c1"
    assert told.prompt("long ago") == []
    assert told.event("task_complete", turn_id="t0", last_agent_message="old") == []
    told.at = NOW
    assert told.prompt("now", "t9")[0].kind is Kind.PROMPT_TAKEN


def test_events_carry_the_rows_time() -> None:
    told = Told()
    assert told.prompt("x")[0].time == pytest.approx(NOW, abs=0.001)


# notify --------------------------------------------------------------------------------------------


def test_notify_repeats_the_end_of_our_conversations_turn() -> None:
    told = Told()
    assert told.notify("c1") == []
    told.prompt("go")
    assert told.notify("title") == []
    [event] = told.notify("c1")
    assert (event.kind, event.source, event.time) == (Kind.TURN_DONE, Source.HOOK, NOW + 1)
    assert (event.get("reply"), event.get("key")) == ("done", "t1")
    assert event.get("settle") > 0


# The terminal --------------------------------------------------------------------------------------


def test_program_states() -> None:
    told = Told()
    assert short(told.osc("state=idle:app=codex")) == [("ready", {})]
    assert short(told.osc("state=working:app=codex")) == [("activity", {"search": True})]
    assert told.osc("state=done:app=codex") == []
    assert told.osc("state=idle:app=codex") == []
    assert short(told.osc("state=clear"))[0][0] == "session_ended"


def test_an_approval_names_the_open_call() -> None:
    told = Told()
    told.prompt("go")
    told.call("function_call", name="exec_command", call_id="c1", arguments='{"cmd": "rm x"}')
    told.osc("state=working:app=codex")
    [event] = told.osc("state=blocked:app=codex:kind=permission")
    assert event.kind is Kind.APPROVAL_WANTED
    assert (event.get("text"), event.get("tool")) == ("exec_command: rm x", "exec_command")
    assert event.get("reason") is Reason.APPROVAL
    assert told.osc("state=blocked:app=codex:kind=permission") == []
    # The same turn goes on: its record is known.
    assert told.osc("state=working:app=codex") == []
    [event] = told.osc("state=blocked:app=codex:kind=question")
    assert event.get("reason") is Reason.QUESTION


def test_titles_speak_for_releases_without_program_states() -> None:
    told = Told()
    assert short(told.osc("ws", 0)) == [("ready", {})]
    assert short(told.osc("\u2839 ws", 0)) == [("activity", {"search": True})]
    assert told.osc("\u283c ws", 0) == []
    assert told.osc("[ ! ] Action Required | a title | ws", 0)[0].kind is Kind.APPROVAL_WANTED
    assert told.osc("[ . ] Action Required | a title | ws", 0) == []
    assert told.osc("\u2839 ws", 0) == []
    assert told.osc("ws", 0) == []


def test_a_title_says_nothing_once_there_are_program_states() -> None:
    told = Told()
    told.osc("state=idle:app=codex")
    assert told.osc("[ ! ] Action Required | a title", 0) == []
    assert told.osc("\u2839 ws", 2) == []


def test_other_programs_and_commands_say_nothing() -> None:
    told = Told()
    assert told.osc("state=working:app=pi") == []
    assert told.osc("?") == []
    assert told.osc("file:///x", 7) == []


# Odd data ------------------------------------------------------------------------------------------

ODD: tuple[Any, ...] = (None, 3, "x", [], [None], {}, {"type": 3}, {"type": "message"}, {"text": 4})


@pytest.mark.parametrize("odd", ODD)
def test_odd_data_says_nothing(odd: Any) -> None:
    told = Told()
    for kind in ("session", "event_msg", "response_item", 7, None):
        told.feed(ROLLOUT, {"timestamp": odd, "type": kind, "payload": odd})
        told.row("event_msg", {"type": odd, "item": odd})
    for payload in ("item_completed", "task_complete", "turn_aborted"):
        told.event(payload, turn_id=odd, item=odd, error=odd, last_agent_message=odd, reason=odd)
    for item in ("UserMessage", "AgentMessage", "CommandExecution", "McpToolCall"):
        told.item(item, content=odd, source=odd, status=odd, id=str(odd))
    for kinds in (odd, {"content_item_kinds": odd}, {"content_item_kinds": ["user.text"]}):
        message = {"type": "message", "role": "user", "content": odd}
        told.row("response_item", {**message, "internal_chat_message_metadata_passthrough": kinds})
    for call in ("function_call", "custom_tool_call", "function_call_output", "local_shell_call"):
        told.call(call, name=odd, call_id=str(odd), arguments=odd, input=odd)
    told.feed("hook", {"type": "agent-turn-complete", "thread-id": odd, "turn-id": odd})
    told.feed("output", {"osc": odd, "text": odd})
    assert told.feed("elsewhere", {"type": odd}) == []


def test_the_adapter_makes_this_reader() -> None:
    memory: dict[str, Any] = {}
    assert isinstance(Codex().reader(memory), CodexReader)
    assert memory["born"] > 0


def test_a_wall_clock_that_was_set_back_hides_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: NOW - 3600)
    told = Told()
    told.at = NOW - 3600
    assert [event.kind for event in told.prompt("after the clock was set")] == [Kind.PROMPT_TAKEN]
    assert born({"born": NOW - 7200}) == NOW - 7200, "a birth that lies in the past still tells"
