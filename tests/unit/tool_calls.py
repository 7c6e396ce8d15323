"""What the tests of tools share: a caller, and a call that remembers its progress."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil

from agentd.testing.processes import alive
from agentd.tools.registry import Call, Caller


class Progress:
    """Remembers what was said."""

    def __init__(self) -> None:
        self.said: list[tuple[float, str]] = []

    async def __call__(self, progress: float, message: str) -> None:
        self.said.append((progress, message))

    @property
    def text(self) -> str:
        return "".join(message for _, message in self.said)


def caller(folder: Path, name: str = "a") -> Caller:
    workspace, own = folder / "work", folder / "own"
    for each in (workspace, own):
        each.mkdir(exist_ok=True)
    return Caller(name, workspace, own, {"PATH": os.environ["PATH"], "HOME": str(folder)})


def call(folder: Path, tool: str, say: Progress | None = None, **arguments: Any) -> Call:
    return Call("c1", caller(folder), tool, arguments, say or Progress())


def living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if alive(pid)]


def pids_in(file: Path) -> list[int]:
    """The process ids that a command wrote, one a line."""
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def below(pid: int) -> list[int]:
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
