"""A command's output: head and tail for the model, the whole on disk where that isn't everything."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path

CAP = 128 * 1024
"""How much of an output the model is shown, in bytes of what it is shown: the first and the last half."""
KEPT_WHOLE = 1 << 30
"""How much of one output is kept on disk: a command that never stops talking shall not fill it."""
_DECODER = codecs.getincrementaldecoder("utf-8")
"""Leaves out a character that the cut went through."""
_NO_TEXT = re.compile("[\udc80-\udcff]")
"""What `surrogateescape` makes of each byte that is no UTF-8."""
_MARK = "\N{REPLACEMENT CHARACTER}".encode()
"""What is shown in its place."""
_TORN = re.compile(rb"\A[\x80-\xbf]{1,3}(?![\x80-\xbf])")
"""The rest of a character that the cut went through."""
_being_written: set[Path] = set()
"""The files of calls that run."""
KEPT_FILES = 20
"""How many such files an agent's folder holds; the oldest go first. When one is begun, the others take no
more than KEPT_WHOLE together."""


class Output:
    """What a command has said so far. The file is made when the cap is passed, and only then."""

    def __init__(self, file: Path, cap: int = CAP, whole: int = KEPT_WHOLE) -> None:
        self.file = file
        self.size = 0
        self._shown = 0
        """How many bytes it takes to show at most, counted until that is more than the cap."""
        self._decoder = _DECODER("surrogateescape")
        self._half = cap // 2
        self._whole = whole
        self._start = bytearray()
        """Everything up to the cap, then its first half."""
        self._tail = bytearray()
        self._descriptor: int | None = None
        self._written = 0
        self.problem: str | None = None
        """Why the file isn't written any further."""

    def __repr__(self) -> str:
        return f"<Output: {self.size} bytes{', on disk too' if self.capped else ''}>"

    @property
    def capped(self) -> bool:
        """Whether it is more than is shown."""
        half_a_character = self._decoder.getstate()[0]
        return max(self.size, self._shown + len(_MARK) * len(half_a_character)) > 2 * self._half

    def add(self, data: bytes) -> None:
        was_capped = self.capped
        self.size += len(data)
        if not was_capped:
            text = self._decoder.decode(data)
            self._shown += len(text.encode("utf-8", "surrogatepass"))
        if not self.capped:
            self._start += data
            return
        if not was_capped:
            self._write(bytes(self._start))
            self._tail = self._start[self._half :]
            del self._start[self._half :]
        missing = self._half - len(self._start)
        self._start += data[:missing]
        self._tail += data[missing:]
        self._write(data)
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    def _write(self, data: bytes) -> None:
        """What the disk doesn't take is no reason to end a command."""
        if self.problem is None:
            try:
                self._append(data)
            except OSError as error:
                self.problem = error.strerror or str(error)

    def _append(self, data: bytes) -> None:
        if self._descriptor is None:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            prune(self.file.parent, KEPT_FILES - 1, self._whole)
            self._descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            _being_written.add(self.file)
        rest = memoryview(data)[: self._whole - self._written]
        while rest:
            written = os.write(self._descriptor, rest)
            self._written += written
            rest = rest[written:]

    def text(self) -> str:
        """What is shown: all of it, or head and tail with a line between them that says where the rest is."""
        if self.size <= 2 * self._half:
            whole = _readable((self._start + self._tail).decode("utf-8", "surrogateescape"))
            if len(whole.encode()) <= 2 * self._half:
                return whole
        head, first = _head(self._start, self._half)
        # Where the tail is short, the head's rest is a part of it.
        rest = self._start[first:] + self._tail
        tail, end = _tail(rest[-self._half :], self._half)
        left_out = self.size - first - end
        kept = "the whole output is" if self._written == self.size else f"its first {self._written} bytes are"
        where = f"{kept} in {self.file}"
        if self.problem:
            where = f"{where if self._written else 'nothing is kept'} ({self.problem})"
        return f"{head}\n[… {left_out} bytes are left out here; {where} …]\n{tail}"

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            _being_written.discard(self.file)


def _head(data: bytes | bytearray, most: int) -> tuple[str, int]:
    """As much of the beginning as can be shown in so many bytes, and how many bytes of the data that is."""
    text = _DECODER("surrogateescape").decode(bytes(data))
    shown = _readable(text).encode()[:most].decode("utf-8", "ignore")
    return shown, _size(text[: len(shown)])


def _tail(data: bytes | bytearray, most: int) -> tuple[str, int]:
    """The same of the end."""
    text = _TORN.sub(b"", data).decode("utf-8", "surrogateescape")
    shown = _readable(text).encode()[-most:].decode("utf-8", "ignore")
    return shown, _size(text[len(text) - len(shown) :])


def last(data: bytes | bytearray, most: int) -> str:
    """As much of the end as can be shown in so many bytes."""
    return _tail(data, most)[0]


def _readable(text: str) -> str:
    return _NO_TEXT.sub(_MARK.decode(), text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def prune(folder: Path, keep: int, most: int) -> None:
    """Remove the oldest files of this folder, until they are at most `keep` and take at most `most` bytes.
    Those that a call still writes stay."""
    found = sorted(((file.stat(), file) for file in folder.glob("*.out")), key=lambda each: each[0].st_mtime)
    left, taken = len(found), sum(status.st_size for status, _ in found)
    for status, file in found:
        if left <= keep and taken <= most:
            return
        if file in _being_written:
            continue
        file.unlink(missing_ok=True)
        left, taken = left - 1, taken - status.st_size
