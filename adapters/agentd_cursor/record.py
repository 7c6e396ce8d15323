"""Cursor's facts as events: its hooks first, its transcript second.

Hooks name the turn (`generation_id`) but not its answer: what they give is all prose of the turn, glued
together. The transcript has the answer by itself but no ids, no times, and its rows come late: an end by up
to some seconds, the end of an interrupted turn by up to 20 s. So its rows are tied to the hooks' turns here,
and an end is never taken for that of a later turn. (All from others' live tests, builds 2026.05 to 2026.09.)

`sessionStart` says nothing about readiness: keys are still lost then. So the id is told with the first
prompt, and readiness is the composer's.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd.model import Event, Kind, Source
from agentd_cursor.launch import UUID
from agentd_cursor.prompt import digest, query

HOOK, TRANSCRIPT = "hook", "transcript"

FIRST_SETTLE_S = 2.5
SETTLE_S = 6.0
NO_TEXT_S = 10.0
"""Seconds that a `stop` waits for the transcript's row of the same end, which has the answer. Until one was
seen in this process the wait is short, since nothing promises one; where no hook told any text it is long."""
NO_RECORD_S = 0.3
"""The wait where there is nothing to wait for: the composer comes back after the hook."""
ERROR_SETTLE_S = 1.2
"""An interruption tells `error` and then `aborted`, within 0.1 s in two live tests; each is a process of its
own, and on a loaded machine they drift apart."""
ROW_SETTLE_S = 1.0
"""Seconds that a row waits for its hook."""
MOST_PROSE = 100_000
"""Characters of earlier prose that are kept to tell the answer from it."""
REMEMBERED = 8

_ABORTED = re.compile(r"\babort|\binterrupt", re.IGNORECASE)
_LIMIT = re.compile(r"usage limit|spend limit|rate limit", re.IGNORECASE)
Data = dict[str, Any]
Found = list[tuple[Kind, Data]]


class CursorReader:
    """Remembers the chat, the hooks' running turn, and the turn that the transcript is at."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory
        self._hooks = _Hooks(memory)
        self._rows = _Rows(memory)

    def feed(self, source: str, row: Mapping[str, Any]) -> Sequence[Event]:
        at = row.get("time")
        moment = float(at) if isinstance(at, int | float) else time.time()
        if source == HOOK:
            return [Event(kind, Source.HOOK, moment, data) for kind, data in self._hooks.read(row)]
        if source == TRANSCRIPT:
            return [Event(kind, Source.RECORD, moment, data) for kind, data in self._rows.read(row)]
        return []


class _Hooks:
    """`chat` is the conversation, `turn` the generation that runs; `waiting` are prompts typed into it, and
    `joined` the generations that a later one has swallowed."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory

    def read(self, row: Mapping[str, Any]) -> Found:
        name = row.get("hook_event_name")
        chat, turn = _uuid(row.get("conversation_id")), _uuid(row.get("generation_id"))
        if name == "sessionStart":
            return self._born(chat)
        known = self.memory.get("chat")
        if chat and known and chat != known and name != "beforeSubmitPrompt":
            # A Cursor that a tool of this one has started: only the TUI's own prompt changes the chat.
            return [(Kind.ACTIVITY, {})]
        self.memory["hooks"] = True
        found = self._chat(chat, row)
        match name:
            case "beforeSubmitPrompt":
                return found + self._prompt(str(row.get("prompt") or ""), turn)
            case "preToolUse":
                data = {"tool": _text(row, "tool_name"), "id": _text(row, "tool_use_id")}
                self.memory["tools"] = True
                return found + self._goes_on(turn) + [(Kind.TOOL_STARTED, data)]
            case "postToolUse" | "postToolUseFailure":
                failed = name == "postToolUseFailure"
                data = {"tool": _text(row, "tool_name"), "id": _text(row, "tool_use_id"), "failed": failed}
                return found + self._goes_on(turn) + [(Kind.TOOL_ENDED, data)]
            case "afterAgentResponse":
                found += self._goes_on(turn)
                self.memory["glued"] = _text(row, "text")
                return [*found, (Kind.TEXT, {"text": answer(self.memory, turn)})]
            case "stop":
                return found + self._stop(_text(row, "status"), turn)
            case "sessionEnd":
                return [*found, (Kind.SESSION_ENDED, {"reason": row.get("reason")})]
        return [*found, (Kind.ACTIVITY, {})]

    def _born(self, chat: str | None) -> Found:
        if chat and not self.memory.get("turn"):
            born: list[str] = self.memory.setdefault("born", [])
            born.append(chat)
            del born[:-REMEMBERED]
            self._begin_chat(chat)
            return [(Kind.SESSION_STARTED, {"session_id": chat, "resumed": False})]
        return [(Kind.ACTIVITY, {})]

    def _begin_chat(self, chat: str) -> None:
        self.memory.update(chat=chat, told=False, transcript=None, open=[], at=None, prose="", final=None)

    def _chat(self, chat: str | None, row: Mapping[str, Any]) -> Found:
        """Tell of the chat, and of its transcript as soon as it has a name. What an older chat's transcript
        holds already was told in its time."""
        if chat is None:
            return []
        if chat != self.memory.get("chat"):
            self._begin_chat(chat)
        path = _transcript(row.get("transcript_path"), chat)
        news = path if path != self.memory.get("transcript") else None
        if self.memory.get("told") and not news:
            return []
        self.memory["told"] = True
        data: Data = {"session_id": chat, "resumed": chat not in self.memory.get("born", [])}
        if news:
            self.memory["transcript"] = news
            data["follow"] = {TRANSCRIPT: news}
        return [(Kind.SESSION_STARTED, data)]

    def _prompt(self, text: str, turn: str | None) -> Found:
        remember(self.memory, "recent", [turn, digest(text), False])
        running = self.memory.get("turn")
        if running and turn and running != turn:
            # Typed into a running turn. What becomes of it is told by what comes next.
            remember(self.memory, "waiting", [turn, text])
            return [(Kind.STEER_WAITING, {"text": text})]
        self.memory.update(turn=turn, waiting=[], joined=[], inside=[], glued=None, tools=False)
        return [(Kind.PROMPT_TAKEN, {"text": text, "key": turn, "origin": "human"})]

    def _goes_on(self, turn: str | None) -> Found:
        """The turn of this event runs. If it is a waiting prompt's, that prompt is being worked on: as a turn
        of its own, or as the rest of the one before."""
        waiting = self.memory.get("waiting", [])
        mine = next((entry for entry in waiting if turn and entry[0] == turn), None)
        if mine is None:
            return []
        waiting.remove(mine)
        if running := self.memory.get("turn"):
            self.memory["joined"] = [*self.memory.get("joined", []), running]
            if self.memory.get("at") == running:
                self.memory["at"] = turn
        else:
            self.memory.update(glued=None, tools=False)
        self.memory["turn"] = turn
        return [(Kind.PROMPT_TAKEN, {"text": mine[1], "key": turn, "origin": "human"})]

    def _stop(self, status: str, turn: str | None) -> Found:
        found = self._goes_on(turn)
        running = self.memory.get("turn")
        key = turn or running
        keys = [*(self.memory.get("joined", []) if key == running else []), key]
        found += self._taken_in()
        if status == "completed":
            found += self._done(keys)
        elif status == "aborted":
            found += [(Kind.TURN_INTERRUPTED, {"key": one}) for one in keys]
        else:
            error = "Cursor ended the turn with an error; its record doesn't say which"
            data = {"error": error, "code": "api_error", "settle": ERROR_SETTLE_S}
            found += [(Kind.TURN_FAILED, {**data, "key": one}) for one in keys]
        if status != "completed" and key:
            remember(self.memory, "broken", key)
        if key == running:
            self.memory.update(turn=None, joined=[])
        return found

    def _taken_in(self) -> Found:
        """The waiting prompts that the transcript has within the turn that ends."""
        waiting, inside = self.memory.get("waiting", []), self.memory.get("inside", [])
        taken = [entry for entry in waiting if digest(entry[1]) in inside]
        self.memory["waiting"] = [entry for entry in waiting if entry not in taken]
        return [(Kind.STEER_JOINED, {"text": text}) for _, text in taken]

    def _done(self, keys: Sequence[str | None]) -> Found:
        """The transcript's own word for the answer wins, if it comes in time; the text said here is what is
        known without it."""
        *before, key = keys
        text = answer(self.memory, key)
        found: Found = [(Kind.TEXT, {"text": text})] if text else []
        found += [(Kind.TURN_DONE, {"reply": text or None, "key": one, "settle": 0.0}) for one in before]
        return [*found, (Kind.TURN_DONE, {"reply": None, "key": key, "settle": self._settle()})]

    def _settle(self) -> float:
        told = bool(self.memory.get("glued"))
        if (told and not self.memory.get("tools")) or not self.memory.get("transcript"):
            # All prose of a turn without a tool is its answer.
            return NO_RECORD_S
        if not told:
            return NO_TEXT_S
        return SETTLE_S if self.memory.get("rows") else FIRST_SETTLE_S


class _Rows:
    """`open` are the turns whose end the transcript hasn't told (the hooks' keys, None where unknown), `at`
    is the one that its rows are about, with its `prose` before the last tool and its `final` text."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory

    def read(self, row: Mapping[str, Any]) -> Found:
        if row.get("type") == "turn_ended":
            return self._ended(_text(row, "status"), _text(row, "error"))
        texts, tools = _content(row)
        match row.get("role"):
            case "user":
                typed = query("\n".join(texts)) if texts else None
                return [(Kind.ACTIVITY, {})] if typed is None else self._prompt(typed)
            case "assistant":
                return self._assistant("\n".join(texts), tools)
        return [(Kind.ACTIVITY, {})]

    def _prompt(self, text: str) -> Found:
        name = digest(text)
        told = next((e for e in self.memory.get("recent", []) if e[1] == name and not e[2]), None)
        if told:
            told[2] = True
        key = told[0] if told else None
        turns: list[str | None] = self.memory.setdefault("open", [])
        running = self.memory.get("turn")
        into = bool(running and turns and turns[-1] == running and key != running)
        joins = bool(not running and turns and turns[-1] and self._waited(turns[-1], name))
        turns.append(key)
        del turns[:-REMEMBERED]
        if into:
            # A turn that hooks say still runs has taken it in.
            remember(self.memory, "inside", name)
            return [(Kind.ACTIVITY, {})]
        if joins:
            return [(Kind.STEER_JOINED, {"text": text})]
        self.memory.update(at=key, prose="", final=None)
        return [(Kind.PROMPT_TAKEN, {"text": text, "key": key, "origin": "human"})]

    def _waited(self, before: str, name: str) -> bool:
        """Whether a prompt that waited stands before the end of the turn that hooks have ended."""
        waiting = self.memory.get("waiting", [])
        mine = next((entry for entry in waiting if digest(entry[1]) == name), None)
        if mine is None or before in self.memory.get("broken", []) or not self.memory.get("rows"):
            return False
        waiting.remove(mine)
        return True

    def _assistant(self, text: str, tools: bool) -> Found:
        if not self.memory.get("open"):
            # Its prompt's row was written before the transcript was followed.
            key = self._newest()
            self.memory.update(open=[key], at=key, prose="", final=None)
        before = self.memory.get("prose", "") + (self.memory.get("final") or "")
        if tools:
            self.memory.update(prose=(before + text)[:MOST_PROSE], final=None)
        elif text:
            self.memory.update(prose=before[:MOST_PROSE], final=text)
        if not text or not self._is_about_now():
            return [(Kind.ACTIVITY, {})]
        return [(Kind.TEXT, {"text": text})]

    def _is_about_now(self) -> bool:
        """Whether the rows are about the newest turn that hooks know: late ones are about another."""
        at = self.memory.get("at")
        return at is None or at == self._newest()

    def _ended(self, status: str, error: str) -> Found:
        if status not in ("success", "error", "aborted"):
            return [(Kind.ACTIVITY, {})]
        turns: list[str | None] = self.memory.get("open", [])
        aborted = status == "aborted" or (status != "success" and bool(_ABORTED.search(error)))
        if aborted:
            return self._interrupted(turns)
        key = self.memory.get("at") if turns else self._newest()
        self.memory.update(open=[], rows=True)
        self._row_seen(key)
        if status == "success":
            # Without hooks nothing else will speak of it.
            settle = ROW_SETTLE_S if self.memory.get("hooks") else 0.0
            reply = self.memory.get("final") if self.memory.get("at") == key else None
            return [(Kind.TURN_DONE, {"reply": reply, "key": key, "settle": settle})]
        self._mended(key)
        code = "limit" if _LIMIT.search(error) else "api_error"
        text = error or "Cursor ended the turn with an error"
        return [(Kind.TURN_FAILED, {"error": text, "code": code, "key": key, "settle": NO_RECORD_S})]

    def _interrupted(self, turns: list[str | None]) -> Found:
        """This row may be 20 s late, when the next turn runs already: it belongs to the turn that hooks call
        broken, else to the oldest that is open."""
        broken = self.memory.get("broken", [])
        key = next((one for one in (turns or broken) if one in broken), None)
        late = key is None and len(turns) > 1
        if key is None:
            key = turns[0] if turns else self._newest()
        self.memory["open"] = turns[turns.index(key) + 1 :] if key in turns else []
        self._mended(key)
        self._row_seen(key)
        if late and key is None:
            return [(Kind.ACTIVITY, {})]
        return [(Kind.TURN_INTERRUPTED, {"key": key})]

    def _mended(self, key: str | None) -> None:
        broken: list[str] = self.memory.get("broken", [])
        if key in broken:
            broken.remove(key)

    def _row_seen(self, key: str | None) -> None:
        """Its prompt's row may have been written before the transcript was followed: no later row is it."""
        for entry in self.memory.get("recent", []):
            entry[2] = entry[2] or (key is not None and entry[0] == key)

    def _newest(self) -> str | None:
        """The turn of the newest prompt, where its row was written before the transcript was followed."""
        recent = self.memory.get("recent", [])
        return self.memory.get("turn") or (recent[-1][0] if recent else None)


def answer(memory: Mapping[str, Any], turn: str | None) -> str:
    """The turn's answer as far as it is known: the transcript's last text behind the last tool, else what the
    glued prose has beyond the earlier rows' prose, else all of it; empty where there is nothing."""
    glued = str(memory.get("glued") or "")
    if turn is None or memory.get("at") != turn:
        return glued
    return str(memory.get("final") or "") or beyond(glued, str(memory.get("prose") or ""))


def beyond(glued: str, prose: str) -> str:
    """What follows this prose in the glued text, whatever white space stands in either; all of it where it
    doesn't begin so, or nothing follows."""
    at = 0
    for letter in prose:
        if letter.isspace():
            continue
        while at < len(glued) and glued[at].isspace():
            at += 1
        if at >= len(glued) or glued[at] != letter:
            return glued
        at += 1
    return glued[at:].strip() or glued


def remember(memory: dict[str, Any], name: str, what: Any) -> None:
    """Add to a short list."""
    memory[name] = [*memory.get(name, [])[1 - REMEMBERED :], what]


def _uuid(value: Any) -> str | None:
    return value if isinstance(value, str) and UUID.fullmatch(value) else None


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _transcript(path: Any, chat: str) -> str | None:
    """The path, if it is this chat's: a wrong one would speak for another conversation."""
    if isinstance(path, str) and Path(path).is_absolute() and Path(path).stem == chat:
        return path
    return None


def _content(row: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The row's texts, and whether it calls a tool."""
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [content], False
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if part.get("type") == "text"]
    tools = any(part.get("type") == "tool_use" for part in parts)
    return [text for text in texts if isinstance(text, str)], tools
