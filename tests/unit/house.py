"""A state directory and a terminal in which one daemon after another lives, without its HTTP part."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
import trio.testing

from agentd.agents.clock import Clock
from agentd.agents.hub import Hub
from agentd.agents.owner import Owner
from agentd.agents.services import Services
from agentd.agents.supervisor import Supervisor
from agentd.config import Config
from agentd.contract import Policy
from agentd.ledger import Ledger
from agentd.model import Kind, Mode, Outcome, State
from agentd.testing.terminal import FakeTerminal
from tests.unit.story import Tiny
from tests.unit.test_owner import Starter, StillWatcher


class House:
    """A store and a terminal that outlive their daemons."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = Config()
        self.adapter = Tiny()
        self.launched: Callable[[], None] = lambda: None
        self.starter: Starter
        self.store = Ledger(folder / "store.db")
        self.terminal = FakeTerminal()

    @asynccontextmanager
    async def daemon(self) -> AsyncIterator[Supervisor]:
        """A supervisor that has adopted what is there. At the end it is gone at once, as by SIGKILL."""
        self.starter = Starter(self.terminal, self.launched)
        services = Services(self.store, Hub(), self.terminal, StillWatcher(), Clock(1000.0), self.starter)
        adapters = {"tiny": self.adapter}
        folder, home = self.folder / "agents", Path("/home/x")
        supervisor = Supervisor(adapters, services, folder, lambda: self.config, Policy, home)
        async with trio.open_nursery() as nursery:
            await nursery.start(supervisor.run)
            yield supervisor
            nursery.cancel_scope.cancel()

    def agent(self, supervisor: Supervisor) -> Owner:
        return supervisor.ensure("tiny", cwd=str(self.folder))

    def send(self, supervisor: Supervisor, id: str, text: str = "hi", *, awaited: bool = True) -> str:
        owner = self.agent(supervisor)
        return supervisor.submit(owner, text, id=id, mode=Mode.QUEUE, awaited=awaited)

    async def ready_agent(self, supervisor: Supervisor, **where: Any) -> Owner:
        """An agent that has answered a first message."""
        owner = supervisor.ensure("tiny", **{"cwd": str(self.folder), **where})
        supervisor.submit(owner, "first", mode=Mode.QUEUE)
        await trio.testing.wait_all_tasks_blocked()
        self.terminal[owner.name].show("> ")
        self.hook(owner, Kind.SESSION_STARTED, session_id="s1")
        await trio.testing.wait_all_tasks_blocked()
        self.hook(owner, Kind.PROMPT_TAKEN, text="first", key="k1")
        self.hook(owner, Kind.TURN_DONE, reply="hello", key="k1")
        await trio.testing.wait_all_tasks_blocked()
        assert owner.state is State.READY, owner
        return owner

    def hook(self, owner: Owner, kind: Kind, **data: Any) -> None:
        """A line of the CLI's hook, of which the owner is told."""
        self.write_hook(owner, kind, **data)
        owner._wake()

    def write_hook(self, owner: Owner, kind: Kind, **data: Any) -> None:
        with owner.life.spool.open("a") as spool:
            spool.write(json.dumps({"time": 1.0, "hook": {"kind": kind, **data}}) + "\n")

    def outcome(self, id: str) -> Outcome | None:
        result = self.store.result(id)
        assert result
        return result.outcome
