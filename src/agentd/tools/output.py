"""A command's output: head and tail for the model, the whole on disk where that isn't everything."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

CAP = 128 * 1024
"""How much of an output the model is shown, in bytes: the first and the last half of it."""
KEPT_WHOLE = 1 << 30
"""How much of one output is kept on disk: a command that never stops talking shall not fill it."""
_DECODER = codecs.getincrementaldecoder("utf-8")
"""Leaves out a character that the cut went through."""
KEPT_FILES = 20
"""How many such files an agent's folder holds; the oldest go first. When one is begun, the others take no
more than KEPT_WHOLE together."""


class Output:
    """What a command has said so far. The file is made when the cap is passed, and only then."""

    def __init__(self, file: Path, cap: int = CAP, whole: int = KEPT_WHOLE) -> None:
        self.file = file
        self.size = 0
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
        return self.size > 2 * self._half

    def add(self, data: bytes) -> None:
        was_capped = self.capped
        self.size += len(data)
        if not self.capped:
            self._start += data
            return
        if not was_capped:
            self._write(bytes(self._start))
            self._tail = self._start[self._half :]
            del self._start[self._half :]
            if missing := self._half - len(self._start):
                self._start += data[:missing]
                self._tail += data[missing:]
            else:
                self._tail += data
        else:
            self._tail += data
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
        rest = memoryview(data)[: self._whole - self._written]
        while rest:
            written = os.write(self._descriptor, rest)
            self._written += written
            rest = rest[written:]

    def text(self) -> str:
        """What is shown: all of it, or head and tail with a line between them that says where the rest is."""
        if not self.capped:
            return self._start.decode("utf-8", "replace")
        head = _DECODER(errors="replace").decode(bytes(self._start))
        tail = bytes(self._tail[-self._half :])
        while tail[:1] and 0x80 <= tail[0] < 0xC0:
            tail = tail[1:]
        left_out = self.size - 2 * self._half
        kept = "the whole output is" if self._written == self.size else f"its first {self._written} bytes are"
        where = f"{kept} in {self.file}"
        if self.problem:
            where = f"{where if self._written else 'nothing is kept'} ({self.problem})"
        return f"{head}\n[… {left_out} bytes are left out here; {where} …]\n" + tail.decode(
            "utf-8", "replace"
        )

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def prune(folder: Path, keep: int, most: int) -> None:
    """Remove the oldest files of this folder, until they are at most `keep` and take at most `most` bytes."""
    found = sorted(((file.stat(), file) for file in folder.glob("*.out")), key=lambda each: each[0].st_mtime)
    left, taken = len(found), sum(status.st_size for status, _ in found)
    for status, file in found:
        if left <= keep and taken <= most:
            return
        file.unlink(missing_ok=True)
        left, taken = left - 1, taken - status.st_size
