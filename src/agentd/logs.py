"""The daemon's log: lines for a person or for a program, on standard error or in files that stay small."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

LARGEST = 5 << 20
"""Of one file, in bytes; then the next one is begun."""
OLDER = 3
"""How many files are kept beside the one that is written: FILE.1 is the newest of them."""


def begin(level: str, form: str, file: Path | None = None) -> None:
    """Log from now on. Without a file, to standard error: a service manager keeps that.

    A folder that is missing on the file's way is made.

    Raises:
        OSError: the file can't be written.
    """
    if file:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = _Files(file, maxBytes=LARGEST, backupCount=OLDER, encoding="utf-8") if file else None
    shown = handler or logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    shown.setFormatter(_JsonLines() if form == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[shown], force=True)
    logging.getLogger("libtmux").setLevel(logging.WARNING)


class _Files(RotatingFileHandler):
    """Files that only their owner may read: a log tells of agents, folders and errors."""

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.fdopen(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8", errors="replace")


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)
