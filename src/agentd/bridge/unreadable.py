"""Requests that the SDK can't read, answered: it drops them, and their client would wait for ever.

Its parser takes less than JSON's grammar allows: not half a character (`"\\ud800"`), no number of thousands
of digits, no two hundred levels.
"""

from __future__ import annotations

import json

import mcp_types as types
from pydantic import ValidationError


def answer(error: Exception) -> types.JSONRPCError | None:
    """What the client of an unreadable line is told; None where it doesn't wait for an answer, or where
    nobody can tell."""
    if not isinstance(error, ValidationError):
        return None
    problem = error.errors()[0]
    if problem["type"] != "json_invalid":
        return None
    try:
        request = json.loads(problem["input"], parse_int=lambda n: int(n) if len(n) < 20 else None)
    except (ValueError, RecursionError):
        return None
    id = request.get("id") if isinstance(request, dict) and "method" in request else None
    if not isinstance(id, int | str) or isinstance(id, bool):
        return None
    said = f"{problem['msg']}; nothing was run"
    return types.JSONRPCError(
        jsonrpc="2.0", id=id, error=types.ErrorData(code=types.PARSE_ERROR, message=said)
    )
