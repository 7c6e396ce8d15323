"""The terminal: raw mode, its size, and drawing inline with no alternate screen.

The painter keeps a frame at the bottom (composer or dialog) and lets finished lines scroll away above
it. It writes only what changed, in one write.
"""

from __future__ import annotations

import os
import termios
from collections.abc import Sequence
from types import TracebackType

BRACKETED_PASTE = "\x1b[?2004h"
BRACKETED_PASTE_OFF = "\x1b[?2004l"
HIDE_CURSOR = "\x1b[?25l"
SHOW_CURSOR = "\x1b[?25h"


class Terminal:
    """Raw mode while it is entered; the mode before comes back at exit."""

    def __init__(self, fd_in: int = 0, fd_out: int = 1) -> None:
        self.fd_in = fd_in
        self.fd_out = fd_out
        self._before: list[object] | None = None

    def __enter__(self) -> Terminal:
        self._before = termios.tcgetattr(self.fd_in)
        mode = termios.tcgetattr(self.fd_in)
        mode[0] &= ~(termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP | termios.IXON)
        mode[2] = mode[2] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
        mode[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        mode[6][termios.VMIN] = 1
        mode[6][termios.VTIME] = 0
        termios.tcsetattr(self.fd_in, termios.TCSAFLUSH, mode)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def restore(self) -> None:
        if self._before is None:
            return
        before, self._before = self._before, None
        try:
            self.write(BRACKETED_PASTE_OFF + SHOW_CURSOR)
            termios.tcsetattr(self.fd_in, termios.TCSADRAIN, before)  # type: ignore[arg-type]
        except (OSError, termios.error):
            pass  # the terminal is gone

    def read(self) -> bytes:
        """What was typed; empty at the terminal's end."""
        try:
            return os.read(self.fd_in, 65536)
        except OSError:
            return b""

    def write(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "replace"))
        try:
            while data:
                data = data[os.write(self.fd_out, data) :]
        except OSError:
            pass  # the terminal is gone: the next read says so

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        try:
            columns, rows = os.get_terminal_size(self.fd_out)
        except OSError:
            return 80, 24
        return columns or 80, rows or 24


class Painter:
    """Draws the frame at the bottom. No line may be wider than the terminal, and the last line of a
    frame must be narrower."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._shown: list[str] = []

    def paint(self, frame: Sequence[str], above: Sequence[str] = ()) -> None:
        """Show this frame, below these new lines of the transcript."""
        new = list(frame)
        old = self._shown
        if not above and new == old:
            return
        if above or len(new) != len(old):
            out = self._to_top() + "".join(f"\x1b[2K{line}\r\n" for line in above)
            out += "\r\n".join(f"\x1b[2K{line}" for line in new) + "\x1b[J"
        else:
            out = self._to_top()
            for index, line in enumerate(new):
                if index:
                    out += "\r\n"
                if line != old[index]:
                    out += f"\x1b[2K{line}"
        self._shown = new
        self._terminal.write(out)

    def repaint(self, frame: Sequence[str], above: Sequence[str], rows: int) -> None:
        """After a change of size, where nobody knows what the terminal made of the old lines: wipe the
        screen row by row (that leaves the scrollback alone) and draw what fits."""
        out = "".join(f"\x1b[{row};1H\x1b[2K" for row in range(1, rows + 1)) + "\x1b[H"
        self._terminal.write(out)
        self._shown = []
        room = max(0, rows - len(frame))
        self.paint(frame, above[-room:] if room else ())

    def finish(self, lines: Sequence[str]) -> None:
        """Replace the frame by last words."""
        out = self._to_top() + "\x1b[J" + "".join(f"{line}\r\n" for line in lines)
        self._shown = []
        self._terminal.write(out)

    def _to_top(self) -> str:
        up = len(self._shown) - 1
        return f"\r\x1b[{up}A" if up > 0 else "\r"
