"""OpenAI Responses: `POST /v1/responses`. Pure."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agentd.testing.model.dialect import Event, Json, error_type, fresh, text_of
from agentd.testing.model.script import Call, Conversation, Item, Text, Tool

_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 120,
}


class Responses:
    name = "responses"

    def read(self, body: Json) -> Conversation:
        given = body.get("input", ())
        entries: Sequence[Json] = [{"role": "user", "content": given}] if isinstance(given, str) else given
        tools = list(_tools(body.get("tools") or ()))
        for entry in entries:
            if entry.get("type") == "additional_tools":
                tools += _tools(entry.get("tools") or ())
        return Conversation(tuple(_items(entries)), tuple(tools))

    def whole(self, answer: Text | Call, body: Json) -> Json:
        return {**_response(body), "status": "completed", "output": [_output(answer)], "usage": _USAGE}

    def stream(self, answer: Text | Call, body: Json) -> Iterator[Event]:
        numbers = itertools.count()

        def event(kind: str, after: float = 0.0, **fields: Any) -> Event:
            return Event({"type": kind, "sequence_number": next(numbers), **fields}, kind, after)

        response, item = _response(body), _output(answer)
        started = {**item, "status": "in_progress"}
        yield event("response.created", response=response)
        if isinstance(answer, Text):
            part = {"type": "output_text", "text": "", "annotations": []}
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            yield event("response.output_item.added", output_index=0, item={**started, "content": []})
            yield event("response.content_part.added", **place, part=part)
            for chunk in answer.chunks:
                yield event("response.output_text.delta", chunk.after, **place, delta=chunk.text)
            if answer.cut:
                return
            yield event("response.output_text.done", **place, text=answer.whole)
            yield event("response.content_part.done", **place, part={**part, "text": answer.whole})
        else:
            yield event("response.output_item.added", output_index=0, item=started)
        yield event("response.output_item.done", output_index=0, item=item)
        completed = {**response, "status": "completed", "output": [item], "usage": _USAGE}
        yield event("response.completed", response=completed)

    def error(self, status: int, message: str) -> Json:
        return {"error": {"message": message, "type": error_type(status), "code": error_type(status)}}


def _items(entries: Iterable[Json]) -> Iterator[Item]:
    for entry in entries:
        kind = entry.get("type", "message")
        if kind == "message" and entry.get("role") == "user":
            yield Item("user", text_of(entry.get("content")))
        elif (kind == "message" and entry.get("role") == "assistant") or kind.endswith("_call"):
            yield Item("assistant")
        elif kind.endswith("_call_output"):
            output = entry.get("output")
            yield Item("tool", text_of(output.get("content") if isinstance(output, dict) else output))


def _tools(entries: Iterable[Json], namespace: str = "") -> Iterator[Tool]:
    for entry in entries:
        kind = entry.get("type", "function")
        name = str(entry.get("name") or kind)
        if kind == "namespace":
            yield from _tools(entry.get("tools") or (), name)
        else:
            yield Tool(name, namespace, kind == "custom", entry.get("parameters") or {})


def _response(body: Json) -> dict[str, Any]:
    return {
        "id": fresh("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": body.get("model", "scripted"),
        "status": "in_progress",
        "output": [],
    }


def _output(answer: Text | Call) -> dict[str, Any]:
    if isinstance(answer, Text):
        part = {"type": "output_text", "text": answer.whole, "annotations": []}
        return {
            "id": fresh("msg"),
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
    tool = answer.tool
    call = {"status": "completed", "call_id": fresh("call"), "name": tool.name}
    if tool.freeform:
        return {"id": fresh("ctc"), "type": "custom_tool_call", **call, "input": answer.wire}
    namespace = {"namespace": tool.namespace} if tool.namespace else {}
    return {"id": fresh("fc"), "type": "function_call", **call, **namespace, "arguments": answer.wire}
