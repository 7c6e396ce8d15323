"""Processes by pid and start time: seen to end, ended with all that belongs to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import trio

from agentd import processes
from agentd.testing.processes import alive
from agentd.testing.until import until
from tests.unit.tool_calls import pids_in

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


async def test_another_process_of_the_same_number_and_its_session_are_not_touched() -> None:
    """It started later than the one that is meant: so did all in its session."""
    with program("/bin/sh", "-c", "sleep 60 & echo $!; wait") as it:
        child = int(it.first_line)  # type: ignore[attr-defined]
        assert await processes.end_tree(it.pid, started(it.pid) - 100, 0.1) == []
        assert it.poll() is None and alive(child)
        psutil.Process(child).kill()


def test_what_has_left_parent_and_session_is_found_by_its_mark_alone(tmp_path: Path) -> None:
    script = f"(setsid sh -c 'echo $$ > {tmp_path}/away; exec sleep 60' >/dev/null &); echo up; exec sleep 9"
    with program("/usr/bin/env", "FAMILY=ours", "/bin/sh", "-c", script) as it:
        [away] = until("it is away", lambda: pids_in(tmp_path / "away"))
        try:
            at = started(it.pid)
            for mark, found in ("ours", {it.pid, away}), ("theirs", {it.pid}):
                assert {p.pid for p in processes.Family(it.pid, at, ("FAMILY", mark)).look()} == found
            assert [p.pid for p in processes.tree(it.pid, at)] == [it.pid]
        finally:
            psutil.Process(away).kill()


def test_below_what_was_found_once_all_is_found(tmp_path: Path) -> None:
    """A child in a session of its own, whose parent has died since, starts others and ends."""
    middle = "sleep 60 & echo $! > late"
    script = f"setsid sh -c 'echo $$ > middle; read go; {middle}' < go & echo up; exec sleep 60"
    os.mkfifo(tmp_path / "go")
    with program("/bin/sh", "-c", f"cd {tmp_path}; {script}") as it, (tmp_path / "go").open("w") as go:
        [pid] = until("the middle is there", lambda: pids_in(tmp_path / "middle"))
        family = processes.Family(it.pid, started(it.pid))
        assert [p.pid for p in family.look()] == [it.pid, pid]
        it.kill()
        it.wait()
        go.write("go\n")
        go.flush()
        [late] = until("the middle is over", lambda: not alive(pid) and pids_in(tmp_path / "late"))
        assert [p.pid for p in family.look()] == [late]
        psutil.Process(late).kill()


def test_a_clock_that_is_set_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with program() as it:
        family = processes.Family(it.pid, started(it.pid))
        was = started(it.pid)
        boot, create_time = psutil.boot_time, psutil.Process.create_time
        monkeypatch.setattr(psutil, "boot_time", lambda: boot() - 3600)
        monkeypatch.setattr(psutil.Process, "create_time", lambda process: create_time(process) - 3600)
        assert [p.pid for p in family.look()] == [it.pid]
        assert started(it.pid) == was and processes.same(it.pid, was), "a pane is known again"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere psutil's own is used")
def test_a_start_time_is_of_the_boots_count(tmp_path: Path) -> None:
    """Whatever a program is called: its name stands in the line that the time is read from."""
    odd = tmp_path / "a) 1 (b"
    odd.symlink_to("/bin/sleep")
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    with subprocess.Popen([odd, "1000"]) as it:
        found = processes.start_time(it.pid)
        it.kill()
    assert found is not None and before - 0.1 < found <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_who_ends_while_the_processes_are_read_hides_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    with program() as parent:
        pass
    with program() as it:
        family = processes.Family(it.pid, started(it.pid))
        pids, lists = psutil.pids, [[parent.pid]]
        monkeypatch.setattr(psutil, "pids", lambda: lists.pop() if lists else pids())
        assert [p.pid for p in family.look()] == [it.pid]


async def test_a_keeper_is_ended_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it lives, nobody below it can get away."""
    killed: list[int] = []
    kill = psutil.Process.kill

    def send(process: psutil.Process, what: int) -> None:
        killed.append(process.pid)
        if what == signal.SIGKILL:
            kill(process)

    monkeypatch.setattr(psutil.Process, "send_signal", send)
    with program("/bin/sh", "-c", "sleep 60 & echo $!; wait; exec sleep 60") as it:
        child = int(it.first_line)  # type: ignore[attr-defined]
        family = processes.Family(it.pid, started(it.pid), keeper=True)
        assert await family.end(0.0) == []
        assert killed == [child, it.pid]
