"""The text of a prompt: on its way into the composer, and as the record shows it afterwards."""

from __future__ import annotations

import re
import unicodedata

from agentd.adapter import squeeze

_BLANK = "\u2800"
"""Looks like a blank, but isn't white space and isn't stripped as a hidden character: the CLI trims those
before it looks for a command (2.1.332 ran ` /help`, `\\n/help` and a `/help` behind a zero-width space)."""
_TRAPS = ("/", "!", "#", "&")
_COMMAND = re.compile(r"\s*/[\w:.-]*(?:\s|$)")
_WORDS = ("exit", "quit", ":q", ":q!", ":wq", ":wq!", ":wqa", ":qa")
_PASTED = re.compile(r"</?pasted_content(?: id=\"[^\"]*\")?>")


def guard(text: str, *, raw: bool) -> str:
    """A leading blank makes a command plain text; a trailing one keeps a last `\\` from turning Enter into
    a new line."""
    if raw:
        return text
    if _COMMAND.match(text) or text.strip().lower() in _WORDS:
        text = _BLANK + text.lstrip()
    elif text.startswith(_TRAPS):
        text = " " + text
    return text + " " if text.endswith("\\") else text


def unfold(text: str) -> str:
    """The prompt without the marks that stand around a long paste."""
    return _PASTED.sub("", text)


def same(sent: str, taken: str) -> bool:
    """Whether the record's prompt is the one that was sent."""
    return _plain(sent) == _plain(taken)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", squeeze(unfold(text)))
