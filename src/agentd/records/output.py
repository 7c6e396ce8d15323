"""What a program tells its terminal beside the picture: the operating system commands in its raw output.

tmux takes them out, so they are read from a copy of the pane's output (`pipe-pane`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_OSC = re.compile(rb"\x1b\](\d{1,5});([^\x07\x1b]{0,4096})(?:\x07|\x1b\\)")
_UNFINISHED = 4200
"""More than the longest command that is looked for."""
_CHUNK = 1 << 20


@dataclass
class OutputTail:
    """A position in the copy of a pane's output."""

    path: Path
    offset: int = 0
    _rest: bytes = field(default=b"", repr=False)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The commands that are complete by now."""
        try:
            file = self.path.open("rb")
        except OSError:
            return
        with file:
            if os.fstat(file.fileno()).st_size < self.offset:
                self.offset, self._rest = 0, b""
            file.seek(self.offset)
            while chunk := file.read(_CHUNK):
                self.offset += len(chunk)
                data, end = self._rest + chunk, 0
                for match in _OSC.finditer(data):
                    end = match.end()
                    yield {"osc": int(match[1]), "text": match[2].decode("utf-8", "replace")}
                start = data.rfind(b"\x1b]", max(end, len(data) - _UNFINISHED))
                self._rest = data[start:] if start >= 0 else data[-1:]

    def empty(self) -> None:
        """Throw away what was read. Its writer appends, so what comes next begins at the new end."""
        with suppress(OSError):
            os.truncate(self.path, 0)
            self.offset = 0

    def to_json(self) -> dict[str, Any]:
        return {"path": str(self.path), "offset": self.offset, "output": True}
