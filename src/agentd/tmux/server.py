"""One private tmux server: its own socket, its own configuration, a clean environment, UTF-8.

Commands go through libtmux in a worker thread and have a deadline, since a stopped tmux server hangs
every client for good.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import libtmux
import trio

from agentd.tmux.config import CONFIG

DEADLINE_S = 10.0
"""A command takes 2-10 ms on a healthy server."""
_ENDING = (b"server exited", b"lost server")
"""What a client says that met a server on its way out, after its last session: the next one starts anew."""
THEN = object()
"""Separates two tmux commands that run in one client."""


class TmuxError(Exception):
    """tmux refused a command; the text is tmux's own, with the command's name."""


class TmuxHangs(TmuxError):
    """The tmux server doesn't answer."""


def escape(argument: str) -> str:
    """An argument as tmux's parser takes it: a `;` at its end would begin another command."""
    return argument[:-1] + "\\;" if argument.endswith(";") else argument


@dataclass(frozen=True)
class ServerId:
    """Which tmux server: pane ids start again at `%0` with a new one."""

    pid: int
    started: int


class TmuxServer:
    """`environment` is what the server and its clients are started with."""

    def __init__(self, socket: Path, environment: Mapping[str, str], *, binary: str | None = None) -> None:
        self.socket = socket
        self.config = socket.with_suffix(".conf")
        self.environment = {"LANG": "C.UTF-8", "TERM": "xterm-256color", **environment}
        self.environment.pop("TMUX", None)
        self.environment.pop("TMUX_PANE", None)
        found = binary or shutil.which("tmux", path=environment.get("PATH")) or shutil.which("tmux")
        if found is None:
            raise TmuxError("tmux isn't installed; agentd needs tmux 3.2 or newer")
        self.binary = found
        self._server = libtmux.Server(socket_path=socket, config_file=str(self.config), tmux_bin=found)
        self._threads = trio.CapacityLimiter(8)

    def attach_command(self, session: str) -> str:
        """What a person gives to a shell to attach. To zsh a bare `=NAME` is the path of a program."""
        return f"tmux -S {shlex.quote(str(self.socket))} attach -t '={session}'"

    async def run(self, *arguments: object, deadline: float = DEADLINE_S) -> list[str]:
        """Run a tmux command (several, separated by `THEN`); its output lines.

        Raises:
            TmuxHangs: no answer within the deadline (seconds).
            TmuxError: tmux refused it, or no server runs.
        """
        words = [";" if word is THEN else escape(str(word)) for word in arguments]
        with trio.move_on_after(deadline) as scope:
            done = await trio.to_thread.run_sync(
                lambda: self._server.cmd(words[0], *words[1:]), abandon_on_cancel=True, limiter=self._threads
            )
        if scope.cancelled_caught:
            raise TmuxHangs(f"tmux didn't answer `{words[0]}` within {deadline:g}s")
        if done.returncode or done.stderr:
            raise TmuxError(f"tmux {words[0]}: {' '.join(done.stderr) or 'failed'}")
        return list(done.stdout)

    async def new_session(self, arguments: Sequence[object], *, deadline: float = DEADLINE_S) -> str:
        """Run `new-session` (and what follows it), which starts the server if none runs.

        It isn't libtmux's, since the server keeps the environment of the client that started it.
        """
        self.config.write_text(CONFIG)
        words = [";" if word is THEN else escape(str(word)) for word in arguments]
        command = [self.binary, "-u", "-S", str(self.socket), "-f", str(self.config), "new-session", *words]
        with trio.move_on_after(deadline) as scope:
            while True:
                done = await trio.run_process(
                    command,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    capture_stdout=True,
                    capture_stderr=True,
                    check=False,
                )
                if not (done.returncode and done.stderr.startswith(_ENDING)):
                    break
                await trio.sleep(0.02)
        if scope.cancelled_caught:
            raise TmuxHangs(f"tmux didn't start a session within {deadline:g}s")
        if done.returncode:
            raise TmuxError(f"tmux new-session: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode().strip()

    async def running(self) -> ServerId | None:
        """The server that runs on our socket, or None."""
        try:
            [line] = await self.run("display-message", "-p", "#{pid} #{start_time}")
        except (TmuxError, ValueError) as error:
            if isinstance(error, TmuxHangs):
                raise
            return None
        pid, started = line.split()
        return ServerId(int(pid), int(started))

    async def kill(self) -> None:
        """End the server on our socket and everything in it."""
        try:
            await self.run("kill-server")
        except TmuxError:
            # Nothing runs there: that is what was wanted.
            pass
