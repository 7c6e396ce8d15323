"""Bytes from a terminal in raw mode, as keys, typed text and pastes. Pure."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

PASTE_END = b"\x1b[201~"

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)?")

_NAMES = {
    b"\x03": "ctrl-c",
    b"\x04": "ctrl-d",
    b"\x08": "backspace",
    b"\x0a": "newline",
    b"\x0d": "enter",
    b"\x15": "ctrl-u",
    b"\x7f": "backspace",
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
}


class Key(NamedTuple):
    """A key that is no text."""

    name: str


class Typed(NamedTuple):
    """Text as it comes from a keyboard."""

    text: str


class Paste(NamedTuple):
    """The whole of a bracketed paste."""

    text: str


Press = Key | Typed | Paste


class Decoder:
    """Takes bytes as they come: a sequence, a paste's end or a letter may be split over two reads.

    A lone escape byte is either the Escape key or the start of a sequence. It stays `pending` until
    the next bytes, or until `flush` says that none came.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._paste: list[bytes] | None = None
        self._letters = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def pending(self) -> bool:
        return self._paste is None and bool(self._rest)

    def feed(self, data: bytes) -> list[Press]:
        """What these bytes complete."""
        found: list[Press] = []
        data = self._rest + data
        self._rest = b""
        while data:
            data = self._pasted(data, found) if self._paste is not None else self._pressed(data, found)
        return found

    def flush(self) -> list[Press]:
        """The pending escape was the Escape key."""
        if not self.pending:
            return []
        rest, self._rest = self._rest[1:], b""
        found: list[Press] = [Key("escape")]
        self._text(rest, found)
        return found

    def _pasted(self, data: bytes, found: list[Press]) -> bytes:
        """Inside a paste; the end of `data` may be the first half of the closing sequence."""
        assert self._paste is not None
        at = data.find(PASTE_END)
        if at < 0:
            keep = len(PASTE_END) - 1
            self._paste.append(data[:-keep])
            self._rest = data[-keep:]
            return b""
        self._paste.append(data[:at])
        text = b"".join(self._paste).decode("utf-8", "replace")
        self._paste = None
        if "\r" in text:  # a terminal that pastes carriage returns means line ends
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        found.append(Paste(text))
        return data[at + len(PASTE_END) :]

    def _pressed(self, data: bytes, found: list[Press]) -> bytes:
        """Outside of a paste: text up to the next control byte, then what that byte begins."""
        control = _CONTROL.search(data)
        if control is None:
            self._text(data, found)
            return b""
        self._text(data[: control.start()], found)
        data = data[control.start() :]
        self._end_of_text(found)
        if data[:1] != b"\x1b":
            name = _NAMES.get(data[:1])
            if name:
                found.append(Key(name))
            return data[1:]
        sequence = _SEQUENCE.match(data)
        if sequence:
            if sequence[0] == b"\x1b[200~":
                self._paste = []
            elif sequence[0] in _NAMES:
                found.append(Key(_NAMES[sequence[0]]))
            return data[sequence.end() :]
        if _UNFINISHED.fullmatch(data):
            self._rest = data
            return b""
        if data[1:2] == b"\r":
            found.append(Key("newline"))  # Alt-Enter
            return data[2:]
        found.append(Key("escape"))
        return data[1:]

    def _text(self, data: bytes, found: list[Press]) -> None:
        text = self._letters.decode(data)
        if text:
            found.append(Typed(text))

    def _end_of_text(self, found: list[Press]) -> None:
        """A letter that a control byte cut off is broken."""
        text = self._letters.decode(b"", final=True)
        self._letters.reset()
        if text:
            found.append(Typed(text))
