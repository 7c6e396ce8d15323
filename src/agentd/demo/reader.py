"""The demo agent's facts as events: its hooks and its record say the same, as two sources."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from agentd.model import Event, Kind, Reason, Source

REMEMBERED = 200
"""How many tool calls and waiting texts are remembered, so that the second source says nothing new."""

_STEER = {
    "SteerQueued": Kind.STEER_WAITING,
    "enqueue": Kind.STEER_WAITING,
    "SteerJoined": Kind.STEER_JOINED,
    "join": Kind.STEER_JOINED,
    "SteerOwnTurn": Kind.STEER_OWN_TURN,
    "own_turn": Kind.STEER_OWN_TURN,
}


class DemoReader:
    """Prompts and ends come from both sources and carry the turn's `key`; of tools and waiting texts,
    which have no key, the first source to tell is heard."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory

    def feed(self, source: str, row: Mapping[str, Any]) -> Sequence[Event]:
        events = self._hook(row) if source == "hook" else self._record(row) if source == "record" else []
        at = row.get("time")
        moment = float(at) if isinstance(at, int | float) else time.time()
        origin = Source.HOOK if source == "hook" else Source.RECORD
        return [Event(kind, origin, moment, data) for kind, data in events]

    def _hook(self, row: Mapping[str, Any]) -> list[tuple[Kind, dict[str, Any]]]:
        key = _text(row, "prompt_id") or None
        match row.get("hook_event_name"):
            case "SessionStart":
                return [(Kind.SESSION_STARTED, _session(row))]
            case "UserPromptSubmit":
                return [(Kind.PROMPT_TAKEN, _prompt(row, "prompt", key))]
            case "SteerQueued" | "SteerJoined" | "SteerOwnTurn" as event:
                return self._once(_STEER[event], _text(row, "steer_id"), {"text": _text(row, "text")})
            case "PreToolUse":
                return self._tool_started(row)
            case "PostToolUse":
                return self._tool_ended(row)
            case "PermissionRequest":
                tool, text = _text(row, "tool_name"), _text(row, "text")
                return [(Kind.APPROVAL_WANTED, {"text": text, "tool": tool, "reason": Reason.APPROVAL})]
            case "Stop":
                tasks = row.get("background_tasks")
                running = [
                    str(task.get("id"))
                    for task in (tasks if isinstance(tasks, list) else [])
                    if isinstance(task, dict) and task.get("status") == "running"
                ]
                reply = _text(row, "last_assistant_message")
                data = {"reply": reply, "key": key, "background": bool(running)}
                return [(Kind.TURN_DONE, data)]
            case "StopFailure":
                return [(Kind.TURN_FAILED, _failure(row, "error", key))]
            case "SessionEnd":
                return [(Kind.SESSION_ENDED, {"reason": _text(row, "reason")})]
        return []

    def _record(self, row: Mapping[str, Any]) -> list[tuple[Kind, dict[str, Any]]]:
        key = _text(row, "prompt_id") or None
        match row.get("type"):
            case "session":
                return [(Kind.SESSION_STARTED, _session(row))]
            case "user":
                self.memory.pop("reply", None)
                return [(Kind.PROMPT_TAKEN, _prompt(row, "text", key))]
            case "assistant":
                text = _text(row, "text")
                if row.get("final") is not True:
                    return [(Kind.TEXT, {"text": text})]
                self.memory["reply"] = [key, text]
                return [(Kind.ACTIVITY, {})]
            case "tool_use":
                return self._tool_started(row)
            case "tool_result":
                return self._tool_ended(row)
            case "steer":
                kind = _STEER.get(_text(row, "operation"))
                return self._once(kind, _text(row, "steer_id"), {"text": _text(row, "text")}) if kind else []
            case "error":
                return [(Kind.TURN_FAILED, _failure(row, "message", key))]
            case "interrupted":
                return [(Kind.TURN_INTERRUPTED, {"key": key})]
            case "turn_end":
                of, reply = self.memory.pop("reply", None) or (None, None)
                background = row.get("background")
                data = {
                    "reply": reply if of == key else None,
                    "key": key,
                    "background": bool(background),
                    # The hook's word for the same end is a process of its own and comes a little later.
                    "settle": 0.5,
                }
                return [(Kind.TURN_DONE, data)]
        return []

    def _tool_started(self, row: Mapping[str, Any]) -> list[tuple[Kind, dict[str, Any]]]:
        use = _text(row, "tool_use_id")
        return self._once(Kind.TOOL_STARTED, use, {"tool": _text(row, "tool_name"), "id": use})

    def _tool_ended(self, row: Mapping[str, Any]) -> list[tuple[Kind, dict[str, Any]]]:
        use = _text(row, "tool_use_id")
        data = {"tool": _text(row, "tool_name"), "id": use, "failed": row.get("failed") is True}
        return self._once(Kind.TOOL_ENDED, use, data)

    def _once(self, kind: Kind, key: str, data: dict[str, Any]) -> list[tuple[Kind, dict[str, Any]]]:
        """Says it, unless the other source has said it."""
        mark = f"{kind}:{key}"
        said: list[str] = self.memory.setdefault("said", [])
        if key and mark in said:
            return []
        said.append(mark)
        del said[:-REMEMBERED]
        return [(kind, data)]


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _session(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "session_id": _text(row, "session_id") or None,
        "record": _text(row, "record") or None,
        "resumed": row.get("source") == "resume",
    }


def _prompt(row: Mapping[str, Any], field: str, key: str | None) -> dict[str, Any]:
    origin = "system" if row.get("origin") == "system" else "human"
    return {"text": _text(row, field), "key": key, "origin": origin}


def _failure(row: Mapping[str, Any], field: str, key: str | None) -> dict[str, Any]:
    reply = _text(row, "last_assistant_message") or _text(row, "reply") or None
    return {"error": _text(row, field), "code": "api_error", "key": key, "reply": reply}
