"""Claude Code's facts as events: its hooks, and the rows of its transcript.

Hooks are separate processes that run side by side, so their order is not the order of what they tell;
the transcript's is. Each tells of a prompt's beginning and end, so that either may be missing. What a
release adds or drops (`prompt_id`, `turn_duration`, `queue-operation`) is taken where it is seen.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agentd.model import Event, Kind, Reason, Source
from agentd_claude_code.prompt import unfold

HOOK, TRANSCRIPT = "hook", "transcript"

FIRST_SETTLE_S = 2.0
SETTLE_S = 60.0
OLD_SETTLE_S = 0.3
"""How long a `Stop` waits for the transcript's `turn_duration` row, which comes only when every Stop hook
of the user's has let the turn end: 95 ms later (measured on 2.1.332). Until a row was seen in this
process the wait is short, since nothing promises one; releases before 2.1.160 have none."""
ROW_SETTLE_S = 1.0
"""How long such a row waits for its hook, which knows of background work and the answer."""
DURATIONS_SINCE = (2, 1, 160)
MOST_WAITING = 50
"""Texts that wait inside the CLI: it may drop some in ways that its record doesn't tell."""

_INTERRUPTED = "[Request interrupted by user"
_SYSTEM = "<task-notification>"
_NOT_TYPED = re.compile(
    r"\s*<(?:bash-(?:input|stdout|stderr)|local-command-|command-(?:name|message|args)|system-reminder)"
)
Data = dict[str, Any]


class ClaudeReader:
    """Remembers the prompt that the transcript is at, the texts that wait inside the CLI, and the release."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory

    def feed(self, source: str, row: Mapping[str, Any]) -> Sequence[Event]:
        if source == HOOK:
            found, at = self._hook(row), row.get("time")
        elif source == TRANSCRIPT:
            found, at = self._row(row), _seconds(row.get("timestamp"))
        else:
            return []
        moment = float(at) if isinstance(at, int | float) else time.time()
        origin = Source.HOOK if source == HOOK else Source.RECORD
        return [Event(kind, origin, moment, data) for kind, data in found]

    # Hooks ----------------------------------------------------------------------------------------

    def _hook(self, row: Mapping[str, Any]) -> list[tuple[Kind, Data]]:
        key = row.get("prompt_id")
        match row.get("hook_event_name"):
            case "SessionStart":
                return self._session(row)
            case "UserPromptSubmit":
                text = str(row.get("prompt") or "")
                origin = "system" if text.lstrip().startswith(_SYSTEM) else "human"
                return [(Kind.PROMPT_TAKEN, {"text": unfold(text), "key": key, "origin": origin})]
            case "PreToolUse":
                return [(Kind.TOOL_STARTED, _tool(row))]
            case "PostToolUse":
                return [(Kind.TOOL_ENDED, {**_tool(row), "failed": False})]
            case "PostToolUseFailure":
                return [(Kind.TOOL_ENDED, {**_tool(row), "failed": True})]
            case "PermissionRequest":
                return [(Kind.APPROVAL_WANTED, _request(row))]
            case "Stop":
                reply = row.get("last_assistant_message")
                data = {
                    "reply": reply if isinstance(reply, str) else None,
                    "key": key,
                    "background": _agents_run(row.get("background_tasks")),
                    "settle": self._settle(),
                }
                return [(Kind.TURN_DONE, data)]
            case "StopFailure":
                code = str(row.get("error") or "unknown")
                text = str(row.get("last_assistant_message") or row.get("error_details") or code)
                return [(Kind.TURN_FAILED, {"error": text, "code": code, "key": key, "reply": None})]
            case "SessionEnd":
                return [(Kind.SESSION_ENDED, {"reason": row.get("reason")})]
        return []

    def _session(self, row: Mapping[str, Any]) -> list[tuple[Kind, Data]]:
        path = row.get("transcript_path")
        data: Data = {
            "session_id": row.get("session_id"),
            "resumed": row.get("source") in ("resume", "compact"),
        }
        if isinstance(path, str) and path:
            data["follow"] = {TRANSCRIPT: path}
        return [(Kind.SESSION_STARTED, data)]

    def _settle(self) -> float:
        if self.memory.get("durations"):
            return SETTLE_S
        release = self.memory.get("release")
        return OLD_SETTLE_S if release and tuple(release) < DURATIONS_SINCE else FIRST_SETTLE_S

    # The transcript -------------------------------------------------------------------------------

    def _row(self, row: Mapping[str, Any]) -> list[tuple[Kind, Data]]:
        if "release" not in self.memory and (
            found := re.match(r"(\d+)\.(\d+)\.(\d+)", str(row.get("version")))
        ):
            self.memory["release"] = [int(part) for part in found.groups()]
        if row.get("isSidechain"):
            return [(Kind.ACTIVITY, {})]
        match row.get("type"):
            case "user":
                return self._user(row)
            case "assistant":
                return self._assistant(row)
            case "system" if row.get("subtype") == "turn_duration":
                self.memory["durations"] = True
                data = {
                    "reply": self.memory.get("reply"),
                    "key": self.memory.get("key"),
                    "background": bool(row.get("pendingBackgroundAgentCount")),
                    "settle": ROW_SETTLE_S,
                }
                return [(Kind.TURN_DONE, data)]
            case "queue-operation":
                return self._queue(row)
        return [(Kind.ACTIVITY, {})]

    def _user(self, row: Mapping[str, Any]) -> list[tuple[Kind, Data]]:
        text = _text(row)
        if text is None or row.get("isMeta"):
            return [(Kind.ACTIVITY, {})]
        key = row.get("promptId")
        if text.startswith(_INTERRUPTED):
            reply = self.memory.get("reply")
            return [(Kind.TURN_INTERRUPTED, {"key": key or self.memory.get("key"), "reply": reply})]
        if _NOT_TYPED.match(text):
            return [(Kind.ACTIVITY, {})]
        self.memory["key"] = key
        self.memory["reply"] = None
        origin = row.get("origin")
        kind = origin.get("kind") if isinstance(origin, dict) else None
        own = kind not in (None, "human") or text.lstrip().startswith(_SYSTEM)
        data = {"text": unfold(text), "key": key, "origin": "system" if own else "human"}
        return [(Kind.PROMPT_TAKEN, data)]

    def _assistant(self, row: Mapping[str, Any]) -> list[tuple[Kind, Data]]:
        text = _text(row)
        if row.get("isApiErrorMessage"):
            data = {
                "error": text or "API error",
                "code": str(row.get("error") or "api_error"),
                "key": self.memory.get("key"),
                "reply": None,
                "settle": ROW_SETTLE_S,
            }
            return [(Kind.TURN_FAILED, data)]
        if not text:
            return [(Kind.ACTIVITY, {})]
        self.memory["reply"] = text
        return [(Kind.TEXT, {"text": text})]

    def _queue(self, row: Mapping[str, Any]) -> list[tuple[Kind, Data]]:
        """Texts that wait inside the CLI: typed by a person, by us, or its own notifications."""
        waiting: list[str] = self.memory.setdefault("waiting", [])
        text = row.get("content")
        match row.get("operation"):
            case "enqueue" if isinstance(text, str):
                waiting.append(text)
                del waiting[:-MOST_WAITING]
                return self._steer(Kind.STEER_WAITING, text)
            case "remove":
                if text in waiting:
                    waiting.remove(text)
                elif waiting:
                    text = waiting.pop(0)
                return self._steer(Kind.STEER_JOINED, text)
            case "dequeue" if waiting:
                return self._steer(Kind.STEER_OWN_TURN, waiting.pop(0))
        return [(Kind.ACTIVITY, {})]

    @staticmethod
    def _steer(kind: Kind, text: Any) -> list[tuple[Kind, Data]]:
        if not isinstance(text, str) or text.lstrip().startswith(_SYSTEM):
            return [(Kind.ACTIVITY, {})]
        return [(kind, {"text": unfold(text)})]


def _text(row: Mapping[str, Any]) -> str | None:
    """The row's text; None for a row of tool results."""
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [b["text"] for b in content if isinstance(b, dict) and isinstance(b.get("text"), str)]
    return "\n".join(texts) if texts else None


def _tool(row: Mapping[str, Any]) -> Data:
    return {"tool": row.get("tool_name"), "id": row.get("tool_use_id")}


def _request(row: Mapping[str, Any]) -> Data:
    """What the CLI asks for, in one or two lines."""
    tool, given = str(row.get("tool_name") or "a tool"), row.get("tool_input")
    detail = given if isinstance(given, dict) else {}
    shown = next((detail[k] for k in ("command", "file_path", "url", "pattern") if detail.get(k)), None)
    text = f"{tool}: {shown}" if shown else f"{tool} {json.dumps(detail, ensure_ascii=False)[:300]}"
    reason = Reason.QUESTION if tool == "AskUserQuestion" else Reason.APPROVAL
    return {"text": text, "tool": tool, "reason": reason}


def _agents_run(tasks: Any) -> bool:
    """Whether sub-agents still work. A background shell may be a server that never ends: it doesn't count."""
    return isinstance(tasks, list) and any(
        isinstance(task, dict) and task.get("status") == "running" and task.get("type") == "subagent"
        for task in tasks
    )


def _seconds(timestamp: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except ValueError:
        return None
