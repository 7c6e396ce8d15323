"""Removing agents that no longer serve: row, history and folder. Never by itself; somebody asks for it.

An agent is removed in its owner's turn, so that no prompt can come in between. Its history goes first, in
small steps; if a prompt arrives meanwhile, the agent stays, with its last result.
"""

from __future__ import annotations

import logging
import math
import shutil
import uuid
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from agentd.agents.life import Life
from agentd.agents.owner import Owner
from agentd.agents.services import Services
from agentd.history import STEP, step_by_step

log = logging.getLogger(__name__)

REMOVED = ".pruned-"
"""A folder is renamed to this before it is removed, so that a new agent may have its name at once."""


@dataclass
class Pruned:
    """What was removed: agents by name, and folders that belonged to none."""

    agents: list[str] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)


class Pruner:
    """`owners` are those of the supervisor; an owner whose agent is removed goes from there. `folder` is that
    of all agents."""

    def __init__(self, owners: MutableMapping[str, Owner], services: Services, folder: Path) -> None:
        self._owners = owners
        self._services = services
        self._folder = folder

    async def prune(self, before: float, *, dry_run: bool = False) -> Pruned:
        """Remove the agents that are not in use since before this time, and the folders of no agent."""
        pruned = Pruned()
        for owner in sorted(self._owners.values(), key=lambda o: o.name):
            if self._unused(owner.life, before) and (
                dry_run or await owner.last(partial(self._remove_owned, owner, before))
            ):
                pruned.agents.append(owner.name)
        for row in self._services.store.agents():
            life = Life.load(row, self._folder / row.name)
            # Its adapter isn't installed any more.
            ownerless = row.name not in self._owners and self._unused(life, before)
            if ownerless and row.name not in pruned.agents:
                if not dry_run:
                    await self._remove(life, before)
                pruned.agents.append(row.name)
        pruned.folders = self._orphans()
        if not dry_run:
            for path in pruned.folders:
                self._put_away(path)
            await self._clear_away()
            if pruned.agents or pruned.folders:
                log.info("pruned %s", ", ".join([*pruned.agents, *map(str, pruned.folders)]))
        return pruned

    def _unused(self, life: Life, before: float) -> bool:
        """Whether nothing lives, waits or runs there, for so long."""
        memory, name = life.memory, life.row.name
        if memory.state.alive or memory.ending_since is not None or life.pane is not None:
            return False
        if self._services.store.open_messages(name) or self._services.calls.of(name):
            return False
        return max(memory.since, memory.last_used_at, life.row.created_at) <= before

    async def _remove_owned(self, owner: Owner, before: float) -> bool:
        await owner.body.release()
        if not await self._remove(owner.life, before):
            return False
        del self._owners[owner.name]
        return True

    async def _remove(self, life: Life, before: float) -> bool:
        store, name = self._services.store, life.row.name

        def step() -> int:
            if not self._unused(life, before):
                return 0
            return store.trim_turns(name, math.inf, STEP) + store.trim_events_of(name, STEP)

        await step_by_step(step)
        if not self._unused(life, before):
            return False
        # From here to the end nothing is awaited.
        store.forget(name)
        self._put_away(life.folder)
        return True

    # Folders --------------------------------------------------------------------------------------

    def _orphans(self) -> list[Path]:
        """Folders here that belong to no agent. Files are of all agents, and are left alone."""
        known = {*self._owners, *self._services.store.names()}
        with suppress(FileNotFoundError):
            folders = [path for path in self._folder.iterdir() if path.is_dir() and not path.is_symlink()]
            return sorted(p for p in folders if p.name not in known and not p.name.startswith("."))
        return []

    def _put_away(self, path: Path) -> None:
        try:
            path.rename(self._folder / f"{REMOVED}{uuid.uuid4().hex}")
        except FileNotFoundError:
            pass  # an agent that was never started has none
        except OSError as error:
            log.warning("%s can't be removed: %s", path, error)

    async def _clear_away(self) -> None:
        """Remove what was put away, by a daemon that was killed in the middle too."""
        for path in self._folder.glob(f"{REMOVED}*"):
            await trio.to_thread.run_sync(partial(shutil.rmtree, path, ignore_errors=True))
            if path.exists():
                log.warning("%s can't be removed", path)
