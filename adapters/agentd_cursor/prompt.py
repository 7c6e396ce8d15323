"""The text of a prompt: on its way into the composer, and as hooks and transcript show it afterwards.

All of this is what others reported of the composer; nobody could try it here.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from agentd.adapter import squeeze

_TRAPS = ("/", "!", "&", "@", "?")
"""A command, the shell, a hand-off to the cloud, the file popup, the help (on an empty composer)."""
_WORDS = ("exit", "quit")
_BLANK = "\u2800"
"""Looks like a blank and isn't trimmed as one: a trimmed ` exit` would still be the word `exit`."""
_MENTION = re.compile(r"(?:^|\s)@\S*$")
_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>\s*$", re.DOTALL)


def guard(text: str, *, raw: bool) -> str:
    """A leading space defuses a first character; a trailing one keeps a last `\\` from turning Enter into a
    new line, and a last `@word` from opening the file popup, which would take the Enter."""
    if raw:
        return text
    if text.strip().lower() in _WORDS:
        text = _BLANK + text.lstrip()
    elif text.startswith(_TRAPS):
        text = " " + text
    return text + " " if text.endswith("\\") or _MENTION.search(text) else text


def same(sent: str, taken: str) -> bool:
    """Whether the prompt of a hook or a transcript is the one that was sent."""
    return plain(sent) == plain(taken)


def plain(text: str) -> str:
    """What is left of a prompt whatever was trimmed, wrapped or normalised."""
    return unicodedata.normalize("NFC", squeeze(text)).replace(_BLANK, "")


def digest(text: str) -> str:
    """A short name for a prompt."""
    return hashlib.blake2b(plain(text).encode("utf-8", "replace"), digest_size=8).hexdigest()


def query(text: str) -> str | None:
    """What a person typed, out of a transcript's user row; None where the row is the program's own."""
    if found := _QUERY.search(text):
        return found[1]
    return None if text.lstrip().startswith("<") else text
