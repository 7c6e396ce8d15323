"""The text of a prompt: on its way into the composer, and as the record shows it afterwards.

A bracketed paste is taken whole, and an Enter right behind it sends it, in all releases that were tried;
keys that are typed as quickly as a program types count as a paste too, and their Enter as a line's end.
Above 1,048,576 characters Codex refuses a prompt and leaves it in the composer.
"""

from __future__ import annotations

import re
import shlex
import unicodedata

from agentd.adapter import squeeze

_BLANK = "\u2800"
"""Looks like a blank, but isn't white space: up to 0.166 white space before a `!` is trimmed before Codex
looks for the mark of its shell mode."""
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp|tiff?|svg|avif|heic)['\"]?$", re.IGNORECASE)
_MENTION = re.compile(r"(?:^|\s)[@$]\S*$")


def guard(text: str, *, raw: bool) -> str:
    """What makes the text arrive as text.

    A leading blank: a `/` runs a command, a `!` a shell, and a lone path to an image is taken for the
    image. A trailing one: behind `@word` or `$word` a list of files or skills is open, and Enter would
    choose from it.
    """
    if raw:
        return text
    if text.lstrip().startswith("!") or _is_image(text):
        text = _BLANK + text.lstrip()
    elif text.startswith("/"):
        text = " " + text
    return text + " " if _MENTION.search(text) else text


def _is_image(text: str) -> bool:
    stripped = text.strip()
    if "\n" in stripped or not _IMAGE.search(stripped):
        return False
    try:
        return len(shlex.split(stripped)) == 1
    except ValueError:
        return False


def same(sent: str, taken: str) -> bool:
    """Whether the record's prompt is the one that was sent."""
    return _plain(sent) == _plain(taken)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", squeeze(text))
