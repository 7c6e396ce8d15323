"""What a dialect is: a request made a conversation, an answer made JSON or SSE events. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agentd.testing.model.script import Call, Conversation, Text

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """One server-sent event, due `after` seconds. A string goes out as it is."""

    data: Json | str
    name: str = ""
    after: float = 0.0


class Dialect(Protocol):
    name: str

    def read(self, body: Json) -> Conversation: ...

    def whole(self, answer: Text | Call, body: Json) -> Json:
        """The answer to a request that doesn't stream."""

    def stream(self, answer: Text | Call, body: Json) -> Iterator[Event]:
        """The answer's events; those of a cut text end where the connection is to break."""

    def error(self, status: int, message: str) -> Json: ...


def fresh(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:20]}"


def text_of(content: object) -> str:
    """The text in a message's content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def error_type(status: int) -> str:
    return {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        429: "rate_limit_error",
        529: "overloaded_error",
    }.get(status, "api_error")
