"""`TmuxTerminal` on a real server: what a killed daemon may leave behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentd import processes
from agentd.tmux.server import TmuxError, TmuxServer
from agentd.tmux.terminal import TmuxTerminal


@pytest.fixture
async def terminal() -> AsyncIterator[TmuxTerminal]:
    with tempfile.TemporaryDirectory(prefix="ad-", dir="/tmp") as folder:
        environment = {"HOME": folder, "PATH": os.environ["PATH"], "SHELL": "/bin/sh"}
        server = TmuxServer(Path(folder) / "t.sock", environment)
        yield TmuxTerminal(server)
        await server.kill()


async def test_an_orphan_gives_way(terminal: TmuxTerminal) -> None:
    folder = terminal.server.socket.parent
    sleep = ["/bin/sleep", "1000"]
    orphan = await terminal.start("one", "tag", sleep, {}, folder, folder)
    living = await terminal.start("one", "tag", sleep, {}, folder, folder)
    assert not processes.same(orphan.pid, orphan.started)
    assert not (await terminal.status(orphan)).exists
    assert (await terminal.status(living)).exists and processes.same(living.pid, living.started)


async def test_what_a_person_opened_beside_an_orphan_stays(terminal: TmuxTerminal) -> None:
    folder = terminal.server.socket.parent
    sleep = ["/bin/sleep", "1000"]
    orphan = await terminal.start("one", "tag", sleep, {}, folder, folder)
    [line] = await terminal.server.run(
        "split-window", "-P", "-F", "#{pane_pid}", "-t", orphan.pane, "--", *sleep
    )
    started = processes.start_time(int(line))
    living = await terminal.start("one", "tag", sleep, {}, folder, folder)
    assert not processes.same(orphan.pid, orphan.started)
    assert started and processes.same(int(line), started)
    assert (await terminal.status(living)).exists


async def test_a_session_of_somebody_else_does_not(terminal: TmuxTerminal) -> None:
    folder = terminal.server.socket.parent
    sleep = ["/bin/sleep", "1000"]
    other = await terminal.start("one", "another tag", sleep, {}, folder, folder)
    with pytest.raises(TmuxError, match="duplicate session"):
        await terminal.start("one", "tag", sleep, {}, folder, folder)
    assert processes.same(other.pid, other.started)
