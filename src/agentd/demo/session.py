"""A session's beginning: a new one, or one taken up again from its record."""

from __future__ import annotations

import os
from typing import NamedTuple

from agentd.demo.record import Record


class Earlier(NamedTuple):
    """What a resumed session remembers."""

    turns: int
    prompt: str
    reply: str


def new_session_id() -> str:
    """A random UUID (version 4), without the cost of importing `uuid`."""
    data = bytearray(os.urandom(16))
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def recall(record: Record, session_id: str) -> Earlier | None:
    """What the record knows of this session; None where it doesn't know it."""
    known = False
    turns, prompt, reply = 0, "", ""
    for row in record.rows():
        match row:
            case {"type": "session", "session_id": who}:
                known = known or who == session_id
            case {"type": "user", "text": str(text), "origin": "human"}:
                turns, prompt, reply = turns + 1, text, ""
            case {"type": "assistant", "text": str(text), "final": True}:
                reply = text
    return Earlier(turns, prompt, reply) if known else None
