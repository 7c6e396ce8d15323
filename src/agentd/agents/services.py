"""What the owners of all agents share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from agentd.agents.callers import Callers
from agentd.agents.calls import Calls
from agentd.agents.clock import Clock
from agentd.agents.hub import Hub, Published
from agentd.agents.life import Life, Records
from agentd.ledger import Ledger
from agentd.model import Event, Failure
from agentd.records.watch import FileWatcher
from agentd.tmux.terminal import PaneRef, Terminal


class Launcher(Protocol):
    """Starts an agent's CLI in a pane (the supervisor's part: programs, environment, bridge)."""

    async def launch(self, life: Life, records: Records, resume: str | None) -> tuple[PaneRef, str | None]:
        """Returns the pane and the session id, where it is known at birth.

        Raises:
            LaunchError: the CLI can't be started.
        """
        ...


class LaunchError(Exception):
    """The CLI can't be started; carries why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Services:
    """What owners share."""

    store: Ledger
    hub: Hub
    terminal: Terminal
    watcher: FileWatcher
    clock: Clock
    launcher: Launcher
    calls: Calls = field(default_factory=Calls)
    callers: Callers = field(default_factory=Callers)

    def publish(self, agent: str, event: Event) -> None:
        """Write an event down, and tell whoever listens."""
        seq = self.store.write(lambda book: book.add_event(agent, event))
        self.hub.publish(Published(seq, agent, event))
