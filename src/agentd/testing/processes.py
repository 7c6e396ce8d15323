"""Which processes belong to a test: those whose environment or command names its folder."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil


def belonging_to(folder: Path) -> list[psutil.Process]:
    """Every process that lives with the folder as its home; this one and zombies don't count."""
    return [process for process in psutil.process_iter() if _names(process, str(folder))]


def _names(process: psutil.Process, folder: str) -> bool:
    try:
        if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
            return False
        words = [*process.environ().values(), *process.cmdline()]
    except psutil.Error:
        return False
    return any(word == folder or folder + "/" in word for word in words)


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie that nobody has fetched does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def below(pid: int) -> list[int]:
    """The process and its descendants."""
    try:
        process = psutil.Process(pid)
        return [pid, *(child.pid for child in process.children(recursive=True))]
    except psutil.Error:
        return []


def kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        try:
            process.send_signal(signal.SIGKILL)  # psutil checks that the pid wasn't reused
        except psutil.Error:
            continue


def words(processes: list[psutil.Process]) -> Iterator[str]:
    """Each of them in a line, for an error."""
    for process in processes:
        try:
            yield f"{process.pid} {process.status()} {' '.join(process.cmdline())[:300]}"
        except psutil.Error:
            continue
