"""Hook programs: one process an event, side by side, so they may end in any order."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from subprocess import DEVNULL, PIPE, Popen

_PIPE_HOLDS = 16 * 1024
"""What a fresh pipe takes without a reader on every system."""


class Hooks:
    """Runs the hook program for each event and never waits for it, except at the end."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = list(argv)
        self._running: list[Popen[bytes]] = []

    def fire(self, event: Mapping[str, object]) -> None:
        if not self._argv:
            return
        data = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
        try:
            if len(data) <= _PIPE_HOLDS:
                self._fire_pipe(data)
            else:
                self._fire_file(data)
        except OSError:
            return  # a hook that can't be run is the user's affair, and no reason to stop

    def _fire_pipe(self, data: bytes) -> None:
        hook = Popen(self._argv, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, process_group=0)
        self._running.append(hook)
        assert hook.stdin is not None
        try:
            hook.stdin.write(data)
            hook.stdin.close()
        except BrokenPipeError:
            pass  # it ended without reading

    def _fire_file(self, data: bytes) -> None:
        """A long event: a pipe would make us wait until the program has started and read it."""
        from tempfile import TemporaryFile

        with TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            self._running.append(
                Popen(self._argv, stdin=file, stdout=DEVNULL, stderr=DEVNULL, process_group=0)
            )

    def reap(self) -> None:
        """Forget the hooks that have ended."""
        self._running = [hook for hook in self._running if hook.poll() is None]

    def wait(self, seconds: float) -> None:
        """Give the running hooks this long to end: a turn's `Stop` must not be lost at exit."""
        end = time.monotonic() + seconds
        for hook in self._running:
            left = end - time.monotonic()
            if left <= 0:
                return
            try:
                hook.wait(left)
            except Exception:
                return


def child_in_its_own_session() -> int:
    """A long-lived child as workers and MCP servers are: it doesn't end with us. Returns its pid."""
    command = ["sleep", "86400"]
    devnull = os.open(os.devnull, os.O_RDWR)
    child = Popen(command, stdin=devnull, stdout=devnull, stderr=devnull, start_new_session=True)
    os.close(devnull)
    child.returncode = 0  # it is meant to outlive us: no warning about that
    return child.pid
