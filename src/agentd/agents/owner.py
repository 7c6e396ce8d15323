"""The owner task: everything that happens to an agent is a message to its one owner.

So there are no locks, no race between the idle timer and new use, and no interleaved keystrokes. The
owner hands each input to the machine, writes down what changed, and then runs the effects.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import trio

from agentd import processes
from agentd.adapter import Adapter, Keys
from agentd.agents import effects as fx
from agentd.agents.clock import Clock
from agentd.agents.dialogs import DialogError, answer
from agentd.agents.hub import Hub, Published
from agentd.agents.life import Life, Records
from agentd.agents.machine import Machine
from agentd.model import Event, Failure, Kind, Message, Source, State, Turn
from agentd.records.watch import FileWatcher
from agentd.store import Result, Store
from agentd.tmux.server import TmuxError, TmuxHangs
from agentd.tmux.terminal import PaneRef, Terminal

log = logging.getLogger(__name__)

GRACE_S = 3.0
"""From SIGTERM to SIGKILL when a CLI is ended."""
POLITE_S = 10.0
"""How long a CLI may take to leave by its own command."""
LAST_WORDS_S = 0.15
"""Hooks are processes of their own: the last ones of a dead CLI may still be writing."""
SEARCH_S = 30.0
SEARCH_EVERY_S = 0.1
"""How long, and how often, a CLI's open files are looked at after a prompt: Codex makes its record 35-65 ms
after the first Enter."""


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

    store: Store
    hub: Hub
    terminal: Terminal
    watcher: FileWatcher
    clock: Clock
    launcher: Launcher


@dataclass(frozen=True)
class _Woken:
    """A record may have grown."""


@dataclass(frozen=True)
class _Ended:
    """The program of this pane has ended."""

    pane: PaneRef
    status: int | None


@dataclass(frozen=True)
class _StartAgain:
    """The last start was cut short."""


@dataclass(frozen=True)
class _Found:
    """Records were found among the files that the CLI holds open."""

    records: Mapping[str, Path]
    from_end: bool


@dataclass(frozen=True)
class _Ask:
    """An input whose sender waits until it was handled, effects included."""

    what: fx.Input
    done: trio.Event


@dataclass(frozen=True)
class _Answer:
    choice: str
    done: Callable[[DialogError | None], None]


class Owner:
    """One agent. Only `run` touches the machine; everything else puts inputs into the inbox."""

    def __init__(self, life: Life, adapter: Adapter, machine: Machine, services: Services) -> None:
        self.life = life
        self.adapter = adapter
        self.machine = machine
        self._services = services
        self._inbox_in, self._inbox = trio.open_memory_channel[Any](math.inf)
        self._woken = False
        self.records = Records(life, adapter, services.watcher, self._wake)
        self._settled: dict[str, trio.Event] = {}
        self._nursery: trio.Nursery | None = None
        self._pane_scope: trio.CancelScope | None = None
        self._search_scope: trio.CancelScope | None = None

    def __repr__(self) -> str:
        return f"<Owner of {self.machine!r}>"

    @property
    def name(self) -> str:
        return self.life.row.name

    @property
    def state(self) -> State:
        return self.machine.memory.state

    # What others may ask --------------------------------------------------------------------------

    def submit(self, message: Message) -> None:
        """Hand a message over: it is on disk when this returns."""
        self._services.store.add_message(message)
        self._settled[message.id] = trio.Event()
        self._inbox_in.send_nowait(fx.Submit(message))

    def start_again(self) -> None:
        """The daemon ended while it started the CLI: no prompt can have reached it."""
        self._inbox_in.send_nowait(_StartAgain())

    def tell(self, what: fx.Input) -> None:
        """Put an input into the inbox."""
        self._inbox_in.send_nowait(what)

    async def ask(self, what: fx.Input) -> None:
        """Put an input into the inbox and wait until it was handled, effects included."""
        done = trio.Event()
        self._inbox_in.send_nowait(_Ask(what, done))
        await done.wait()

    async def settled(self, message: str) -> Result:
        """Wait until the message has an outcome."""
        result = self._services.store.result(message)
        if result is None:
            raise KeyError(message)
        if result.outcome is None:
            await self._settled.setdefault(message, trio.Event()).wait()
            result = self._services.store.result(message)
            assert result is not None
        return result

    async def answer(self, choice: str) -> None:
        """Answer the dialog on the screen.

        Raises:
            DialogError: there is none, or it has no such answer.
        """
        done = trio.Event()
        problem: list[DialogError | None] = []

        def finished(error: DialogError | None) -> None:
            problem.append(error)
            done.set()

        self._inbox_in.send_nowait(_Answer(choice, finished))
        await done.wait()
        if problem[0]:
            raise problem[0]

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            self._inbox_in.send_nowait(_Woken())

    # The task -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Own the agent until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            if self.life.pane:
                self._watch_pane(self.life.pane)
                self.records.watch()
                self._wake()
            try:
                while True:
                    await self._guarded(await self._next())
            finally:
                self.records.close()
                nursery.cancel_scope.cancel()

    async def _next(self) -> Any:
        deadline = self.machine.next_deadline()
        with trio.CancelScope() as scope:
            if deadline is not None:
                scope.deadline = self._services.clock.to_trio(deadline)
            return await self._inbox.receive()
        return fx.Tick()

    async def _guarded(self, what: Any) -> None:
        """An input that fails must not end the owner: the agent would be lost to everybody."""
        try:
            await self._take(what)
        except TmuxHangs as error:
            log.warning("%s: %s", self.name, error)
            await trio.sleep(1.0)
        except TmuxError as error:
            log.warning("%s: %s", self.name, error)
            await self._check_pane(str(error))
        except Exception:
            log.exception("%s: an input could not be handled: %r", self.name, what)

    async def _take(self, what: Any) -> None:
        match what:
            case _Woken():
                self._woken = False
                await self._read_records()
            case _Ended(pane, status):
                if pane == self.life.pane:
                    await self._pane_ended(status)
            case _Found(found, from_end):
                for source, path in found.items():
                    self.records.follow(source, path, from_end=from_end)
                await self._read_records()
            case _Answer(choice, finished):
                await self._answer(choice, finished)
            case _StartAgain():
                memory = self.machine.memory
                memory.starting_since = memory.last_sign_at = self._services.clock.now()
                await self._start(memory.session_id if memory.has_conversation else None)
            case _Ask(input_, done):
                try:
                    await self._handle(input_)
                finally:
                    done.set()
            case _:
                await self._handle(what)

    async def _read_records(self) -> None:
        try:
            for event in self.records.read():
                self._publish(event)
                await self._handle(event)
        except Exception:
            # Whatever kept this event's effects from being run, the rest is to be heard.
            self._wake()
            raise
        self.life.save(self._services.store)

    async def _handle(self, what: fx.Input) -> None:
        """One input: decide, write down, act."""
        store = self._services.store
        todo = self.machine.handle(what, self._services.clock.now())
        done: list[str] = []
        with store.transaction():
            for effect in todo:
                self._write(effect, done)
            if not isinstance(what, fx.Tick) or todo:
                self.life.save(store)
        for message in done:
            self._settled.pop(message, trio.Event()).set()
        problem: Exception | None = None
        for effect in todo:
            # The machine counts on every effect: one that fails must not take the others along.
            try:
                await self._act(effect)
            except Exception as error:
                problem = problem or error
        if problem:
            raise problem

    def _write(self, effect: fx.Effect, done: list[str]) -> None:
        store = self._services.store
        match effect:
            case fx.SetReceipt(message, receipt, turn):
                store.set_receipt(message, receipt, turn)
            case fx.BeginTurn(turn, message, at, origin):
                store.begin_turn(Turn(turn, self.name, message, at), origin)
            case fx.EndTurn(turn, at, outcome, reply, error):
                store.end_turn(turn, at, outcome, reply, error)
            case fx.Settle(message=message):
                if store.settle(effect):
                    done.append(message)
            case fx.Emit(kind, data):
                self._publish(Event(kind, Source.AGENTD, self._services.clock.now(), data))
            case _:
                pass

    def _publish(self, event: Event) -> None:
        if event.kind in (Kind.ACTIVITY, Kind.TEXT):
            return
        seq = self._services.store.add_event(self.name, event)
        self._services.hub.publish(Published(seq, self.name, event))

    async def _act(self, effect: fx.Effect) -> None:
        pane, terminal = self.life.pane, self._services.terminal
        if isinstance(effect, fx.StartCli):
            await self._start(effect.resume)
            return
        if isinstance(effect, fx.EndCli):
            await self._end(polite=effect.polite)
            return
        if pane is None:
            return
        match effect:
            case fx.ReadScreen():
                await self._look()
            case fx.Paste(message):
                stored = self.machine.messages[message]
                text = self.adapter.guard(stored.text, raw=stored.raw)
                try:
                    await terminal.paste(pane, text)
                except TmuxHangs:
                    raise  # nobody knows whether it went in
                except TmuxError as error:
                    await self._handle(fx.PasteFailed(message, str(error)))
                    raise
                await terminal.press(pane, Keys(("Enter",)))
                self._search(pane)
            case fx.PressEnter():
                await terminal.press(pane, Keys(("Enter",)))
            case fx.ClearDraft():
                await terminal.press(pane, self.adapter.clear)
            case fx.PressInterrupt():
                await terminal.press(pane, self.adapter.interrupt)
            case fx.AnswerDialog(choice):
                await self._answer(choice, lambda _: None)
            case _:
                pass

    async def _look(self) -> None:
        if self.life.pane is None:
            return
        screen = await self._services.terminal.screen(self.life.pane)
        seen = fx.Seen(self.adapter.look(screen), screen.digest, screen.tail(), screen.attached)
        await self._handle(seen)

    async def _answer(self, choice: str, done: Callable[[DialogError | None], None]) -> None:
        pane, terminal = self.life.pane, self._services.terminal
        if pane is None:
            done(DialogError("none", f"{self.name} has no pane"))
            return
        try:
            await answer(
                choice,
                look=lambda: self._see(pane),
                press=lambda keys: terminal.press(pane, keys),
            )
        except DialogError as error:
            done(error)
            return
        except BaseException:
            done(DialogError("failed", "the dialog could not be answered"))
            raise
        done(None)
        await self._handle(fx.Answered(choice))

    async def _see(self, pane: PaneRef) -> Any:
        return self.adapter.look(await self._services.terminal.screen(pane))

    # The CLI's start and end ----------------------------------------------------------------------

    async def _start(self, resume: str | None) -> None:
        if self.life.pane:
            await self._drop_pane()
        try:
            pane, session_id = await self._services.launcher.launch(self.life, self.records, resume)
        except LaunchError as error:
            await self._handle(fx.StartFailed(error.failure))
            return
        except (TmuxError, OSError) as error:
            await self._handle(fx.StartFailed(Failure("start_failed", str(error), session=self.name)))
            return
        self.life.pane = pane
        self._watch_pane(pane)
        if resume:
            self._search(pane, from_end=True)
        await self._handle(fx.Started(session_id))

    def _watch_pane(self, pane: PaneRef) -> None:
        assert self._nursery is not None
        scope = trio.CancelScope()
        self._pane_scope = scope

        async def watch() -> None:
            with scope:
                status = await self._services.terminal.gone(pane)
                self._inbox_in.send_nowait(_Ended(pane, status))

        self._nursery.start_soon(watch)

    def _search(self, pane: PaneRef, *, from_end: bool = False) -> None:
        """Look for the CLI's records among the files it holds open, until they are found."""
        if not self.life.search or self._nursery is None:
            return
        if self._search_scope:
            self._search_scope.cancel()
        scope = self._search_scope = trio.CancelScope()
        scope.deadline = trio.current_time() + SEARCH_S
        memory = dict(self.life.reader_memory)

        def look() -> Mapping[str, Path]:
            return self.adapter.records(processes.open_files(pane.pid, pane.started), memory)

        async def search() -> None:
            with scope:
                while not (found := await trio.to_thread.run_sync(look)):
                    await trio.sleep(SEARCH_EVERY_S)
                self._inbox_in.send_nowait(_Found(found, from_end))

        self._nursery.start_soon(search)

    async def _pane_ended(self, status: int | None) -> None:
        """The CLI is gone: hear its last words first."""
        await trio.sleep(LAST_WORDS_S)
        await self._read_records()
        tail = ""
        if self.life.pane:
            try:
                # tmux scrolls a dead pane by a line or two: the reason may have left the screen.
                tail = (await self._services.terminal.screen(self.life.pane, history=30)).tail()
            except TmuxError:
                # The pane went with its program.
                pass
            await self._drop_pane()
        await self._handle(fx.Gone(status, tail))

    async def _drop_pane(self) -> None:
        """End what is left of the pane: children that outlived the CLI, and the pane itself."""
        pane = self.life.pane
        if pane is None:
            return
        for scope in (self._pane_scope, self._search_scope):
            if scope:
                scope.cancel()
        try:
            left = await self._services.terminal.end(pane, GRACE_S)
        except TmuxError as error:
            log.warning("%s: %s", self.name, error)
            left = []
        if left:
            warning = f"still alive after SIGKILL: {', '.join(left)}"
            self._publish(Event(Kind.WARNING, Source.TMUX, self._services.clock.now(), {"text": warning}))
        self.life.pane = None

    async def _end(self, *, polite: bool) -> None:
        pane = self.life.pane
        if pane and polite and self.adapter.leave:
            with trio.move_on_after(POLITE_S):
                try:
                    await self._services.terminal.press(pane, self.adapter.clear)
                    await self._services.terminal.paste(pane, self.adapter.leave)
                    await self._services.terminal.press(pane, Keys(("Enter",)))
                    await self._services.terminal.gone(pane)
                except TmuxError as error:
                    log.warning("%s: %s", self.name, error)
        await self._drop_pane()
        await self._read_records()
        await self._handle(fx.Gone(None, what="ended by agentd"))

    async def _check_pane(self, problem: str) -> None:
        """tmux refused something: is the pane still there?"""
        pane = self.life.pane
        if pane is None:
            return
        try:
            status = await self._services.terminal.status(pane)
        except TmuxError:
            return
        if not status.exists:
            await self._drop_pane()
            await self._read_records()
            await self._handle(fx.Gone(None, what=f"the pane is gone ({problem})"))
