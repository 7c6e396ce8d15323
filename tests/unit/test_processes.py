"""Processes by pid and start time: seen to end, ended with all that belongs to them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import trio

from agentd import processes

SLEEP = [sys.executable, "-S", "-c", "import time; print(flush=True); time.sleep(60)"]


@contextmanager
def program(*argv: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads a session of its own, as a pane's does; it has printed its first line."""
    process = subprocess.Popen(argv or SLEEP, start_new_session=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        process.first_line = process.stdout.readline()  # type: ignore[attr-defined]
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout and process.stdout.close()


def started(pid: int) -> float:
    found = processes.start_time(pid)
    assert found is not None
    return found


async def test_the_same_process_and_another_of_its_pid() -> None:
    with program() as it:
        assert processes.same(it.pid, started(it.pid))
        assert not processes.same(it.pid, started(it.pid) - 10)
        at = started(it.pid)
        it.kill()
        with trio.fail_after(5):
            await processes.ended(it.pid, at)
        assert not processes.same(it.pid, at), "a zombie doesn't live"
    assert processes.start_time(it.pid) is None
    with trio.fail_after(1):
        await processes.ended(it.pid, at)


async def test_a_reused_pid_has_ended_already() -> None:
    with program() as it, trio.fail_after(1):
        await processes.ended(it.pid, started(it.pid) - 10)


async def test_a_tree_ends_with_children_that_were_reparented(tmp_path: Path) -> None:
    # The middle shell ends at once: its child belongs to nobody but the session.
    script = f"(sleep 60 & echo $! > {tmp_path}/orphan) ; sleep 60 & echo up; wait"
    with program("/bin/sh", "-c", script) as it:
        orphan = int((tmp_path / "orphan").read_text())
        at = started(it.pid)
        assert {p.pid for p in processes.tree(it.pid, at)} >= {it.pid, orphan}
        assert await processes.end_tree(it.pid, at, 2.0) == []
        assert not psutil.pid_exists(orphan) or psutil.Process(orphan).status() == psutil.STATUS_ZOMBIE


async def test_what_ignores_sigterm_is_killed() -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    with program(sys.executable, "-S", "-c", code) as it:
        assert await processes.end_tree(it.pid, started(it.pid), 0.1) == []
        assert it.wait() == -signal.SIGKILL


async def test_what_can_end_itself_is_let() -> None:
    code = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(7)); print(flush=True)"
    code += "; time.sleep(60)"
    with program(sys.executable, "-S", "-c", code) as it:
        assert await processes.end_tree(it.pid, started(it.pid), 5.0) == []
        assert it.wait() == 7


async def test_a_reused_pid_is_not_touched() -> None:
    with program() as it:
        assert await processes.end_tree(it.pid, started(it.pid) + 100, 0.1) == []
        assert it.poll() is None
