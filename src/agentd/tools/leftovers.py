"""Commands that a killed daemon left running: each has a mark on disk while it runs, and the next daemon
ends what is marked. A daemon that is asked to end does so itself."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import trio

from agentd import processes
from agentd.tmux.terminal import write_private

log = logging.getLogger(__name__)

CALL = "AGENTD_CALL"
"""A variable in the environment of all that a command starts; each command has a value of its own."""
GRACE_S = 1.0


@contextmanager
def marked(file: Path, pid: int, started: float, call: str) -> Iterator[None]:
    """The command runs, as long as this block is not left. `call` is the value of its CALL."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        boot = processes.boot_id()
        write_private(file, json.dumps({"pid": pid, "started": started, "boot": boot, "call": call}))
    except OSError as error:
        # A command that can't be marked runs all the same: only a killed daemon would miss it.
        log.warning("%s can't be written: %s", file, error)
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink()


async def end_all(agents: Path) -> None:
    """End what is marked in the agents' folders."""
    async with trio.open_nursery() as nursery:
        for file in agents.glob("*/tools/*.pid"):
            nursery.start_soon(_end, file)


async def _end(file: Path) -> None:
    try:
        mark = json.loads(file.read_text(encoding="utf-8"))
        pid, started, boot = int(mark["pid"]), float(mark["started"]), str(mark["boot"])
        call = str(mark.get("call", ""))
    except (OSError, ValueError, TypeError, KeyError):
        pass  # half a mark: the daemon was killed before the command could do much
    else:
        if boot == processes.boot_id():
            # A dead command counts too, even one that nobody has fetched yet: its children may live.
            family = processes.Family(pid, started, (CALL, call) if call else None, keeper=True)
            left = await family.end(GRACE_S)
            still = f"; still there: {', '.join(left)}" if left else ""
            if family.asked:
                log.warning("ended what a killed daemon left running: %s%s", pid, still)
    file.unlink(missing_ok=True)
