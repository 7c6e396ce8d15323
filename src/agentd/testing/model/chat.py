"""OpenAI Chat Completions: `POST /v1/chat/completions`. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from agentd.testing.model.dialect import Event, Json, error_type, fresh, text_of
from agentd.testing.model.script import Call, Conversation, Item, Text, Tool

_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


class Chat:
    name = "chat"

    def read(self, body: Json) -> Conversation:
        items = (
            Item(message["role"], text_of(message.get("content")))
            for message in body.get("messages", ())
            if message.get("role") in ("user", "assistant", "tool")
        )
        functions = (tool.get("function") or {} for tool in body.get("tools") or ())
        tools = (
            Tool(str(function.get("name", "")), parameters=function.get("parameters") or {})
            for function in functions
        )
        return Conversation(tuple(items), tuple(tools))

    def whole(self, answer: Text | Call, body: Json) -> Json:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if isinstance(answer, Text):
            message["content"] = answer.whole
        else:
            message["tool_calls"] = [_tool_call(answer)]
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(answer)}
        return {**_completion(body), "object": "chat.completion", "choices": [choice], "usage": _USAGE}

    def stream(self, answer: Text | Call, body: Json) -> Iterator[Event]:
        completion = _completion(body)

        def event(delta: Json, after: float = 0.0, finish_reason: str | None = None) -> Event:
            choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            return Event({**completion, "choices": [choice]}, after=after)

        yield event({"role": "assistant", "content": ""})
        if isinstance(answer, Text):
            for chunk in answer.chunks:
                yield event({"content": chunk.text}, chunk.after)
            if answer.cut:
                return
        else:
            yield event({"tool_calls": [{"index": 0, **_tool_call(answer)}]})
        yield event({}, finish_reason=_finish_reason(answer))
        yield Event({**completion, "choices": [], "usage": _USAGE})
        yield Event("[DONE]")

    def error(self, status: int, message: str) -> Json:
        return {"error": {"message": message, "type": error_type(status), "code": error_type(status)}}


def _completion(body: Json) -> dict[str, Any]:
    return {
        "id": fresh("chatcmpl"),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": body.get("model", "scripted"),
    }


def _tool_call(call: Call) -> dict[str, Any]:
    function = {"name": call.tool.full_name, "arguments": call.wire}
    return {"id": fresh("call"), "type": "function", "function": function}


def _finish_reason(answer: Text | Call) -> str:
    return "stop" if isinstance(answer, Text) else "tool_calls"
