"""The text of a prompt: on its way into the composer, and as the record shows it afterwards."""

from __future__ import annotations

import re
import unicodedata

from agentd.adapter import squeeze

_BLANK = "\u2800"
"""Looks like a blank, but isn't one to Pi, which trims a prompt before it looks for `!` and `/` (0.73.1,
0.87.1 and 1.6.0 ran ` !command` in a shell)."""
_TRAP = re.compile(r"!|/[^\s/]*(?:\s|$)")
"""`!` runs a shell. `/word` is a command, or a template or a skill of the user's; a path is none."""


def guard(text: str, *, raw: bool) -> str:
    """A leading blank makes a command plain text; a trailing one keeps a last `\\` from turning Enter into
    a new line. White space around a prompt is Pi's to trim, and is gone already at its beginning: a draft
    that begins with an empty line would look like a dialog."""
    if raw:
        return text
    text = text.lstrip()
    if _TRAP.match(text):
        text = _BLANK + text
    return text + " " if text.endswith("\\") else text


def same(sent: str, taken: str) -> bool:
    """Whether the record's prompt is the one that was sent: the composer turns tabs into blanks."""
    return _plain(sent) == _plain(taken)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", squeeze(text))
