"""One command of a tool: a session of its own, its output as it comes, and an end that leaves nothing."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

from agentd import processes
from agentd.tools.leftovers import CALL, marked
from agentd.tools.registry import Say, ToolError

log = logging.getLogger(__name__)

KEEPER = Path(__file__).with_name("keeper.py")
NOT_STARTED = "the command can't be started"
GRACE_S = 1.0
"""From SIGTERM to SIGKILL."""
DRAIN_S = 0.2
"""How long what a command left behind may still write when the command itself is over."""
ALONE_S = 0.05
"""How long a keeper with nobody left may take to end: then nobody needs to be asked to."""
SAY_EVERY_S = 0.2
"""Progress is told at most this often; what came meanwhile is told together."""
SAID = 2048
"""How much of new output is told as progress: the end of it, in bytes."""
BLOCK = 65536

Heard = Callable[[bytes], None]


@dataclass(frozen=True)
class Ended:
    """How a command ended; `left` processes that it had left running were ended with it."""

    status: int
    left: int = 0

    def __str__(self) -> str:
        said = f"exit status {self.status}"
        if self.status < 0:
            try:
                said = f"ended by {signal.Signals(-self.status).name}"
            except ValueError:
                said = f"ended by signal {-self.status}"
        if self.left:
            said += f"; {self.left} background process{'es' if self.left > 1 else ''} ended with it"
        return said


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    mark: Path,
    out: Heard,
    errors: Heard | None = None,
    given: bytes | None = None,
) -> Ended:
    """Run a command to its end, below a keeper, in a session (and process group) of its own.

    `mark` is a file that exists while it runs. `out` hears its output; without `errors` standard error is
    a part of that. When this is cancelled, or the command is over, everything that it started is ended:
    SIGTERM, then SIGKILL after a second.

    Raises:
        ToolError: it can't be started.
    """
    call = uuid.uuid4().hex
    try:
        process, report = await _start(argv, cwd, {**env, CALL: call}, errors is not None, given is not None)
    except (OSError, ValueError) as error:
        raise ToolError(f"{NOT_STARTED}: {error}") from error
    # Nothing has fetched its status yet, so the pid is its own, even if it has ended already.
    started = processes.start_time(process.pid) or 0.0
    family = processes.Family(process.pid, started, (CALL, call), keeper=True)
    with marked(mark, process.pid, started, call):
        return await _run(process, report, family, out, errors, given)


async def _start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], errors: bool, given: bool
) -> tuple[trio.Process, trio.lowlevel.FdStream]:
    """The command's keeper, and where it reports how the command ended."""
    reading, writing = os.pipe()
    try:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-I", "-S", str(KEEPER), str(writing), *argv],
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if errors else subprocess.STDOUT,
            cwd=cwd,
            env=env,
            pass_fds=[writing],
            start_new_session=True,
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return process, trio.lowlevel.FdStream(reading)


async def _run(
    process: trio.Process,
    report: trio.lowlevel.FdStream,
    family: processes.Family,
    out: Heard,
    errors: Heard | None,
    given: bytes | None,
) -> Ended:
    said = bytearray()
    try:
        async with trio.open_nursery() as nursery:
            silent = trio.Event()

            async def read() -> None:
                async with trio.open_nursery() as readers:
                    assert process.stdout is not None
                    readers.start_soon(_read, process.stdout, out)
                    if errors is not None:
                        assert process.stderr is not None
                        readers.start_soon(_read, process.stderr, errors)
                silent.set()

            nursery.start_soon(read)
            if given is not None:
                nursery.start_soon(_feed, process, given)
            while not said.endswith(b"\n") and (data := await report.receive_some(BLOCK)):
                said += data
            with trio.move_on_after(DRAIN_S):
                await silent.wait()
            with trio.move_on_after(ALONE_S):
                await process.wait()
            nursery.cancel_scope.cancel(reason="the command is over")
    finally:
        with trio.CancelScope(shield=True):
            if left := await family.end(GRACE_S):
                log.warning("still alive after SIGKILL, of a tool's command: %s", ", ".join(left))
            with trio.move_on_after(1.0):
                await process.wait()
            for stream in (process.stdin, process.stdout, process.stderr, report):
                if stream is not None:
                    await stream.aclose()
    line = said.decode(errors="replace").partition("\n")[0]
    if line and not line.lstrip("-").isdigit():
        raise ToolError(f"{NOT_STARTED}: {line}")
    # A command that has killed its keeper tells nothing.
    status = int(line or process.returncode or 0)
    return Ended(status, sum(each.pid != process.pid for each in family.asked))


async def _feed(process: trio.Process, given: bytes) -> None:
    assert process.stdin is not None
    try:
        async with process.stdin:
            await process.stdin.send_all(given)
    except trio.BrokenResourceError:
        pass  # a command need not read what it is given


async def _read(stream: trio.abc.ReceiveStream, heard: Heard) -> None:
    while data := await stream.receive_some(BLOCK):
        heard(bytes(data))


class Telling:
    """Tells a call's output as progress while it comes: only what was really said, and not too often."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._total = 0
        self._new = bytearray()
        self._something = trio.Event()

    async def while_running(self, command: Awaitable[Ended]) -> Ended:
        """Tell until the command is over. Raises what the command raises."""
        problem: ToolError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.run)
            try:
                ended = await command
            except ToolError as error:
                problem = error
            nursery.cancel_scope.cancel(reason="the command is over")
        if problem:
            raise problem
        return ended

    def hear(self, data: bytes) -> None:
        self._total += len(data)
        self._new += data
        del self._new[:-SAID]
        self._something.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._something.wait()
            self._something = trio.Event()
            text = self._new.decode("utf-8", "ignore")
            self._new.clear()
            await self._say(self._total, text)
            await trio.sleep(SAY_EVERY_S)
