"""A terminal without tmux: the test says what a pane shows, and reads what was typed into it.

    terminal = FakeTerminal()
    ...                                  # an owner starts its CLI in it
    pane = terminal["claude-code-here"]
    pane.show("> ")                      # the screen from now on
    assert pane.typed == ["text:do it", "Enter"]
    pane.die(1)                          # the program ends; `gone` returns

`on_input` makes it a scripted program: it is called after each paste and each key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import trio

from agentd.adapter import Keys
from agentd.screen import Screen
from agentd.tmux.server import TmuxError
from agentd.tmux.terminal import PaneRef, PaneStatus


@dataclass
class FakePane:
    """One pane: its program as it was started, its screen, and what was typed into it."""

    ref: PaneRef
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    tag: str
    lines: tuple[str, ...] = ()
    attached: bool = False
    typed: list[str] = field(default_factory=list)
    """Each paste as `text:...`, each key by its name, in order."""
    exists: bool = True
    status: int | None = None
    left: list[str] = field(default_factory=list)
    """What outlives the pane's end, in words."""
    _ended: trio.Event = field(default_factory=trio.Event)

    def __repr__(self) -> str:
        state = "GONE" if not self.exists else f"DEAD ({self.status})" if self.dead else "ALIVE"
        return f"<FakePane {self.ref.session} {state}, typed: {len(self.typed)}>"

    @property
    def dead(self) -> bool:
        return self._ended.is_set()

    def show(self, *lines: str) -> None:
        """What the pane shows from now on."""
        self.lines = lines

    def die(self, status: int | None = 0) -> None:
        """The program ends; the pane stays to be looked at."""
        self.status = status
        self._ended.set()

    def vanish(self) -> None:
        """The pane is taken away, program and all."""
        self.exists = False
        self.die(None)


class FakeTerminal:
    """Implements `agentd.tmux.terminal.Terminal`. Panes are found by their session's name; a session that
    is started again has a new pane."""

    def __init__(self, on_input: Callable[[FakePane, str], None] | None = None) -> None:
        self.panes: list[FakePane] = []
        self.on_input = on_input
        self.refuse: TmuxError | None = None
        """Raised by every method until it is None again."""
        self.looks = 0
        """How often a screen was read."""

    def __repr__(self) -> str:
        living = sum(not pane.dead for pane in self.panes)
        return f"<FakeTerminal {living} alive of {len(self.panes)}>"

    def __getitem__(self, session: str) -> FakePane:
        """The newest pane of this session."""
        return next(pane for pane in reversed(self.panes) if pane.ref.session == session)

    async def start(
        self,
        session: str,
        tag: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        folder: Path,
        output: Path | None = None,
    ) -> PaneRef:
        await self._answer()
        number = len(self.panes)
        ref = PaneRef(session, f"%{number}", 100_000 + number, float(number), 99_999, 0)
        self.panes.append(FakePane(ref, tuple(argv), dict(env), cwd, tag))
        return ref

    async def screen(self, pane: PaneRef, history: int = 0) -> Screen:
        found = await self._find(pane)
        self.looks += 1
        return Screen.captured(found.lines, attached=found.attached)

    async def paste(self, pane: PaneRef, text: str) -> None:
        self._type(await self._find(pane), f"text:{text}")

    async def press(self, pane: PaneRef, keys: Keys) -> None:
        found = await self._find(pane)
        for name in keys.names:
            self._type(found, name)

    async def status(self, pane: PaneRef) -> PaneStatus:
        await self._answer()
        found = self._known(pane)
        if found is None or not found.exists:
            return PaneStatus(exists=False)
        return PaneStatus(True, found.dead, found.status, found.attached)

    async def gone(self, pane: PaneRef) -> int | None:
        found = self._known(pane)
        if found is None:
            await trio.lowlevel.checkpoint()
            return None
        await found._ended.wait()
        return found.status

    async def end(self, pane: PaneRef, grace_s: float) -> list[str]:
        await self._answer()
        found = self._known(pane)
        if found is None:
            return []
        found.exists = False
        if not found.dead:
            found.die(143)
        return list(found.left)

    def _type(self, pane: FakePane, what: str) -> None:
        pane.typed.append(what)
        if self.on_input:
            self.on_input(pane, what)

    def _known(self, pane: PaneRef) -> FakePane | None:
        return next((known for known in self.panes if known.ref == pane), None)

    async def _find(self, pane: PaneRef) -> FakePane:
        await self._answer()
        found = self._known(pane)
        if found is None or not found.exists:
            raise TmuxError(f"tmux: can't find pane: {pane.pane}")
        return found

    async def _answer(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.refuse:
            raise self.refuse
