"""The draft: what was typed and pasted, and how it is shown. Pure."""

from __future__ import annotations

from typing import NamedTuple

LONG_LINES = 10
LONG_TEXT = 2000
_SHOWN = 4000


class _Piece(NamedTuple):
    text: str
    label: str | None


class Composer:
    """Keeps every byte of a paste; a long one is shown by a label."""

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        self._pastes = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    @property
    def text(self) -> str:
        """The draft as it would be submitted."""
        return "".join(piece.text for piece in self._pieces)

    @property
    def shown(self) -> str:
        """The draft as the screen shows it; of a very long one the end."""
        return "".join(piece.label or piece.text for piece in self._pieces[-_SHOWN:])

    def type(self, text: str) -> None:
        self._pieces.extend(_Piece(letter, None) for letter in text)

    def paste(self, text: str) -> None:
        if not text:
            return
        lines = text.count("\n")
        if lines < LONG_LINES and len(text) <= LONG_TEXT:
            self.type(text)
            return
        self._pastes += 1
        more = f" +{lines} lines" if lines else ""
        self._pieces.append(_Piece(text, f"[Pasted text #{self._pastes}{more}]"))

    def backspace(self) -> None:
        """Takes away one letter, or a whole labelled paste."""
        if self._pieces:
            self._pieces.pop()

    def clear(self) -> None:
        self._pieces.clear()
        self._pastes = 0


def shown_as(text: str) -> str:
    """How the transcript shows a prompt: like the composer did."""
    composer = Composer()
    composer.paste(text)
    return composer.shown
