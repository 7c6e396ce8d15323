"""Processes by pid and start time: noticing an end, and ending a tree. Never by name.

A pid alone may have been reused; a pid with its start time is one process.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import psutil
import trio

POLL_S = 1.0
"""Where the system has no pidfd (macOS), a process is looked at this often."""
SAME_S = 0.05
"""How much two readings of a process's start time may differ."""

LOOKS = 8
"""How often the processes are looked through at most, until nobody has ended meanwhile."""


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


class Family:
    """A process and all that belongs to it: its descendants, the sessions that these lead (children whose
    parent has died stay in them), and what carries its mark.

    `started` is when it started (seconds since the epoch). `mark` is a variable of its environment with a
    value that nobody else has: it finds who left both parent and session, since children inherit it. Who
    leaves both and hides its environment as well is not found. (Only the kernel could tell: as a
    `PR_SET_CHILD_SUBREAPER` the daemon would become the parent of every orphan, tmux's server among them,
    without knowing whose each one was, and would have to fetch all their statuses beside trio.)
    """

    def __init__(self, pid: int, started: float, mark: tuple[str, str] | None = None) -> None:
        self.pid = pid
        self.asked: set[psutil.Process] = set()
        """Who was asked to end."""
        self._started = started
        self._boot = psutil.boot_time()
        self._mark = mark
        self._known: dict[int, psutil.Process] = {}
        self._zombies: set[psutil.Process] = set()
        self._sure = True
        """Whether the last look has seen everybody: who ended while it went on may have hidden a child."""

    def __repr__(self) -> str:
        return f"<Family of {self.pid}: {len(self._known)} met>"

    def look(self) -> list[psutil.Process]:
        """Those that live now, oldest first. What was found before is found again, and all below it."""
        for _ in range(LOOKS):
            if (living := self._look()) or self._sure:
                break
        return living

    def _look(self) -> list[psutil.Process]:
        self._sure = True
        there: set[int] = set()
        below: dict[int, list[psutil.Process]] = defaultdict(list)
        within: dict[int, list[psutil.Process]] = defaultdict(list)
        session_of: dict[int, int] = {}
        # Whatever belongs to it is younger. (When the clock is set, the start times of all move.)
        since = self._started + psutil.boot_time() - self._boot
        news: list[psutil.Process] = []
        for pid in sorted(psutil.pids(), reverse=True):
            try:
                # The newest come first: a chain of short ones shall not be a step ahead of the reading.
                # Not `process_iter`, which remembers processes whose pid was reused since.
                process = psutil.Process(pid)
                there.add(pid)
                started = process.create_time()
                if started < since - SAME_S:
                    continue
                session, parent = os.getsid(pid), process.ppid()
            except psutil.AccessDenied:
                continue
            except (ProcessLookupError, psutil.Error):
                self._sure = False
                continue
            session_of[pid] = session
            within[session].append(process)
            below[parent].append(process)
            root = pid == self.pid and abs(started - since) < SAME_S
            if root or self._known.get(pid) == process or (session and self._marked(process)):
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
        living = [process for process in found.values() if _lives(process)]
        self._doubt(set(found.values()) - set(living))
        return sorted(living, key=lambda each: (each.create_time(), each.pid))

    def _marked(self, process: psutil.Process) -> bool:
        if self._mark is None:
            return False
        name, value = self._mark
        environment: dict[str, str] = {}
        try:
            environment = process.environ()
        except psutil.AccessDenied:
            return False
        except (OSError, psutil.Error):
            pass
        if not environment:
            self._doubt({process})
        return bool(environment.get(name) == value)

    def _doubt(self, dead: set[psutil.Process]) -> None:
        """These may have started somebody just before they ended; zombies that are met again have not."""
        self._sure = self._sure and dead <= self._zombies
        self._zombies |= {process for process in dead if _is_zombie(process)}

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
            _send(found, signal.SIGKILL)
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


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return "?"
