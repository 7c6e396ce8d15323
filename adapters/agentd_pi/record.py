"""Pi's facts as events: what the extension writes down, and the rows of the session file.

The extension tells everything, in order, from inside Pi; `agent_settled` is the true end of a turn. A
release without it (before 0.80.4) ends a run of the model with `agent_end`, after which a retry or a
compaction may still follow: that end waits. The session file is the second source of beginnings, and of
ends where `agent_settled` was seen before and is missing now. Pi has no ids of turns; the time stamp of
the user's message, which both sources carry, is the turn's key.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from agentd.adapter import squeeze
from agentd.model import Event, Kind, Reason, Source

HOOK, SESSION = "hook", "session"

QUIET_S = 1.0
"""How long a release without `agent_settled` may take until it shows that it goes on after an answer:
`session_before_compact` comes within milliseconds."""
BACKOFF_S, MARGIN_S = 2.0, 1.5
"""After the n-th error in a row Pi waits 2 s times 2 to the power of n-1 by default, and tries again."""
LONGEST_BACKOFF = 5
COMPACT_S = 300.0
"""For a compaction, which is a request to the model; a failed one isn't told by such a release."""
MISSED_S = 600.0
"""How long the session file's word for an end waits for the extension's. Longer than any retry or
compaction: only a Pi that is stuck behind its last answer takes so long."""
CANCELLED_S = 0.25
"""From an error to the end of the turn it takes 2 ms. If it takes longer, Pi was waiting for a retry, and
somebody cancelled that."""
REMEMBERED = 20

Data = dict[str, Any]
Facts = list[tuple[Kind, Data]]
NOTHING: Facts = [(Kind.ACTIVITY, {})]


class PiReader:
    """Remembers the run that goes on, the texts that wait inside Pi, and whether `agent_settled` exists."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory

    def feed(self, source: str, row: Mapping[str, Any]) -> Sequence[Event]:
        at = row.get("time")
        moment = float(at) if isinstance(at, int | float) else time.time()
        if source == HOOK:
            found, origin = self._hook(row, moment), Source.HOOK
        elif source == SESSION:
            found, origin = self._row(row), Source.RECORD
        else:
            return []
        return [Event(kind, origin, moment, data) for kind, data in found]

    # The extension --------------------------------------------------------------------------------

    def _hook(self, row: Mapping[str, Any], at: float) -> Facts:
        match row.get("event"):
            case "session_start":
                return self._session(row)
            case "session_shutdown" if row.get("reason") in (None, "quit"):
                return [(Kind.SESSION_ENDED, {"reason": row.get("reason")})]
            case "input":
                return self._input(row)
            case "user":
                return self._user(row)
            case "assistant":
                return self._assistant(row)
            case "agent_start":
                return self._goes_on() or NOTHING
            case "tool_start":
                return [*self._goes_on(), (Kind.TOOL_STARTED, _tool(row))]
            case "tool_end":
                return [(Kind.TOOL_ENDED, {**_tool(row), "failed": row.get("failed") is True})]
            case "agent_end":
                return self._run_ended(row, at)
            case "settling":
                self.memory["decided"] = at
            case "agent_settled":
                return self._settled(row, at)
            case "compact_start":
                return self._compaction(COMPACT_S)
            case "compact_end":
                return self._compaction(QUIET_S)
            case "ask" if row.get("kind") in ("select", "confirm", "input", "editor"):
                data = {"text": _text(row, "title"), "tool": None, "reason": Reason.QUESTION}
                return [(Kind.APPROVAL_WANTED, data)]
        return NOTHING

    def _session(self, row: Mapping[str, Any]) -> Facts:
        """The session that Pi is in from now on: at its start, and after /new, /resume, /fork, /reload."""
        self._close()
        self.memory.pop("input", None)
        self.memory.pop("waiting", None)
        file, messages = _text(row, "file"), row.get("messages")
        data: Data = {
            "session_id": _text(row, "session") or None,
            "resumed": isinstance(messages, int) and messages > 0,
        }
        if file:
            data["follow"] = {SESSION: file}
        found: Facts = [(Kind.SESSION_STARTED, data)]
        if isinstance(why := row.get("offered"), str):
            found.append((Kind.WARNING, {"text": f"agentd's tools can't be offered to Pi: {why}"}))
        return found

    def _input(self, row: Mapping[str, Any]) -> Facts:
        """A prompt has left the composer, as it was typed. The user's message is the proof that it counts."""
        text = _text(row, "text")
        if row.get("streaming"):
            self._waiting().append(text)
            return [(Kind.STEER_WAITING, {"text": text})]
        if self.memory.get("told"):
            self._close()
        self.memory["input"] = text
        return NOTHING

    def _user(self, row: Mapping[str, Any]) -> Facts:
        text, key = _text(row, "text"), _key(row.get("at"))
        if self.memory.get("run"):
            waited = self._waited(text) or self._waited(None) or text
            return [*self._goes_on(), (Kind.STEER_JOINED, {"text": waited})]
        # A template or a skill of the user's was expanded: what was typed is what was sent.
        typed = self.memory.pop("input", None) or self._waited(text) or text
        self._open(key)
        if key:
            self.memory["begun"] = [*self.memory.get("begun", [])[-REMEMBERED:], key]
        return [(Kind.PROMPT_TAKEN, {"text": typed, "key": key, "origin": "human"})]

    def _assistant(self, row: Mapping[str, Any]) -> Facts:
        found = self._goes_on()
        if not self.memory.get("run"):
            # An extension of the user's set Pi to work.
            key = _key(row.get("at"))
            self._open(key)
            found = [(Kind.PROMPT_TAKEN, {"text": "", "key": key, "origin": "system"})]
        self._remember(row)
        if text := _text(row, "text"):
            found.append((Kind.TEXT, {"text": text}))
        return found or NOTHING

    def _run_ended(self, row: Mapping[str, Any], at: float) -> Facts:
        """A run of the model is over; whether the turn is, too, only `agent_settled` knows."""
        if not self.memory.get("run"):
            return NOTHING
        if not self._last():
            self._remember(row)
        self.memory["ended"] = at
        self.memory.pop("decided", None)
        stop = self._last().get("stop")
        self.memory["failures"] = self.memory.get("failures", 0) + 1 if stop == "error" else 0
        if self.memory.get("settles"):
            return NOTHING
        if stop == "aborted":
            return self._finish(aborted=True)
        wait = QUIET_S
        if stop == "error":
            wait = BACKOFF_S * 2 ** (min(self.memory["failures"], LONGEST_BACKOFF) - 1) + MARGIN_S
        return self._provisional(wait)

    def _settled(self, row: Mapping[str, Any], at: float) -> Facts:
        self.memory["settles"] = True
        if not self.memory.get("run"):
            return NOTHING
        stop, ended = self._last().get("stop"), self.memory.get("ended", at)
        waited = self.memory.get("decided", at) - ended > CANCELLED_S and not self.memory.get("compacted")
        cancelled = stop == "error" and waited
        return self._finish(aborted=row.get("aborted") is True or stop == "aborted" or cancelled)

    def _compaction(self, wait: float) -> Facts:
        self.memory["compacted"] = True
        if self.memory.get("run") and self.memory.get("told") and not self.memory.get("settles"):
            return self._provisional(wait)
        return self._goes_on() or NOTHING

    # The run --------------------------------------------------------------------------------------

    def _open(self, key: str | None) -> None:
        self._close()
        self.memory["run"] = self.memory["base"] = key or "?"

    def _close(self) -> None:
        for name in ("run", "told", "failures", "last", "parts", "compacted", "ended", "decided"):
            self.memory.pop(name, None)

    def _run_key(self) -> str | None:
        key = self.memory.get("run")
        return key if isinstance(key, str) and key != "?" else None

    def _goes_on(self) -> Facts:
        """Pi works on after an end that was told: it wasn't one. If the turn counts as over by now, this is
        another one, without a prompt of its own; so it gets a key of its own."""
        if not (self.memory.get("run") and self.memory.pop("told", None)):
            return []
        part = self.memory["parts"] = self.memory.get("parts", 0) + 1
        self.memory["run"] = f"{self.memory.get('base')}+{part}"
        return [(Kind.PROMPT_TAKEN, {"text": "", "key": self.memory["run"], "origin": "system"})]

    def _provisional(self, wait: float) -> Facts:
        self.memory["told"] = True
        return [self._end(wait)]

    def _finish(self, *, aborted: bool) -> Facts:
        found: Facts = []
        if aborted:
            # Escape gives the texts that wait back to the composer, unsent.
            found += [(Kind.STEER_DROPPED, {"text": text}) for text in self.memory.pop("waiting", [])]
            reply = _text(self._last(), "text") or None
            found.append((Kind.TURN_INTERRUPTED, {"key": self._run_key(), "reply": reply}))
        else:
            found.append(self._end(0.0))
        self._close()
        return found

    def _end(self, wait: float) -> tuple[Kind, Data]:
        last = self._last()
        text = _text(last, "text")
        data: Data = {"reply": text or None, "key": self._run_key(), "settle": wait}
        if last.get("stop") == "error":
            error = _text(last, "error") or "Pi says nothing about the error"
            return Kind.TURN_FAILED, {**data, "error": error, "code": _code(error)}
        return Kind.TURN_DONE, {**data, "reply": text}

    def _remember(self, row: Mapping[str, Any]) -> None:
        if row.get("stop"):
            self.memory["last"] = {name: row.get(name) for name in ("text", "stop", "error")}

    def _last(self) -> Data:
        last = self.memory.get("last")
        return last if isinstance(last, dict) else {}

    def _waiting(self) -> list[str]:
        waiting: list[str] = self.memory.setdefault("waiting", [])
        return waiting

    def _waited(self, text: str | None) -> str | None:
        """Take out the waiting text that this message is; None: the oldest, which Pi may have expanded."""
        waiting = self._waiting()
        for index, typed in enumerate(waiting):
            if text is None or squeeze(typed) == squeeze(text):
                return waiting.pop(index)
        return None

    # The session file -----------------------------------------------------------------------------

    def _row(self, row: Mapping[str, Any]) -> Facts:
        message = row.get("message")
        if row.get("type") != "message" or not isinstance(message, dict):
            return NOTHING
        key, text = _key(message.get("timestamp")), _content(message)
        match message.get("role"):
            case "user" if key in self.memory.get("begun", []):
                self.memory["row"] = key
                return [(Kind.PROMPT_TAKEN, {"text": text, "key": key, "origin": "human"})]
            case "assistant" if self._speaks():
                return self._row_end(message)
        return NOTHING

    def _speaks(self) -> bool:
        """Whether the session file may tell of an end: only where the extension is to contradict or to
        confirm it. Else two words for a provisional end would pass for a true one."""
        mine = self.memory.get("row")
        return bool(self.memory.get("settles") and mine and mine == self.memory.get("base"))

    def _row_end(self, message: Mapping[str, Any]) -> Facts:
        if not self.memory.get("run") or message.get("stopReason") not in ("stop", "length", "error"):
            return NOTHING
        self.memory["told"] = True
        data: Data = {"reply": None, "key": self._run_key(), "settle": MISSED_S}
        if message.get("stopReason") == "error":
            error = _text(message, "errorMessage")
            return [(Kind.TURN_FAILED, {**data, "error": error, "code": _code(error)})]
        return [(Kind.TURN_DONE, data)]


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _key(at: Any) -> str | None:
    """Milliseconds since the epoch, as both sources write them."""
    return str(int(at)) if isinstance(at, int | float) else None


def _tool(row: Mapping[str, Any]) -> Data:
    return {"tool": _text(row, "tool"), "id": _text(row, "id")}


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str))


def _code(error: str) -> str:
    """Errors of a provider begin with their HTTP status."""
    status = re.match(r"(\d{3})\b", error)
    return f"http_{status[1]}" if status else "api_error"
