"""A shell command as it runs: its own process group, its output, its end."""

from __future__ import annotations

import os
import signal
from subprocess import DEVNULL, PIPE, STDOUT, Popen

KEPT = 256 * 1024
"""How much output is kept: the beginning."""


class Job:
    """A command of the user's or of a turn. Read it when `fileno` is readable and when a child ended."""

    def __init__(self, command: str) -> None:
        self.command = command
        self._chunks: list[bytes] = []
        self._size = 0
        self._process = Popen(
            ["/bin/sh", "-c", command], stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, process_group=0
        )
        assert self._process.stdout is not None
        self._out = self._process.stdout
        self._open = True
        os.set_blocking(self._out.fileno(), False)

    def fileno(self) -> int:
        return self._out.fileno()

    @property
    def readable(self) -> bool:
        """Whether more output may come."""
        return self._open

    def read(self) -> None:
        """Take what is there; the end of the output closes it."""
        while self._open:
            try:
                data = os.read(self._out.fileno(), 65536)
            except BlockingIOError:
                return
            if not data:
                self._open = False
            elif self._size < KEPT:
                self._chunks.append(data[: KEPT - self._size])
                self._size += len(data)

    @property
    def ended(self) -> bool:
        """Whether the command itself is over (something it left behind may still hold the output)."""
        return self._process.poll() is not None

    @property
    def status(self) -> int:
        code = self._process.returncode or 0
        return 128 - code if code < 0 else code

    def output(self) -> str:
        text = b"".join(self._chunks).decode("utf-8", "replace").rstrip("\n")
        return text if self._size <= KEPT else f"{text}\n… ({self._size - KEPT} more bytes)"

    def close(self) -> None:
        """End it, with everything in its process group."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended between the two lines
            self._process.wait()
        self._open = False
        self._out.close()
