"""Processes by pid and start time: noticing an end, and ending a tree. Never by name.

A pid alone may have been reused; a pid with its start time is one process.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import psutil
import trio

POLL_S = 1.0
"""Where the system has no pidfd (macOS), a process is looked at this often."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
STARTED = 19
"""Where `/proc/PID/stat` has the start time, counted from the field behind the name: proc(5)."""
SAME_S = 0.05
"""How much two readings of a process's start time may differ."""


def boot_id() -> str:
    """Which boot of the machine this is; empty where the system has no name for it (macOS)."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


def start_time(pid: int) -> float | None:
    """When the process started, in seconds, or None if there is none.

    On Linux they count from the boot, as the kernel counts them: psutil's own time, since the epoch, moves
    whenever the clock is set.
    """
    try:
        if sys.platform != "linux":
            return psutil.Process(pid).create_time()
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[STARTED]) / os.sysconf("SC_CLK_TCK")
    except (OSError, psutil.Error):
        return None


def same(pid: int, started: float) -> bool:
    """Whether this very process lives (a zombie doesn't)."""
    found = start_time(pid)
    try:
        return (
            found is not None
            and abs(found - started) < SAME_S
            and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        )
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


class Family:
    """A process and all that belongs to it: its descendants, the sessions that these lead (children whose
    parent has died stay in them), and what carries its mark.

    `started` is its `start_time`. `mark` is a variable of its environment with a
    value that nobody else has: it finds who left both parent and session, since children inherit it. A
    `keeper` is the parent of all who lose theirs, and starts nobody itself: it is ended last.
    """

    def __init__(
        self, pid: int, started: float, mark: tuple[str, str] | None = None, *, keeper: bool = False
    ) -> None:
        self.pid = pid
        self.asked: set[psutil.Process] = set()
        """Who was asked to end."""
        self._started = started
        self._mark = mark
        self._keeper = keeper
        self._known: dict[int, psutil.Process] = {}

    def __repr__(self) -> str:
        return f"<Family of {self.pid}: {len(self._known)} met>"

    def look(self) -> list[psutil.Process]:
        """Those that live now, oldest first. What was found before is found again, and all below it."""
        # A process that forks and ends while the list is read may hide its child once.
        return self._look() or self._look()

    def _look(self) -> list[psutil.Process]:
        there: set[int] = set()
        below: dict[int, list[psutil.Process]] = defaultdict(list)
        within: dict[int, list[psutil.Process]] = defaultdict(list)
        session_of: dict[int, int] = {}
        age: dict[int, float] = {}
        news: list[psutil.Process] = []
        for pid in psutil.pids():
            try:
                # Not `process_iter`, which remembers processes whose pid was reused since.
                process = psutil.Process(pid)
                there.add(pid)
                started = start_time(pid)
                if started is None or started < self._started - SAME_S:
                    continue  # whatever belongs to it is younger
                session, parent = os.getsid(pid), process.ppid()
            except (OSError, psutil.Error):
                continue
            session_of[pid], age[pid] = session, started
            within[session].append(process)
            below[parent].append(process)
            root = pid == self.pid and abs(started - self._started) < SAME_S
            if root or self._known.get(pid) == process or self._marked(process):
                news.append(process)
        # The pid of a dead leader isn't given away as long as its session has members.
        for pid in {self.pid, *self._known} - there:
            news += within[pid]
        found: dict[int, psutil.Process] = {}
        while news:
            process = news.pop()
            if process.pid in found:
                continue
            found[process.pid] = process
            news += below[process.pid]
            news += within[process.pid]
            leader = session_of[process.pid]
            if leader and leader not in there:
                news += within[leader]
        self._known |= found
        return sorted(filter(_lives, found.values()), key=lambda each: (age[each.pid], each.pid))

    def _marked(self, process: psutil.Process) -> bool:
        if self._mark is None:
            return False
        name, value = self._mark
        try:
            return bool(process.environ().get(name) == value)
        except (OSError, psutil.Error):
            return False  # a zombie, or another user's

    async def end(self, grace_s: float) -> list[str]:
        """End it: SIGTERM, then SIGKILL after `grace_s` seconds.

        Returns what still lived afterwards, in words (nothing, unless the kernel holds it, or it is
        another user's).
        """
        living: list[psutil.Process] = []

        def ask() -> list[psutil.Process]:
            # While somebody lives who was asked, nobody else needs to be looked for.
            if not (still := [process for process in living if _lives(process)]):
                still = self.look()
                _send((process for process in still if process not in self.asked), signal.SIGTERM)
                self.asked.update(still)
            return still

        def kill() -> list[psutil.Process]:
            found = self.look()
            kept = [process for process in found if process.pid != self.pid]
            _send(kept if kept and self._keeper else found, signal.SIGKILL)
            return found

        with trio.move_on_after(grace_s) as grace:
            while living := await trio.to_thread.run_sync(ask):  # noqa: ASYNC110 - nothing tells
                await trio.sleep(0.03)
        if not grace.cancelled_caught:
            return []
        for _ in range(50):
            living = await trio.to_thread.run_sync(kill)
            if not living:
                return []
            await trio.sleep(0.05)
        return [f"{process.pid} ({_name(process)})" for process in living if _lives(process)]


def tree(pid: int, started: float) -> list[psutil.Process]:
    """The process and what belongs to it (see `Family`), those that live, oldest first."""
    return Family(pid, started).look()


def open_files(pid: int, started: float) -> list[Path]:
    """The regular files that the process and what belongs to it hold open, newest process last."""
    found: dict[Path, None] = {}
    for process in tree(pid, started):
        try:
            found.update(dict.fromkeys(Path(file.path) for file in process.open_files()))
        except psutil.Error:
            continue
    return list(found)


def _send(processes: Iterable[psutil.Process], what: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(what)  # psutil checks the start time
        except psutil.Error:
            continue


async def end_tree(pid: int, started: float, grace_s: float) -> list[str]:
    """End a process and all that belongs to it, as `Family.end` does."""
    return await Family(pid, started).end(grace_s)


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
