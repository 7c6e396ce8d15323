"""Where a run happens: the daemon, what is wrong with the world at the moment, and the history of it all."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentd.api.client import ClientError
from agentd.testing.chaos import disk
from agentd.testing.chaos.plan import Plan, Step
from agentd.testing.daemon import Completed, Daemon

EVERYBODY = ""
"""The agent of what befalls all of them."""


@dataclass(frozen=True)
class Line:
    """One line of the history. `at` is in seconds from the start."""

    at: float
    step: int
    text: str

    def __str__(self) -> str:
        return f"{self.at:7.2f}  {f'#{self.step}' if self.step else '':>5}  {self.text}"


@dataclass
class Trouble:
    """Something that may end a turn or a CLI, from its beginning to its end (epoch seconds)."""

    what: str
    agent: str
    since: float
    until: float = float("inf")


@dataclass(frozen=True)
class Call:
    """A `send` and what its caller saw of it. `done` is None for one that was killed."""

    step: Step
    began: float
    ended: float
    done: Completed | None
    told: Mapping[str, Any] | None
    """What `--json` printed."""
    left: str | None
    """The signal that its caller was sent."""


@dataclass(frozen=True)
class Window:
    """A window that a person opened in an agent's session, and when."""

    agent: str
    pid: int
    opened: float


class ChaosDaemon(Daemon):
    """A daemon whose disk can fail."""

    SERVE = (sys.executable, "-P", "-m", disk.__name__, "serve")


@dataclass
class World:
    """What the steps share. The daemon is stopped, started and frozen under `power` alone."""

    plan: Plan
    daemon: ChaosDaemon
    start: float = field(default_factory=time.time)
    power: threading.RLock = field(default_factory=threading.RLock)
    lines: list[Line] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    down: bool = False
    """The daemon was ended, or is frozen, by a step."""

    # The history ----------------------------------------------------------------------------------

    def say(self, text: str, step: Step | None = None) -> None:
        self.lines.append(Line(time.time() - self.start, step.number if step else 0, text))

    def breaks(self, rule: str) -> None:
        """A rule is broken."""
        self.broken.append(rule)
        self.say(f"BROKEN: {rule.splitlines()[0]}")

    @contextmanager
    def trouble(self, what: str, agent: str) -> Iterator[None]:
        """Something that may end turns or CLIs goes on."""
        trouble = Trouble(what, agent, time.time())
        self.troubles.append(trouble)
        try:
            yield
        finally:
            trouble.until = time.time()

    def cause(self, agent: str, since: float, until: float, whats: tuple[str, ...] = ()) -> bool:
        """Whether there was such a trouble for this agent at that time."""
        return any(
            trouble.agent in (agent, EVERYBODY)
            and (not whats or trouble.what in whats)
            and trouble.since <= until
            and trouble.until >= since
            for trouble in list(self.troubles)
        )

    # Asking the daemon ------------------------------------------------------------------------------

    def agents(self) -> list[dict[str, Any]]:
        """What `agentd list` tells; nothing while no daemon answers."""
        try:
            return self.daemon.agents()
        except ClientError:
            return []

    def agent(self, name: str) -> dict[str, Any] | None:
        return next((agent for agent in self.agents() if agent["name"] == name), None)

    def pids(self) -> dict[str, int]:
        """The CLIs that live, by their agents."""
        return {agent["name"]: agent["pid"] for agent in self.agents() if agent["pid"]}

    def spool(self, name: str) -> Path | None:
        """The file that the hooks of this agent's CLI append to now."""
        folder = self.daemon.state / "agents" / name
        found = sorted(folder.glob("spool-*.jsonl"), key=lambda path: int(path.stem.split("-")[1]))
        return found[-1] if found else None

    # The daemon's power -----------------------------------------------------------------------------

    def restart(self, how: signal.Signals, pause: float) -> None:
        with self.power:
            self.down = True
            status = self.daemon.end(how)
            if how == signal.SIGTERM and status != 0:
                self.breaks(f"the daemon ended with status {status} after SIGTERM")
            time.sleep(pause)
            self.daemon.start()
            self.down = False

    @contextmanager
    def frozen(self, *pids: int, daemon: bool = False) -> Iterator[None]:
        """These processes stand still, as those of a laptop that sleeps."""
        with self.power if daemon else _nothing():
            everybody = [*pids, *([self.daemon.pid] if daemon else [])]
            self.down = self.down or daemon
            try:
                for pid in everybody:
                    _signal(pid, signal.SIGSTOP)
                yield
            finally:
                for pid in everybody:
                    _signal(pid, signal.SIGCONT)
                self.down = self.down and not daemon

    @contextmanager
    def disk(self, how: str) -> Iterator[None]:
        """The disk of the state directory is `full` or `slow`."""
        flag = self.daemon.root / how
        flag.touch()
        try:
            yield
        finally:
            flag.unlink(missing_ok=True)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def told(done: Completed) -> Mapping[str, Any] | None:
    """Standard output as one JSON object, or None where it is none."""
    try:
        data = json.loads(done.stdout)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
