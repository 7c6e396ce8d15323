"""A file that one process holds. The kernel drops the lock with the process: a crash leaves nothing."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class Held(Exception):
    """Another process holds it; the text is what that one wrote down about itself."""


class Lock:
    """Held from its making until `close`. `about` tells others who holds it.

    Raises:
        Held: another one has it.
        OSError: the file can't be opened.
    """

    def __init__(self, path: Path, about: str = "") -> None:
        # CLOEXEC: nothing that we start may hold it after us.
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(self._descriptor, 4096).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise Held(holder) from error
        except BaseException:
            os.close(self._descriptor)
            raise
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, about.encode())

    def close(self) -> None:
        os.close(self._descriptor)
