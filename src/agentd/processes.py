"""Processes by pid and start time: noticing an end, and ending a tree. Never by name.

A pid alone may have been reused; a pid with its start time is one process.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path

import psutil
import trio

POLL_S = 1.0
"""Where the system has no pidfd (macOS), a process is looked at this often."""
SAME_S = 0.05
"""How much two readings of a process's start time may differ."""
SPARED = ("tmux", "screen", "systemd", "ssh-agent", "dbus-daemon")
"""Servers that an agent's tool may have been the first to start, but that others live in since."""


def start_time(pid: int) -> float | None:
    """When the process started (seconds since the epoch), or None if there is none."""
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return None


def same(pid: int, started: float) -> bool:
    """Whether this very process lives (a zombie doesn't)."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < SAME_S and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


async def ended(pid: int, started: float) -> None:
    """Return when this very process has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except (OSError, AttributeError):
        while same(pid, started):  # noqa: ASYNC110 - nothing else tells
            await trio.sleep(POLL_S)
        return
    try:
        # Between the two lines the pid can't be reused: the descriptor holds it.
        if same(pid, started):
            await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def tree(pid: int, started: float) -> list[psutil.Process]:
    """The process, its descendants, and what else lives in its session (reparented children do)."""
    found: dict[int, psutil.Process] = {}
    try:
        root = psutil.Process(pid)
        if abs(root.create_time() - started) < SAME_S:
            found[pid] = root
            for child in root.children(recursive=True):
                found[child.pid] = child
    except psutil.Error:
        pass
    for process in psutil.process_iter():
        try:
            # tmux makes each pane's program the leader of a session of its own. A session id that was
            # reused would belong to a leader that started later.
            if os.getsid(process.pid) == pid and process.create_time() >= started - SAME_S:
                found.setdefault(process.pid, process)
        except (OSError, psutil.Error):
            continue
    for process in [p for p in found.values() if p.pid != pid and _spared(p)]:
        found.pop(process.pid)
        for child in _children(process):
            found.pop(child.pid, None)
    return list(found.values())


def open_files(pid: int, started: float) -> list[Path]:
    """The regular files that the process and what belongs to it hold open, newest process last."""
    found: dict[Path, None] = {}
    for process in tree(pid, started):
        try:
            found.update(dict.fromkeys(Path(file.path) for file in process.open_files()))
        except psutil.Error:
            continue
    return list(found)


def _spared(process: psutil.Process) -> bool:
    try:
        return process.name().startswith(SPARED)
    except psutil.Error:
        return False


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.Error:
        return []


def _send(processes: Iterable[psutil.Process], what: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(what)  # psutil checks the start time
        except psutil.Error:
            continue


async def end_tree(pid: int, started: float, grace_s: float) -> list[str]:
    """End a process and all that belongs to it: SIGTERM, then SIGKILL after `grace_s` seconds.

    Returns what still lived afterwards, in words (nothing, unless the kernel holds it).
    """
    known: dict[int, psutil.Process] = {}

    def gather() -> list[psutil.Process]:
        for process in tree(pid, started):
            known.setdefault(process.pid, process)
        return [p for p in known.values() if _lives(p)]

    living = await trio.to_thread.run_sync(gather)
    _send(living, signal.SIGTERM)
    with trio.move_on_after(grace_s):
        while living := await trio.to_thread.run_sync(gather):  # noqa: ASYNC110 - nothing tells
            await trio.sleep(0.03)
    for _ in range(50):
        living = await trio.to_thread.run_sync(gather)
        if not living:
            return []
        _send(living, signal.SIGKILL)
        await trio.sleep(0.05)
    return [f"{p.pid} ({_name(p)})" for p in living]


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return "?"
