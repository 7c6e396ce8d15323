"""`TmuxTerminal` on a real server: what a killed daemon may leave behind."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from agentd import processes
from agentd.adapter import Keys
from agentd.tmux.server import TmuxError, TmuxServer
from agentd.tmux.terminal import PaneRef, PaneStatus, TmuxTerminal


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


async def test_another_servers_pane_of_the_same_id_is_not_touched(terminal: TmuxTerminal) -> None:
    """A new server counts its panes from `%0` again."""
    folder = terminal.server.socket.parent
    mine = await terminal.start("mine", "tag", ["/bin/sh", "-c", "trap '' HUP; cat"], {}, folder, folder)
    await terminal.server.kill()
    theirs = await terminal.start("theirs", "tag", ["/bin/cat"], {}, folder, folder)
    assert mine.pane == theirs.pane
    with pytest.raises(TmuxError, match="mine"):
        await terminal.paste(mine, "for nobody")
    with pytest.raises(TmuxError, match="mine"):
        await terminal.press(mine, Keys(("x",)))
    with pytest.raises(TmuxError, match="mine"):
        await terminal.screen(mine)
    await terminal.paste(theirs, "for them")
    with trio.fail_after(10):
        while (shown := (await terminal.screen(theirs)).tail().strip()) != "for them":
            assert shown in ("", "for them")
            await trio.sleep(0.01)
    assert not (await terminal.status(mine)).exists
    await terminal.end(mine, 1.0)
    assert (await terminal.status(theirs)).exists and not processes.same(mine.pid, mine.started)


async def test_a_paste_into_a_dead_pane_is_refused_and_ends_no_server(terminal: TmuxTerminal) -> None:
    """tmux 3.3a ends by it, with all panes of others."""
    folder = terminal.server.socket.parent
    other = await terminal.start("other", "tag", ["/bin/cat"], {}, folder, folder)
    dead = await terminal.start("dead", "tag", ["/bin/sh", "-c", "exit 3"], {}, folder, folder)
    with trio.fail_after(10):
        while not (await terminal.status(dead)).dead:
            await trio.sleep(0.01)
    with pytest.raises(TmuxError, match="has ended"):
        await terminal.paste(dead, "for nobody")
    await terminal.press(dead, Keys(("Enter",)))
    assert (await terminal.status(other)).exists
    assert await terminal.server.run("list-buffers") == []


async def test_a_server_that_goes_with_its_pane_is_an_end_like_any_other(
    terminal: TmuxTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = terminal.server.socket.parent
    pane = await terminal.start("one", "tag", ["/bin/sleep", "1000"], {}, folder, folder)
    run = terminal.server.run

    async def dies(*arguments: object, **more: float) -> list[str]:
        if arguments[0] == "run-shell":
            await terminal.server.kill()
        return await run(*arguments, **more)

    async def still_there(pane: PaneRef) -> PaneStatus:
        return PaneStatus(exists=True)

    monkeypatch.setattr(terminal.server, "run", dies)
    monkeypatch.setattr(terminal, "status", still_there)
    os.kill(pane.pid, signal.SIGKILL)
    assert await terminal.gone(pane) is None
