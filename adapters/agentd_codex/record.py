"""Codex's facts as events: the rows of its rollout, its `notify`, and what it tells its terminal.

The rollout tells everything about turns, within 30 ms, and is on disk 5 ms after its own timestamp.
`notify` repeats the end of a turn that went well. Only the raw output tells that the CLI is ready
(0.55 s after its start) and that it asks a person (10 ms after the tool's row): OSC 7501 from 0.163,
before that the window title, which says so about a second later. (Times measured on 0.171.0.)
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agentd.model import Event, Kind, Reason, Source
from agentd_codex.prompt import same
from agentd_codex.rollout import SOURCE, born

HOOK, OUTPUT = "hook", "output"

NOTIFY_SETTLE_S = 1.0
"""How long a `notify` waits for the rollout's row of the same end, which comes 5 ms earlier."""
PROMPT = "user.text"
"""The kind of content that a person typed; the rest of a `user` message is Codex's own context."""

_PROGRAM_STATE, _TITLES = 7501, (0, 2)
_ASKS = "Action Required"
_REASONS = {"permission": Reason.APPROVAL, "question": Reason.QUESTION}
Data = dict[str, Any]
Found = list[tuple[Kind, Data]]


class CodexReader:
    """Remembers when the process began, the conversation and the turn it is at, that turn's prompts and
    open tool calls, and what the terminal was told last."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory
        memory.setdefault("born", time.time())

    def feed(self, source: str, row: Mapping[str, Any]) -> Sequence[Event]:
        moment, origin = time.time(), Source.RECORD
        if source == HOOK:
            found, origin = self._notify(row), Source.HOOK
            if isinstance(row.get("time"), int | float):
                moment = float(row["time"])
        elif source == OUTPUT:
            found = self._output(row)
        elif source.startswith(SOURCE):
            moment = _seconds(row.get("timestamp")) or moment
            found = self._row(source.removeprefix(SOURCE), row, moment)
        else:
            return []
        return [Event(kind, origin, moment, data) for kind, data in found]

    # The rollout ----------------------------------------------------------------------------------

    def _row(self, conversation: str, row: Mapping[str, Any], moment: float) -> Found:
        payload = row.get("payload")
        if not isinstance(payload, dict):
            return []
        if row.get("type") == "session_meta":
            self.memory["conversation"] = conversation
            return [(Kind.SESSION_STARTED, {"session_id": conversation})]
        if moment < born(self.memory):
            # Older than the process: history. `codex resume` and `/resume` go on in an old rollout.
            return []
        match row.get("type"), payload.get("type"):
            case "event_msg", "item_completed":
                return self._item(conversation, payload)
            case "event_msg", "task_complete":
                return self._over(payload)
            case "event_msg", "turn_aborted":
                return [_aborted(payload)]
            case "response_item", "message":
                return self._message(conversation, payload)
            case "response_item", str(kind) if kind.endswith("_call"):
                return self._call(kind, payload)
            case "response_item", str(kind) if kind.endswith("_call_output"):
                return self._called(payload)
        return []

    def _item(self, conversation: str, payload: Data) -> Found:
        item = payload.get("item")
        if not isinstance(item, dict):
            return []
        match item.get("type"):
            case "UserMessage":
                return self._prompt(conversation, payload.get("turn_id"), "item", _text(item.get("content")))
            case "AgentMessage" if text := _text(item.get("content")):
                return [(Kind.TEXT, {"text": text})]
            case "CommandExecution" if item.get("source") == "user_shell":
                # `!command`: a turn of its own without a prompt, whose end says nothing.
                self.memory["shell"] = [payload.get("turn_id"), str(item.get("aggregated_output") or "")]
            case _ if item.get("status") == "failed":
                self.memory["failed"] = [*self.memory.get("failed", [])[-9:], item.get("id")]
        return []

    def _message(self, conversation: str, payload: Data) -> Found:
        """A prompt's other row, a millisecond before its item."""
        meta, content = payload.get("internal_chat_message_metadata_passthrough"), payload.get("content")
        if payload.get("role") != "user" or not isinstance(meta, dict) or not isinstance(content, list):
            return []
        kinds = meta.get("content_item_kinds")
        if not isinstance(kinds, list) or PROMPT not in kinds:
            return []
        typed = [part for part, kind in zip(content, kinds, strict=False) if kind == PROMPT]
        return self._prompt(conversation, meta.get("turn_id"), "message", _text(typed))

    def _prompt(self, conversation: str, turn: Any, told_by: str, text: str) -> Found:
        """The turn's first prompt begins it, a later one joins it. Each has two rows; the first counts."""
        memory = self.memory
        memory["conversation"] = conversation
        begins = turn != memory.get("turn")
        if begins:
            memory.update(turn=turn, prompts={}, calls={}, failed=[])
        mine: list[str] = memory["prompts"].setdefault(told_by, [])
        mine.append(text)
        if any(told_by != other and _count(texts, text) >= _count(mine, text)
               for other, texts in memory["prompts"].items()):  # fmt: skip
            return []
        if begins:
            return [(Kind.PROMPT_TAKEN, {"text": text, "key": turn, "origin": "human"})]
        return [(Kind.STEER_JOINED, {"text": text, "key": turn})]

    def _call(self, kind: str, payload: Data) -> Found:
        name = str(payload.get("name") or kind.removesuffix("_call"))
        tool = f"{payload['namespace']}__{name}" if payload.get("namespace") else name
        identity = str(payload.get("call_id") or payload.get("id") or "")
        if kind != "web_search_call":
            self.memory.setdefault("calls", {})[identity] = [tool, _detail(payload)]
            return [(Kind.TOOL_STARTED, {"tool": tool, "id": identity})]
        # Done by the model's provider: there is one row, at its end.
        return []

    def _called(self, payload: Data) -> Found:
        identity = str(payload.get("call_id") or "")
        tool, _ = self.memory.get("calls", {}).pop(identity, (None, ""))
        failed = identity in self.memory.get("failed", [])
        return [(Kind.TOOL_ENDED, {"tool": tool, "id": identity, "failed": failed})]

    def _over(self, payload: Data) -> Found:
        key, reply, error = payload.get("turn_id"), payload.get("last_agent_message"), payload.get("error")
        reply = reply if isinstance(reply, str) else None
        if isinstance(error, dict):
            return [(Kind.TURN_FAILED, {**_error(error), "key": key, "reply": reply})]
        turn, output = self.memory.pop("shell", None) or (None, "")
        if reply is None and turn == key:
            reply = output
        return [(Kind.TURN_DONE, {"reply": reply, "key": key})]

    # notify ---------------------------------------------------------------------------------------

    def _notify(self, row: Mapping[str, Any]) -> Found:
        """The end of a turn that went well; also of sub-agents' and of the thread that finds a title, which
        have a thread id of their own."""
        if row.get("type") != "agent-turn-complete" or not row.get("turn-id"):
            return []
        if row.get("thread-id") != self.memory.get("conversation"):
            return []
        reply = row.get("last-assistant-message")
        reply = reply if isinstance(reply, str) else None
        return [(Kind.TURN_DONE, {"reply": reply, "key": row["turn-id"], "settle": NOTIFY_SETTLE_S})]

    # The raw output -------------------------------------------------------------------------------

    def _output(self, row: Mapping[str, Any]) -> Found:
        text = str(row.get("text") or "")
        if row.get("osc") == _PROGRAM_STATE:
            said = dict(part.partition("=")[::2] for part in text.split(":"))
            if said.get("app") not in (None, "codex"):
                return []
            self.memory["states"] = True
            return self._state(said.get("state", ""), said.get("kind", ""))
        if row.get("osc") in _TITLES and not self.memory.get("states"):
            # The title begins with a spinner of Braille dots while something works.
            works = "\u2800" <= text[:1] <= "\u28ff"
            asks = text.startswith("[") and _ASKS in text
            return self._state("blocked" if asks else "working" if works else "idle", "permission")
        return []

    def _state(self, state: str, kind: str) -> Found:
        was = self.memory.get("state")
        self.memory["state"] = state
        if state == was:
            return []
        match state:
            case "idle" if not self.memory.get("ready"):
                self.memory["ready"] = True
                return [(Kind.READY, {})]
            case "working" if was != "blocked":
                self.memory["working_since"] = time.time()
                return [(Kind.ACTIVITY, {"search": True})]
            case "blocked":
                return [(Kind.APPROVAL_WANTED, self._request(kind))]
            case "clear":
                return [(Kind.SESSION_ENDED, {"reason": "the CLI left its screen"})]
        return []

    def _request(self, kind: str) -> Data:
        """What the CLI asks about: the newest call that is still open, as far as the rollout tells."""
        calls = list(self.memory.get("calls", {}).values())
        tool, detail = calls[-1] if calls else (None, "")
        reason = _REASONS.get(kind, Reason.APPROVAL)
        what = "a question" if reason is Reason.QUESTION else "for an approval"
        text = f"{tool}: {detail}" if detail else f"Codex asks {what}"
        return {"text": text, "tool": tool, "reason": reason}


def _count(texts: Sequence[str], text: str) -> int:
    return sum(1 for other in texts if same(other, text))


def _text(content: Any) -> str:
    """The text of a message's content."""
    if not isinstance(content, list):
        return ""
    return "\n".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))


def _detail(call: Data) -> str:
    """What a call is to do, in a line."""
    given = call.get("arguments", call.get("input"))
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        arguments = given
    if isinstance(arguments, dict):
        shown = next((arguments[k] for k in ("cmd", "command", "path", "url") if arguments.get(k)), arguments)
        arguments = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    return str(arguments or "")[:300]


def _error(error: Data) -> Data:
    """The error's text and a word for it. The text may be the provider's whole JSON."""
    text, info = str(error.get("message") or "the turn failed"), error.get("codex_error_info")
    try:
        inner = json.loads(text)["error"]["message"]
    except (ValueError, LookupError, TypeError, RecursionError):
        inner = None
    code = next(iter(info), "") if isinstance(info, dict) else info
    code = code if isinstance(code, str) and code not in ("", "other") else "api_error"
    return {"error": inner if isinstance(inner, str) and inner else text, "code": code}


def _aborted(payload: Data) -> tuple[Kind, Data]:
    key, reason = payload.get("turn_id"), payload.get("reason")
    if reason in (None, "interrupted", "replaced", "review_ended"):
        return Kind.TURN_INTERRUPTED, {"key": key}
    return Kind.TURN_FAILED, {"error": f"Codex ended the turn: {reason}", "code": str(reason), "key": key}


def _seconds(timestamp: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except ValueError:
        return None
