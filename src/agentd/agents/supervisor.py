"""The supervisor: starts, finds, adopts and stops owners. It knows names; owners know lives."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import trio

from agentd.adapter import Adapter
from agentd.agents import adoption, bridging
from agentd.agents import effects as fx
from agentd.agents.callers import BACK_S, NOT_BACK
from agentd.agents.life import Life
from agentd.agents.machine import Machine
from agentd.agents.owner import SLEEP_S, Owner
from agentd.agents.pruning import Pruned, Pruner
from agentd.agents.services import Services
from agentd.agents.wishes import Wishes
from agentd.config import Config
from agentd.contract import Policy, format_duration
from agentd.ledger import Unwritable
from agentd.model import Message, Mode
from agentd.store import AgentRow
from agentd.tmux.sanitise import sanitise
from agentd.tmux.server import TmuxError

log = logging.getLogger(__name__)

AWAKE_EVERY_S = 30.0
"""How often it is looked whether the machine has slept."""
LONGEST_NAME = 100
"""It is a part of file names, which may have 255 bytes."""
NAME = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST_NAME - 1}}}\Z")


class TargetError(Exception):
    """A target or a wish that can't be met. `code`: `unknown`, `usage` or `conflict`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def _conflict(owner: Owner, wishes: Wishes, differences: list[str]) -> TargetError:
    ways = ["use another --name"]
    if wishes.provider in (None, owner.life.row.provider):
        ways.insert(0, "start it anew with --restart")
    return TargetError("conflict", f"{owner.name} has {', '.join(differences)}; {', or '.join(ways)}")


class Supervisor:
    """All agents of this daemon."""

    def __init__(
        self,
        adapters: Mapping[str, Adapter],
        services: Services,
        folder: Path,
        config: Callable[[], Config],
        policy: Callable[[], Policy],
        home: Path,
        tools: Callable[[str], tuple[str, ...]] = lambda agent: (),
    ) -> None:
        self.adapters = adapters
        self.services = services
        self.owners: dict[str, Owner] = {}
        self.closing = False
        """The daemon goes away: a request that ends now is no wish of its caller's."""
        self._folder = folder
        self._config = config
        self._policy = policy
        self._home = home
        self._tools = tools
        self._nursery: trio.Nursery | None = None

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Adopt what an earlier daemon left, and own agents until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for row in self.services.store.agents():
                await self._adopt(row)
            expected = [
                (owner, message.id)
                for owner in self.owners.values()
                for message in self.services.store.open_messages(owner.name)
                if message.awaited
            ]
            nursery.start_soon(self._expect_callers, expected)
            task_status.started()
            await self._notice_sleep()

    async def _notice_sleep(self) -> None:
        """trio's clock stands still while the machine sleeps: what is due by real time is late after that."""
        clock, asleep = self.services.clock, self.services.clock.asleep()
        while True:
            await trio.sleep(AWAKE_EVERY_S)
            if clock.asleep() - asleep >= SLEEP_S:
                log.info("the machine slept for %s", format_duration(round(clock.asleep() - asleep)))
                asleep = clock.asleep()
                for owner in self.owners.values():
                    owner.tell(fx.Tick())

    async def _expect_callers(self, expected: list[tuple[Owner, str]]) -> None:
        """Who waited for a message when an earlier daemon ended comes back for it, or has left."""
        await trio.sleep(BACK_S)
        for owner, message in expected:
            if not self.closing and not self.services.callers.wait_for(message):
                owner.tell(fx.Withdraw(message, NOT_BACK))

    async def _adopt(self, row: AgentRow) -> None:
        adapter = self.adapters.get(row.provider)
        if adapter is None:
            log.warning("%s: no adapter for %s is installed", row.name, row.provider)
            return
        life = adoption.load(row, self._folder / row.name, self.services)
        await adoption.adopt(self._own(life, adapter), self.services)

    def _own(self, life: Life, adapter: Adapter) -> Owner:
        assert self._nursery is not None
        name = life.row.name
        policy = self._policy()
        machine = Machine(
            name,
            adapter,
            readiness=policy.readiness_for(adapter.provider),
            retention_s=policy.retention_s,
            new_id=lambda: uuid.uuid4().hex[:12],
            memory=life.memory,
            messages=self.services.store.open_messages(name),
            trusted=lambda: self._config().trusts(Path(life.row.cwd), self._home),
        )
        owner = Owner(life, adapter, machine, self.services)
        self.owners[name] = owner
        self._nursery.start_soon(owner.run)
        return owner

    def reconfigure(self) -> None:
        """The config was read again: its limits and its trust list count for living agents too."""
        policy = self._policy()
        for owner in self.owners.values():
            machine = owner.machine
            machine.readiness = policy.readiness_for(owner.adapter.provider)
            machine.retention_s = policy.retention_s
            owner.tell(fx.Tick())  # its next deadline may be another one now

    # Finding and making ---------------------------------------------------------------------------

    def provider(self, target: str) -> str | None:
        """The provider that a target names, by its own name or an alias."""
        for name, adapter in self.adapters.items():
            if target == name or target in adapter.aliases:
                return name
        return None

    def find(self, target: str, cwd: str | None) -> Owner | None:
        """The agent that a target means, if there is one."""
        if owner := self.owners.get(target):
            return owner
        provider = self.provider(target)
        if provider is None or cwd is None:
            return None
        place = str(Path(cwd).resolve())
        mine = [o for o in self.owners.values() if (o.life.row.provider, o.life.row.cwd) == (provider, place)]
        return next((o for o in mine if o.life.default), mine[0] if len(mine) == 1 else None)

    def ensure(
        self,
        target: str,
        *,
        cwd: str | None,
        name: str | None = None,
        model: str | None = None,
        tools: bool = True,
    ) -> Owner:
        """The agent that a target means, made if it is a provider and there is none. `tools`: it must have
        those that the config gives it now.

        Raises:
            TargetError: no such agent or provider, a bad name or directory, or a living agent whose
                directory, provider, model or tools are others.
        """
        if name is not None:
            self._check_name(name)
        provider = self.provider(target)
        owner = self._named(target, name, cwd)
        if owner is None and provider is None:
            known = ", ".join([*self.adapters, *self.owners])
            raise TargetError("unknown", f"no agent and no provider is called {target!r}; there are: {known}")
        if owner:
            wishes = self._wishes(owner, target, name, cwd, model, tools=tools)
            if differences := wishes.differences(owner.life, alive=owner.state.alive):
                raise _conflict(owner, wishes, differences)
            if model and model != owner.life.row.model:
                self.services.store.save_agent(replace(owner.life.row, model=model))
                owner.life.row.model = model
            return owner
        assert provider is not None
        place = self._directory(cwd)
        row = AgentRow(
            name or self._free_name(provider, place),
            str(uuid.uuid4()),
            provider,
            str(place),
            model,
            self.services.clock.now(),
        )
        life = Life(row, self._folder / row.name, default=name is None, clock=self.services.clock.anchor)
        life.save_whole(self.services.store)
        return self._own(life, self.adapters[provider])

    def _check_name(self, name: str) -> None:
        if not NAME.match(name):
            rule = f"use a-z, 0-9, _ and -, beginning with a-z or 0-9, {LONGEST_NAME} at the most"
            raise TargetError("usage", f"{name!r} is no name: {rule}")
        if (provider := self.provider(name)) and name not in self.owners:
            raise TargetError(
                "usage", f"{name!r} means the provider {provider}, and can't be the name of one agent"
            )

    @staticmethod
    def _directory(cwd: str | None) -> Path:
        if cwd is None or not Path(cwd).is_absolute():
            raise TargetError("usage", "a provider as target needs an absolute directory (`cwd`)")
        if not Path(cwd).is_dir():
            raise TargetError("usage", f"{cwd} is no directory")
        return Path(cwd).resolve()

    async def refit(
        self, target: str, *, cwd: str | None, name: str | None, model: str | None, by: str
    ) -> None:
        """Let the agent that a target means be what is wanted now, if there is one: its CLI is ended, and its
        next start is another.

        Raises:
            TargetError: it is another provider's, it is in use, or there is no such directory.
            Unwritable, TmuxError: what is wanted can't be written down, or the pane can't be read.
        """
        owner = self._named(target, name, cwd)
        if owner is None:
            return
        wishes = self._wishes(owner, target, name, cwd, model)
        differences = wishes.differences(owner.life, alive=owner.state.alive)
        if not differences:
            return
        if wishes.provider not in (None, owner.life.row.provider):
            raise _conflict(owner, wishes, differences)
        if wishes.elsewhere(owner.life):
            self._directory(wishes.cwd)
        done = False
        problem: Unwritable | TmuxError | None = None

        async def deed() -> bool:
            nonlocal done, problem
            try:
                done = await owner.refit(wishes, by)
            except (Unwritable, TmuxError) as error:
                problem = error
            return False

        await owner.last(deed)
        if problem:
            raise problem
        if not done:
            raise TargetError(
                "conflict",
                f"{owner.name} is in use and can't be started anew with other wishes; "
                f"wait for it (agentd wait {owner.name}) or stop it (agentd stop {owner.name})",
            )

    def _named(self, target: str, name: str | None, cwd: str | None) -> Owner | None:
        return self.owners.get(name) if name else self.find(target, cwd)

    def _wishes(
        self,
        owner: Owner,
        target: str,
        name: str | None,
        cwd: str | None,
        model: str | None,
        *,
        tools: bool = True,
    ) -> Wishes:
        """What a command's words ask of this agent. Where its own name is the target, the directory is just
        the place that the command was given in."""
        provider = self.provider(target) if target not in self.owners else None
        wanted = self._tools(owner.name) if tools else None
        return Wishes(provider, cwd if name else None, model, wanted)

    def _free_name(self, provider: str, place: Path) -> str:
        folder = re.sub(r"[^a-z0-9_-]+", "-", place.name.lower()).strip("-_") or "root"
        base = f"{provider}-{folder}"[: LONGEST_NAME - len("-99999")]
        taken = {*self.owners}
        number = 2
        name = base
        while name in taken:
            name, number = f"{base}-{number}", number + 1
        return name

    def holder(self, token: str) -> Owner | None:
        """The agent whose bridge was given this token."""
        return next((o for o in self.owners.values() if bridging.fits(o.life, token)), None)

    async def prune(self, older_than_s: float | None = None, *, dry_run: bool = False) -> Pruned:
        """Remove the agents that have not been in use for so many seconds (by default as long as the history
        is kept), and the folders of no agent."""
        if older_than_s is None:
            older_than_s = self._config().history.keep_s
        pruner = Pruner(self.owners, self.services, self._folder)
        return await pruner.prune(self.services.clock.now() - older_than_s, dry_run=dry_run)

    # Messages and ends ----------------------------------------------------------------------------

    def submit(
        self,
        owner: Owner,
        text: str,
        *,
        id: str | None = None,
        mode: Mode,
        raw: bool = False,
        deadline_s: float | None = None,
        awaited: bool = False,
    ) -> str:
        """Store a message and hand it to its agent, once: the message of an `id` that is known already is
        that message. Returns its id.

        What can't be pasted is dropped at once: the adapter's guard shall see the first character that
        the CLI will see, and the record's prompt shall be known again.

        Raises:
            TargetError: the id is that of another agent's message, or of another text.
        """
        message = Message(
            id or uuid.uuid4().hex,
            owner.name,
            sanitise(text),
            mode,
            raw,
            self.services.clock.now(),
            deadline_s,
            awaited=awaited,
        )
        known = self.services.store.message(message.id)
        if known is None:
            owner.submit(message)
        elif not known.same_wish(message):
            raise TargetError("conflict", f"there is another message {message.id} already; nothing was sent")
        return message.id

    def receiver(self, message: Message, target: str, *, cwd: str | None, name: str | None) -> Owner:
        """The agent of a message that was sent before, when it is sent again.

        Raises:
            TargetError: the target means another agent.
        """
        owner = self._named(target, name, cwd)
        if owner is None or owner.name != message.agent:
            raise TargetError(
                "conflict", f"message {message.id} was sent to {message.agent}; nothing was sent"
            )
        return owner

    async def stop(self, owner: Owner, by: str) -> bool:
        """End an agent; returns whether there was anything to end."""
        was = bool(owner.life.pane) or owner.state.alive
        self.services.calls.cancel(owner.name, f"by {by}")
        await owner.ask(fx.Stop(by))
        return was

    async def stop_all(self, by: str) -> list[str]:
        """End every agent, side by side."""
        stopped: list[str] = []

        async def one(owner: Owner) -> None:
            if await self.stop(owner, by):
                stopped.append(owner.name)

        async with trio.open_nursery() as nursery:
            for owner in self.owners.values():
                nursery.start_soon(one, owner)
        return sorted(stopped)
