"""The complete lines of a file that grows, from where the last reading stopped.

A half-written line waits for its end; a file that was truncated or replaced is read from its beginning,
unless it is a copy that holds what was read already. What can't be read is skipped, and told as a problem
that names file and position.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

CHUNK = 1 << 20
LONGEST = 64 << 20
"""A longer line is skipped, since it would have to be held in memory. The longest seen in a record has a few
MiB: a tool's output."""
MARK = 64
"""So many bytes before the position tell whether it is the same file still: one that was truncated and grew
again, or was replaced by a copy. Rows end in ids and times."""
GLUED_TRIES = 64
GLUED_LONGEST = 1 << 20
"""How hard a row is looked for that was written behind half a row (whose writer was killed)."""


@dataclass
class Tail:
    """A position in a file. `offset` is that of the first byte of the first line not yet returned."""

    path: Path
    offset: int = 0
    inode: int | None = None
    mark: bytes = b""
    """The last bytes before `offset`."""
    skipped: int = 0
    problems: list[str] = field(default_factory=list, repr=False)
    """What is to be told; whoever tells it empties the list."""
    _rest: bytearray = field(default_factory=bytearray, repr=False)
    _read_to: int = field(default=0, repr=False)
    _reading: bool = field(default=False, repr=False)
    _skipping: bool = field(default=False, repr=False)
    """The line at `offset` is too long: its end is looked for."""
    _missing: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self._read_to = self.offset

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows that are complete by now."""
        for start, line in self._lines():
            row = _row(line)
            if row is not None:
                yield row
                continue
            text = line.strip(b"\0 \t\r")
            if not text:
                continue
            self._skip(start, "a line that is no JSON object")
            if (row := _glued(text)) is not None:
                yield row

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        try:
            file = _open(self.path)
        except OSError as error:
            if self.offset and not self._missing:
                self._missing = True
                self.problems.append(f"{self.path} can't be read on at byte {self.offset}: {error.strerror}")
            return
        self._missing = False
        if self._reading:
            # The last reading was broken off: what it had not returned is read again.
            self._go_to(self.offset)
        self._reading = True
        with file:
            try:
                self._find_place(file)
                yield from self._read(file)
            except OSError as error:
                self.problems.append(f"{self.path} can't be read at byte {self._read_to}: {error.strerror}")
        self._reading = False

    def _read(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        while chunk := file.read(CHUNK):
            self._read_to += len(chunk)
            start = 0
            while (end := chunk.find(b"\n", start)) >= 0:
                self._rest += chunk[start:end]
                line, first, skipped = bytes(self._rest), self.offset, self._skipping
                self._rest.clear()
                self.offset = self._read_to - len(chunk) + end + 1
                self.mark = (self.mark + line[-MARK:] + b"\n")[-MARK:] if not skipped else b""
                self._skipping = False
                start = end + 1
                if not skipped:
                    yield first, line
            if not self._skipping:
                self._rest += chunk[start:]
            if len(self._rest) > LONGEST:
                self._skip(self.offset, f"a line of more than {LONGEST >> 20} MiB")
                self._skipping = True
                self._rest.clear()

    def _find_place(self, file: BinaryIO) -> None:
        """Go to where the last reading stopped, if this is the file that was read."""
        status = os.fstat(file.fileno())
        replaced = self.inode is not None and status.st_ino != self.inode
        self.inode = status.st_ino
        if self.offset and (status.st_size < self.offset or not self._same(file, known=not replaced)):
            what = "replaced" if replaced else "truncated or written anew"
            self.problems.append(
                f"{self.path} was {what} (it had been read up to byte {self.offset}): read from its beginning"
            )
            self._go_to(0)
            self.mark = b""
        elif replaced or status.st_size < self._read_to:
            self._go_to(self.offset)
        file.seek(self._read_to)

    def _same(self, file: BinaryIO, *, known: bool) -> bool:
        """Whether the bytes before the position are those that were read there, or a hole (what was read
        was given back). `known`: what to believe where they aren't known."""
        if not self.mark:
            return known
        file.seek(self.offset - len(self.mark))
        before = file.read(len(self.mark))
        return before == self.mark or not before.strip(b"\0")

    def _go_to(self, offset: int) -> None:
        self.offset = self._read_to = offset
        self._rest.clear()
        self._skipping = False

    def _skip(self, position: int, what: str) -> None:
        """Tell of the first line that is skipped, the tenth, the hundredth: a file may hold nothing else."""
        self.skipped += 1
        if self.skipped in (1, 10, 100, 1000, 10_000):
            times = f" ({self.skipped} by now)" if self.skipped > 1 else ""
            self.problems.append(f"{self.path} has {what} at byte {position}: skipped{times}")

    @classmethod
    def at_end(cls, path: Path) -> Tail:
        """Only what is written from now on."""
        try:
            with _open(path) as file:
                status = os.fstat(file.fileno())
                file.seek(max(0, status.st_size - MARK))
                return cls(path, status.st_size, status.st_ino, file.read(min(MARK, status.st_size)))
        except OSError:
            return cls(path)

    def to_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path), "offset": self.offset, "inode": self.inode, "mark": self.mark.hex(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Tail:
        mark = bytes.fromhex(data.get("mark") or "")
        return cls(Path(data["path"]), int(data["offset"]), data.get("inode"), mark)


def _open(path: Path) -> BinaryIO:
    """Open a regular file; a named pipe of that name would never answer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no regular file")
    return os.fdopen(descriptor, "rb")


def _row(line: bytes) -> dict[str, Any] | None:
    """The line's JSON object. Zero bytes around it, which a crash of the machine leaves, don't hide it; bytes
    that are no UTF-8 don't, either."""
    text = line.strip(b"\0 \t\r").decode("utf-8", "replace")
    if not text.startswith("{"):
        return None
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if "\\ud" in text or "\\uD" in text:
        row = _whole(row)
    return row if isinstance(row, dict) else None


def _whole(value: Any) -> Any:
    """Half a character (JavaScript cuts texts through them) can't be stored or sent: it is replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def _glued(line: bytes) -> dict[str, Any] | None:
    """The whole row behind half a row: its writer was killed, or the disk was full, and the next row was
    written right behind it. Within a string of the half row no `{"` can stand, but `{\\"`."""
    start = 0
    for _ in range(GLUED_TRIES if len(line) <= GLUED_LONGEST else 0):
        start = line.find(b'{"', start + 1)
        if start < 0:
            break
        if (row := _row(line[start:])) is not None:
            return row
    return None
