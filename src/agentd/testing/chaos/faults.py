"""What breaks. Only processes of the run's own are ever touched: its CLIs, its tmux server, its daemon."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from agentd.api.client import ClientError
from agentd.testing import processes
from agentd.testing.chaos.plan import Step
from agentd.testing.chaos.world import EVERYBODY, World

HALF = b'{"time": 1, "hook": {"hook_event_na'
"""What a writer leaves that was killed, or whose disk was full."""


def kill_cli(world: World, step: Step) -> None:
    _kill(world, world.pids().get(step.agent), step)


def _kill(world: World, pid: int | None, step: Step) -> None:
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            world.say(f"killed {pid}", step)


def kill_tool(world: World, step: Step) -> None:
    """A process below a CLI, or a tool's, dies."""
    below = processes.below(world.pids().get(step.agent) or 0)[1:]
    lines = processes.words(processes.belonging_to(world.daemon.root))
    found = [*below, *(int(line.split()[0]) for line in lines if "TOOL-" in line)]
    _kill(world, found[step.number % len(found)] if found else None, step)


def kill_pane(world: World, step: Step) -> None:
    agent = world.agent(step.agent)
    if agent and agent["tmux"]["pane"]:
        with suppress(AssertionError):
            world.daemon.tmux("kill-pane", "-t", agent["tmux"]["pane"])


def kill_session(world: World, step: Step) -> None:
    with suppress(AssertionError):
        world.daemon.tmux("kill-session", "-t", f"={step.agent}")


def kill_tmux(world: World, step: Step) -> None:
    with suppress(AssertionError):
        if step.options["how"] == "SIGKILL":
            _kill(world, world.daemon.tmux.pid, step)
        else:
            world.daemon.tmux("kill-server")


def restart(world: World, step: Step) -> None:
    world.restart(signal.Signals[step.options["how"]], step.options["pause"])


def freeze_cli(world: World, step: Step) -> None:
    if pid := world.pids().get(step.agent):
        with world.frozen(pid):
            time.sleep(step.options["seconds"])


def freeze_daemon(world: World, step: Step) -> None:
    with world.frozen(daemon=True):
        time.sleep(step.options["seconds"])


def freeze_tmux(world: World, step: Step) -> None:
    with suppress(AssertionError):
        pid = world.daemon.tmux.pid
        with world.frozen(pid):
            time.sleep(step.options["seconds"])


def sleep(world: World, step: Step) -> None:
    """A laptop is closed and opened again."""
    pids = list(world.pids().values())
    with suppress(AssertionError):
        pids.append(world.daemon.tmux.pid)
    with world.frozen(*pids, daemon=True):
        time.sleep(step.options["seconds"])


# Files and disks ---------------------------------------------------------------------------------------


def spool_gone(world: World, step: Step) -> None:
    """No hook can write its line: the spool's place leads nowhere."""
    spool = world.spool(step.agent)
    if spool is None or not spool.is_file():
        return
    aside = spool.with_suffix(".aside")
    with suppress(OSError):
        spool.rename(aside)
        spool.symlink_to(spool.parent / "nowhere" / "spool")
        time.sleep(step.options["seconds"])
        if spool.is_symlink():
            spool.unlink()
            aside.rename(spool)
    aside.unlink(missing_ok=True)


def spool_late(world: World, step: Step) -> None:
    """Every hook waits for a lock that somebody else holds, and writes its line late."""
    spool = world.spool(step.agent)
    with suppress(OSError):
        if spool:
            with spool.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                time.sleep(step.options["seconds"])


def half_line(world: World, step: Step) -> None:
    """Half a line without its end: the next one is hidden by it."""
    if spool := world.spool(step.agent):
        _append(spool, HALF)


def _append(path: Path, data: bytes) -> None:
    with suppress(OSError), path.open("ab") as file:
        file.write(data)


def disk_full(world: World, step: Step) -> None:
    with world.disk("full"):
        time.sleep(step.options["seconds"])


def disk_slow(world: World, step: Step) -> None:
    with world.disk("slow"):
        time.sleep(step.options["seconds"])


ALL = (
    kill_cli, kill_tool, kill_pane, kill_session, kill_tmux, restart, freeze_cli, freeze_daemon, freeze_tmux,
    sleep, spool_gone, spool_late, half_line, disk_full, disk_slow,
)  # fmt: skip


def happen(world: World, step: Step) -> None:
    """Let the fault of this step happen."""
    fault = next(fault for fault in ALL if fault.__name__ == step.deed)
    with world.trouble(step.deed, step.agent or EVERYBODY), suppress(ClientError):
        fault(world, step)
