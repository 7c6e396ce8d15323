"""What has been shown, and how it reaches the screen: finished entries scroll away above the frame."""

from __future__ import annotations

import os
from collections import deque

from agentd.demo import view
from agentd.demo.composer import shown_as
from agentd.demo.options import VERSION
from agentd.demo.terminal import Painter

REMEMBERED = 500
"""How many entries can be drawn again after a change of size."""


class Transcript:
    """Entries by kind (see `view.entry`), drawn at the next `draw`."""

    def __init__(self, painter: Painter, model: str) -> None:
        self._painter = painter
        self._model = model
        self._entries: deque[tuple[str, str]] = deque(maxlen=REMEMBERED)
        self._new: list[tuple[str, str]] = []

    def show(self, kind: str, text: str) -> None:
        self._new.append((kind, shown_as(text) if kind == "prompt" else text[: view.SHOWN_TEXT + 1]))

    def draw(self, frame: list[str], width: int) -> None:
        """The new entries above this frame."""
        above = [line for kind, text in self._new for line in self._lines(kind, text, width)]
        self._remember()
        self._painter.paint(frame, above)

    def redraw(self, frame: list[str], width: int, height: int) -> None:
        """Everything that fits, after a change of size."""
        self._remember()
        above: list[str] = []
        for kind, text in reversed(self._entries):
            above[:0] = self._lines(kind, text, width)
            if len(above) >= height:
                break
        self._painter.repaint(frame, above, height)

    def _remember(self) -> None:
        self._entries.extend(self._new)
        self._new.clear()

    def _lines(self, kind: str, text: str, width: int) -> list[str]:
        if kind != "banner":
            return view.entry(kind, text, width)
        home = os.path.expanduser("~")  # noqa: PTH111
        folder = os.getcwd()  # noqa: PTH109
        if folder.startswith(home + "/"):
            folder = "~" + folder[len(home) :]
        return view.banner(VERSION, self._model, folder, width)
