"""Anthropic Messages: `POST /v1/messages`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentd.testing.model.dialect import Event, Json, error_type, fresh, text_of
from agentd.testing.model.script import Call, Conversation, Item, Text, Tool

_USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 20,
}

# Claude Code hands on what a user typed during a turn inside a text of its own.
_STEERED = re.compile(
    r"(?:<system-reminder>\s*)?The user sent a new message while you were working:\n"
    r"(?P<text>.*?)\n\n(?:This is how Claude Code|IMPORTANT:).*?(?:</system-reminder>|\Z)",
    re.DOTALL,
)


class Anthropic:
    name = "anthropic"

    def read(self, body: Json) -> Conversation:
        items = tuple(item for message in body.get("messages", ()) for item in _items(message))
        tools = (
            Tool(str(tool.get("name", "")), parameters=tool.get("input_schema") or {})
            for tool in body.get("tools") or ()
        )
        return Conversation(items, tuple(tools))

    def whole(self, answer: Text | Call, body: Json) -> Json:
        if isinstance(answer, Text):
            block: dict[str, Any] = {"type": "text", "text": answer.whole}
        else:
            block = {**_tool_use(answer), "input": answer.arguments}
        return {**_message(body), "content": [block], "stop_reason": _stop_reason(answer)}

    def stream(self, answer: Text | Call, body: Json) -> Iterator[Event]:
        yield _event("message_start", message=_message(body))
        if isinstance(answer, Text):
            yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            for chunk in answer.chunks:
                delta = {"type": "text_delta", "text": chunk.text}
                yield _event("content_block_delta", chunk.after, index=0, delta=delta)
            if answer.cut:
                return
        else:
            yield _event("content_block_start", index=0, content_block={**_tool_use(answer), "input": {}})
            delta = {"type": "input_json_delta", "partial_json": answer.wire}
            yield _event("content_block_delta", index=0, delta=delta)
        yield _event("content_block_stop", index=0)
        stop = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
        yield _event("message_delta", delta=stop, usage={"output_tokens": 20})
        yield _event("message_stop")

    def error(self, status: int, message: str) -> Json:
        return {"type": "error", "error": {"type": error_type(status), "message": message}}


def _items(message: Json) -> Iterator[Item]:
    if message.get("role") == "assistant":
        yield Item("assistant")
        return
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
    typed = message.get("role") == "user"  # else a system text in the middle, which may quote the user
    for block in blocks:
        text = text_of(block.get("content")) if block.get("type") == "tool_result" else block.get("text", "")
        own = _STEERED.sub("", text)
        if block.get("type") == "tool_result":
            yield Item("tool", own)
        elif typed and own.strip():
            yield Item("user", own)
        for match in _STEERED.finditer(text):
            yield Item("user", match["text"])


def _message(body: Json) -> dict[str, Any]:
    return {
        "id": fresh("msg"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _tool_use(call: Call) -> dict[str, Any]:
    return {"type": "tool_use", "id": fresh("toolu"), "name": call.tool.full_name}


def _stop_reason(answer: Text | Call) -> str:
    return "end_turn" if isinstance(answer, Text) else "tool_use"


def _event(kind: str, after: float = 0.0, **fields: Any) -> Event:
    return Event({"type": kind, **fields}, kind, after)
