"""Giving back what was read of a file that others still append to: its blocks, but not its offsets.

A hole is punched over the beginning. Neither the file nor any offset in it moves, so a writer that has it
open, a reader, and a position that a killed daemon saved all stay right. Renaming or emptying the file would
lose or repeat the line of a writer that opened it a moment before.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_KEEP_SIZE, _PUNCH_HOLE = 1, 2


def punch(path: Path, end: int) -> bool:
    """Give back the file's first `end` bytes, which read as zeros from then on. False where the system or the
    file system can't do that, and nothing was changed."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    fallocate = getattr(libc, "fallocate64", None) or libc.fallocate
    fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return bool(fallocate(descriptor, _KEEP_SIZE | _PUNCH_HOLE, 0, end) == 0)
    finally:
        os.close(descriptor)
