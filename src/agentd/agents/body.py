"""The pane is the body: a CLI in its terminal, started, watched, looked at, typed to and ended.

Only the agent's owner uses it. What it notices by itself it says as `Ended` and `Found`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import trio

from agentd import processes
from agentd.adapter import Adapter, Keys, Tenant, Unsupported
from agentd.agents.life import Life, Records
from agentd.agents.services import Services
from agentd.screen import Look, Screen
from agentd.tmux.server import TmuxError
from agentd.tmux.terminal import PaneRef

log = logging.getLogger(__name__)

GRACE_S = 3.0
"""From SIGTERM to SIGKILL when a CLI is ended."""
ENTER_AGAIN_S = 2.0
POLITE_S = 10.0
"""How long a CLI may take to leave by its own command."""
SEARCH_S = 30.0
SEARCH_EVERY_S = 0.1
"""How long, and how often, a CLI's open files are looked at after a prompt: Codex makes its record 35-65 ms
after the first Enter."""
LAST_LINES = 30
"""tmux scrolls a dead pane by a line or two: the reason may have left the screen."""


@dataclass(frozen=True)
class Ended:
    """The program of this pane has ended."""

    pane: PaneRef
    status: int | None


@dataclass(frozen=True)
class Found:
    """Records were found among the files that the CLI holds open."""

    records: Mapping[str, Path]
    from_end: bool


class Body:
    """One agent's pane; `life.pane` says which. `say` is called with what is noticed. `nursery` is the
    owner's, which ends every watch with the owner."""

    nursery: trio.Nursery

    def __init__(
        self,
        life: Life,
        adapter: Adapter,
        services: Services,
        records: Records,
        say: Callable[[Ended | Found], None],
    ) -> None:
        self._life = life
        self._adapter = adapter
        self._launcher = services.launcher
        self._terminal = services.terminal
        self._records = records
        self._say = say
        self._watching: trio.CancelScope | None = None
        self._searching: trio.CancelScope | None = None

    @property
    def _pane(self) -> PaneRef:
        if self._life.pane is None:
            raise TmuxError(f"{self._life.row.name} has no pane")
        return self._life.pane

    async def start(self, resume: str | None) -> str | None:
        """Start the CLI; the session id, where it is known at birth.

        Raises:
            LaunchError, TmuxError, OSError: it can't be started.
        """
        try:
            pane, session_id = await self._launcher.launch(self._life, self._records, resume)
        except BaseException:
            with trio.CancelScope(shield=True):
                await self.release()
            raise
        self._life.pane = pane
        self.watch(pane)
        if resume:
            self.search(from_end=True)
        return session_id

    def watch(self, pane: PaneRef) -> None:
        """Say when the pane's program has ended."""
        scope = self._watching = trio.CancelScope()

        async def watch() -> None:
            with scope:
                status = await self._terminal.gone(pane)
                self._say(Ended(pane, status))

        self.nursery.start_soon(watch)

    def search(self, *, from_end: bool = False) -> None:
        """Look for the CLI's records among the files it holds open, and say when they are found."""
        if not self._life.search:
            return
        pane, memory = self._pane, dict(self._life.reader_memory)
        if self._searching:
            self._searching.cancel()
        scope = self._searching = trio.CancelScope()
        scope.deadline = trio.current_time() + SEARCH_S

        def look() -> Mapping[str, Path]:
            return self._adapter.records(processes.open_files(pane.pid, pane.started), memory)

        async def search() -> None:
            with scope:
                try:
                    found = await trio.to_thread.run_sync(look)
                    while not found:
                        await trio.sleep(SEARCH_EVERY_S)
                        found = await trio.to_thread.run_sync(look)
                except Exception:
                    # An adapter's mistake must not end the daemon.
                    log.exception("%s: its records could not be searched for", self._life.row.name)
                    return
                self._say(Found(found, from_end))

        self.nursery.start_soon(search)

    async def screen(self) -> Screen:
        return await self._terminal.screen(self._pane)

    async def look(self) -> Look:
        """What the screen says to the adapter."""
        return self._adapter.look(await self.screen())

    async def last_lines(self) -> str:
        """The end of what a dead CLI said."""
        try:
            return (await self._terminal.screen(self._pane, history=LAST_LINES)).tail()
        except TmuxError:
            # The pane went with its program.
            return ""

    async def paste(self, text: str) -> None:
        await self._terminal.paste(self._pane, text)

    async def press(self, keys: Keys) -> None:
        await self._terminal.press(self._pane, keys)

    async def exists(self) -> bool:
        """Whether the pane is there; a terminal that doesn't say leaves it so."""
        try:
            return (await self._terminal.status(self._pane)).exists
        except TmuxError:
            return True

    async def leave(self) -> None:
        """Ask the CLI to leave by its own command, where it has one."""
        if self._life.pane is None or self._adapter.leave is None:
            return
        with trio.move_on_after(POLITE_S):
            try:
                await self.press(self._adapter.clear)
                await self.paste(self._adapter.leave)
                while True:
                    # Some CLIs complete the command with the first Enter.
                    await self.press(Keys(("Enter",)))
                    with trio.move_on_after(ENTER_AGAIN_S) as patience:
                        await self._terminal.gone(self._pane)
                    if not patience.cancelled_caught:
                        return
            except TmuxError as error:
                log.warning("%s: %s", self._life.row.name, error)

    async def drop(self) -> list[str]:
        """End what is left of the pane: children that outlived the CLI, and the pane itself. Returns what
        outlived even SIGKILL, in words."""
        pane = self._life.pane
        if pane is None:
            return []
        for scope in (self._watching, self._searching):
            if scope:
                scope.cancel()
        try:
            return await self._terminal.end(pane, GRACE_S)
        except TmuxError as error:
            log.warning("%s: %s", self._life.row.name, error)
            return []
        finally:
            self._life.pane = None
            await self.release()

    async def release(self) -> None:
        """No CLI of this agent lives: give the workspace its files back."""
        if not isinstance(self._adapter, Tenant):
            return
        try:
            row = self._life.row
            await trio.to_thread.run_sync(self._adapter.release, row.name, self._life.folder)
        except Unsupported as error:
            log.warning("%s: %s", self._life.row.name, error)
