"""What a request asks for: its target, its JSON, its words. What is wrong there is `Refused`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from agentd.api.refusals import Refused


def target(request: Request) -> str:
    return str(request.path_params["target"])


async def json_object(request: Request) -> dict[str, Any]:
    raw = await request.body()
    try:
        body = json.loads(raw or b"{}")
    except ValueError as error:
        raise Refused(400, "usage", f"the body is no JSON: {error}") from error
    if not isinstance(body, dict):
        raise Refused(400, "usage", "the body must be a JSON object")
    return body


def text(body: Mapping[str, Any], key: str) -> str | None:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise Refused(400, "usage", f"`{key}` must be a string")
    return value


def last_event(request: Request) -> int | None:
    """The last event that a client, who comes back, has seen."""
    text = request.headers.get("last-event-id")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused(400, "usage", f"`Last-Event-ID` must be an event's number, not {text!r}")
    return int(text)


def choice(body: Mapping[str, Any], key: str, known: list[str], default: str) -> str:
    value = body.get(key) or default
    if value not in known:
        raise Refused(400, "usage", f"`{key}` must be one of {', '.join(known)}")
    return str(value)
