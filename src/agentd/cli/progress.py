"""Progress on standard error: one line that is rewritten on a terminal, else a line for each change."""

from __future__ import annotations

import os
import sys

from agentd.cli.face import note, plain

CLEAR = "\r\x1b[K"
UNWRAPPED = "\x1b[?7l{}\x1b[?7h"
"""The terminal itself cuts a long line at its edge, whatever the width of its characters."""


class Progress:
    """What the caller sees while a turn runs."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.live = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._shown = ""

    def show(self, text: str) -> None:
        """What is going on now."""
        text = plain(text)
        if self.quiet or not text or text == self._shown:
            return
        self._shown = text
        if self.live:
            sys.stderr.write(CLEAR + UNWRAPPED.format(text))
            sys.stderr.flush()
        else:
            note(text)

    def say(self, text: str) -> None:
        """Something that must be seen, and stays."""
        self.clear()
        note(text)

    def clear(self) -> None:
        """Take the live line away, so that something else can be printed."""
        if self.live and self._shown:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
        self._shown = ""
