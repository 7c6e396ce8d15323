"""The complete lines of a file that grows, from where the last reading stopped.

A half-written line waits for its end, however long it is; a file that was truncated or replaced is
read from its beginning; a line that is no JSON object is skipped and counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHUNK = 1 << 20


@dataclass
class Tail:
    """A position in a file. `offset` is that of the first byte of the first line not yet returned."""

    path: Path
    offset: int = 0
    inode: int | None = None
    skipped: int = 0
    _rest: bytes = field(default=b"", repr=False)
    _read_to: int = field(default=0, repr=False)
    _reading: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self._read_to = self.offset

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows that are complete by now."""
        for line in self._lines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                yield row
            elif line.strip():
                self.skipped += 1

    def _lines(self) -> Iterator[bytes]:
        try:
            file = self.path.open("rb")
        except OSError:
            return
        if self._reading:
            # The last reading was broken off: what it had not returned is read again.
            self._read_to, self._rest = self.offset, b""
        self._reading = True
        with file:
            status = os.fstat(file.fileno())
            if (self.inode is not None and status.st_ino != self.inode) or status.st_size < self._read_to:
                self.offset = self._read_to = 0
                self._rest = b""
            self.inode = status.st_ino
            file.seek(self._read_to)
            while chunk := file.read(CHUNK):
                self._read_to += len(chunk)
                if b"\n" not in chunk:
                    self._rest += chunk
                    continue
                *lines, self._rest = (self._rest + chunk).split(b"\n")
                for line in lines:
                    self.offset += len(line) + 1
                    yield line
        self._reading = False

    @classmethod
    def at_end(cls, path: Path) -> Tail:
        """Only what is written from now on."""
        try:
            status = path.stat()
        except OSError:
            return cls(path)
        return cls(path, status.st_size, status.st_ino)

    def to_json(self) -> dict[str, Any]:
        return {"path": str(self.path), "offset": self.offset, "inode": self.inode}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Tail:
        return cls(Path(data["path"]), int(data["offset"]), data.get("inode"))
