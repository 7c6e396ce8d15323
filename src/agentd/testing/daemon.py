"""A real daemon in a folder of its own, asked through the real command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from agentd.api.client import ApiError, Client, ClientError
from agentd.testing import processes
from agentd.testing.panes import Pane, Tmux
from agentd.testing.until import PATIENCE, until

AGENTD = [sys.executable, "-P", "-c", "import sys; from agentd.cli import main; sys.exit(main())"]
QUICK = ("--tick", "0.1")
"""The demo agent's scripts count tenths of a second."""
HOLD = "@bash until [ -e go ]; do sleep 0.05; done"
"""Keeps the demo agent in a tool until `Daemon.let_go`: what is to happen in a turn happens in it, however
slow the machine is."""
ENDING_S = 15.0


@dataclass(frozen=True)
class Completed:
    """What a command printed, and its exit code."""

    stdout: str
    stderr: str
    code: int

    @property
    def json(self) -> Any:
        """Standard output as the JSON that it is, and nothing else."""
        return json.loads(self.stdout)


class Running:
    """A command that still runs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    @property
    def pid(self) -> int:
        return self.process.pid

    def ctrl_c(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def says(self, line: str) -> None:
        """Wait until it tells a person this, on standard error. What it said before is lost."""
        stderr = self.process.stderr
        assert stderr
        while (said := stderr.readline()) != f"{line}\n".encode():
            assert said, f"it ended without {line!r}"

    def finish(self, timeout: float = PATIENCE) -> Completed:
        """Wait for its end."""
        stdout, stderr = self.process.communicate(timeout=timeout)
        return Completed(stdout.decode(), stderr.decode(), self.process.returncode)


class Daemon:
    """`agentd serve` with its own home, state, config and socket. As a context manager it starts at the
    beginning; at the end it stops its agents and ends, and nothing may be left of it."""

    SERVE: Sequence[str] = (*AGENTD, "serve")

    def __init__(
        self, config: str = "", *, demo: Iterable[str] = QUICK, env: Mapping[str, str] | None = None
    ) -> None:
        # Short, since a socket's path is: pytest's own folders are too long on some systems.
        self.root = Path(tempfile.mkdtemp(prefix="ad-", dir="/tmp")).resolve()
        self.home = self.root / "home"
        self.work = self.root / "work"
        self.state = self.root / "state"
        self.config = self.root / "config.toml"
        self.socket = self.root / "run" / "agentd.sock"
        for folder in (self.home, self.work, self.socket.parent):
            folder.mkdir(mode=0o700)
        self.configure(config, demo=demo)
        self.env = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "TMPDIR": str(self.root),
            "AGENTD_SOCKET": str(self.socket),
            "AGENTD_STATE_DIR": str(self.state),
            "AGENTD_CONFIG": str(self.config),
            **(env or {}),
        }
        self.tmux = Tmux(self.socket.with_suffix(".tmux.sock"), self.env)
        self.client = Client(self.socket, timeout=PATIENCE)
        self.log = self.root / "daemon.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._commands: list[Running] = []

    def __repr__(self) -> str:
        return f"<Daemon in {self.root}: {'runs' if self.runs else 'does not run'}>"

    def configure(self, config: str = "", *, demo: Iterable[str] = QUICK) -> None:
        """Write the config; a daemon that runs reads it by itself."""
        table = (
            f"[adapters.demo]\nargs = {json.dumps(list(demo))}\n" if "[adapters.demo]" not in config else ""
        )
        self.config.write_text(table + config)

    # The daemon's life ----------------------------------------------------------------------------

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and wait for its ready line."""
        out = self.root / "daemon.out"
        with out.open("wb") as stdout, self.log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [*self.SERVE, "--log-level", "debug"],
                env=self.env,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )

        def ready() -> bool:
            assert self.runs, f"the daemon ended:\n{self.log.read_text()}"
            return out.read_text() == f"agentd: ready on {self.socket}\n"

        until("the daemon's ready line", ready)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it with a signal; its status. Agents live on."""
        assert self._process is not None
        self._process.send_signal(how)
        return self._process.wait(PATIENCE)

    def restart(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.end(how)
        self.start()

    # The command line -----------------------------------------------------------------------------

    def begin(
        self,
        *words: str,
        given: bytes | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Running:
        """Start a command. `given` is its standard input."""
        process = subprocess.Popen(
            [*AGENTD, *words],
            env={**self.env, **(env or {})},
            cwd=cwd or self.work,
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if given is not None:
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.write(given)
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdin = None
        running = Running(process)
        self._commands.append(running)
        return running

    def run(
        self,
        *words: str,
        given: bytes | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
    ) -> Completed:
        """Run a command to its end."""
        return self.begin(*words, given=given, cwd=cwd, env=env).finish(timeout)

    # What it knows --------------------------------------------------------------------------------

    def get(self, path: str, **query: str) -> Any:
        return self.client.request("GET", path, query=query)[1]

    def agents(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/v1/agents")
        return found

    def agent(self, name: str = "demo-work") -> dict[str, Any]:
        """What `agentd show --json` prints."""
        found: dict[str, Any] = self.get(f"/v1/agents/{name}")
        return found

    def has(self, name: str) -> dict[str, Any] | None:
        """The agent, or None while there is none."""
        try:
            return self.agent(name)
        except ApiError:
            return None

    def explained(self, name: str = "demo-work") -> dict[str, Any]:
        """What `agentd explain --json` prints."""
        facts: dict[str, Any] = self.get(f"/v1/agents/{name}/explain")
        return facts

    def reaches(self, state: str, name: str = "demo-work", seconds: float = PATIENCE) -> dict[str, Any]:
        """Wait until the agent is in this state."""

        def there() -> dict[str, Any] | None:
            agent = self.has(name)
            return agent if agent and agent["state"] == state else None

        try:
            return until(f"{name} is {state}", there, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is: {self.has(name)}") from error

    def pane(self, name: str = "demo-work") -> Pane:
        """The agent's pane."""
        where = self.agent(name)["tmux"]
        assert where["pane"], f"{name} has no pane"
        return Pane(self.tmux, where["pane"])

    def record(self, name: str = "demo-work") -> list[dict[str, Any]]:
        """The demo agent's own record."""
        path = self.state / "agents" / name / "demo-record.jsonl"
        if not path.exists():
            return []
        # The last line may be half written.
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]

    def prompts(self, name: str = "demo-work") -> list[str]:
        """Every prompt that the demo agent took in, as it got it."""
        return [row["text"] for row in self.record(name) if row["type"] == "user"]

    def wrote(self, kind: str, name: str = "demo-work", count: int = 1) -> dict[str, Any]:
        """Wait for the record's `count`th row of this kind."""

        def found() -> dict[str, Any] | None:
            rows = [row for row in self.record(name) if row["type"] == kind]
            return rows[count - 1] if len(rows) >= count else None

        return until(f"{count} {kind} in the record of {name}", found)

    def let_go(self) -> None:
        """What `HOLD` holds may go on, from now on."""
        (self.work / "go").touch()

    # From beginning to end ------------------------------------------------------------------------

    def __enter__(self) -> Daemon:
        try:
            self.start()
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except Exception as leaving:
            if error is None:
                raise
            error.add_note(f"and at the end: {leaving}")
        if error is not None:
            error.add_note(self._log_tail)

    def close(self) -> None:
        """Stop the agents, end the daemon, and see that nothing is left."""
        try:
            for command in self._commands:
                if command.process.poll() is None:
                    command.kill()
            if not self.runs:
                self.start()  # it takes the agents over, to end them
            with suppress(ClientError):
                self.client.request("DELETE", "/v1/agents")
            self.end()
            with suppress(AssertionError):
                until("nothing is left", lambda: not processes.belonging_to(self.root), ENDING_S)
        finally:
            left = self._clear()
        assert not left, "left behind:\n" + "\n".join(left) + self._log_tail

    def _clear(self) -> list[str]:
        """Whatever happened: no process and no file of ours stays. Returns the processes that did."""
        self._log_tail = "\nthe daemon's log:\n" + self.log.read_text()[-4000:] if self.log.exists() else ""
        left = processes.belonging_to(self.root)
        said = list(processes.words(left))
        processes.kill(left)
        if self._process:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.root, ignore_errors=True)
        return said

    _log_tail = ""
