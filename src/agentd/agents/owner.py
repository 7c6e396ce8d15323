"""The owner task: everything that happens to an agent is a message to its one owner.

So there are no locks, no race between the idle timer and new use, and no interleaved keystrokes. The
owner hands each input to the machine, writes down what changed, and then runs the effects.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from agentd.adapter import Adapter
from agentd.agents import effects as fx
from agentd.agents import retention
from agentd.agents.body import Body, Ended, Found
from agentd.agents.hands import Hands
from agentd.agents.inbox import Answer, Ask, Inbox, Last
from agentd.agents.life import Life, Records
from agentd.agents.machine import Machine
from agentd.agents.services import Services
from agentd.agents.wishes import Wishes
from agentd.agents.writing import Written, write
from agentd.ledger import Book
from agentd.model import Event, Kind, Message, Source, State
from agentd.store import AgentRow, Result
from agentd.tmux.server import TmuxError, TmuxHangs

log = logging.getLogger(__name__)

SLEEP_S = 1.0
"""A shorter sleep of the machine is none."""


@dataclass(frozen=True)
class _Woken:
    """A record may have grown."""


class Owner:
    """One agent. Only `run` touches the machine; everything else puts inputs into the inbox."""

    def __init__(self, life: Life, adapter: Adapter, machine: Machine, services: Services) -> None:
        self.life = life
        self.adapter = adapter
        self.machine = machine
        self._services = services
        self._inbox = Inbox(life.row.name)
        self._woken = False
        self.gone = False
        """The agent was removed: whoever still has this owner can do nothing with it."""
        self._asleep = services.clock.asleep()
        self._problem: str | None = None
        """What of the store's problem was told."""
        self.records = Records(life, adapter, services.watcher, self._wake)
        self._settled: dict[str, trio.Event] = {}
        self.body = Body(life, adapter, services, self.records, self._inbox.put)
        self._hands = Hands(
            life, adapter, machine, services, self.body, self._handle, self._read_records, self._publish
        )

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
        assert not self.gone, self
        self._services.store.add_message(message)
        self._settled[message.id] = trio.Event()
        self._inbox.put(fx.Submit(message))

    def tell(self, what: fx.Input) -> None:
        """Put an input into the inbox."""
        self._inbox.put(what)

    async def ask(self, what: fx.Input) -> None:
        """Put an input into the inbox and wait until it was handled, effects included."""
        await self._inbox.ask(what)

    async def last(self, deed: Callable[[], Awaitable[bool]]) -> bool:
        """Do this in the owner's turn. Where it returns True, the agent is no more, and the owner ends."""
        return await self._inbox.last(deed)

    async def refit(self, wishes: Wishes, by: str) -> bool:
        """In the owner's turn (see `last`): end an idle CLI politely, and go on as is wanted. The next prompt
        takes the conversation up again, unless the directory is another one: a session belongs to its own.
        Returns False, and does nothing, while the agent is in use.

        Raises:
            Unwritable: it can't be written down; nothing is changed.
            TmuxError: the pane can't be read; nothing is changed.
        """
        polite = False
        if self.life.pane:
            await self._read_records()
            look = await self.body.look()
            # What a person began in the pane is on the screen before it is in a record.
            if look.busy:
                return False
            polite = look.composer
        if self.state.alive and not retention.idle(self.machine.memory):
            return False
        self._services.store.be_writable(f"{self.name} was not started anew")
        row, keep = self.life.row, not wishes.elsewhere(self.life)
        row.cwd, row.model = wishes.place or row.cwd, wishes.model or row.model
        # One write: a next daemon finds the wishes and the end that they need, or neither.
        wanted = partial(_set_wishes, row)
        await self._run(self._decide(fx.Refit(by, polite, keep), wanted))
        return True

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
        if problem := await self._inbox.answer(choice):
            raise problem

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            self._inbox.put(_Woken())

    # The task -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Own the agent until cancelled."""
        async with trio.open_nursery() as nursery:
            self.body.nursery = nursery
            if self.life.pane:
                self.body.watch(self.life.pane)
                self.records.watch()
                self._wake()
                if not retention.idle(self.machine.memory):
                    # Who was here before may have ended between a prompt and the finding of its record.
                    self.body.search()
            try:
                while not self.gone:
                    await self._guarded(await self._next())
                self._inbox.shut()
            finally:
                self.records.close()
                nursery.cancel_scope.cancel()

    async def _next(self) -> Any:
        """The next input. Facts come before time: what waits here may move a deadline that has passed."""
        try:
            return self._inbox.take_nowait()
        except trio.WouldBlock:
            pass
        deadline = self.machine.next_deadline()
        with trio.CancelScope() as scope:
            if deadline is not None:
                scope.deadline = self._services.clock.to_trio(deadline)
            return await self._inbox.take()
        return fx.Tick()

    async def _guarded(self, what: Any) -> None:
        """An input that fails must not end the owner: the agent would be lost to everybody."""
        try:
            try:
                await self._notice_sleep()
                await self._take(what)
            except TmuxHangs as error:
                log.warning("%s: %s", self.name, error)
                await trio.sleep(1.0)
            except TmuxError as error:
                log.warning("%s: %s", self.name, error)
                await self._hands.check_pane(str(error))
        except Exception:
            log.exception("%s: an input could not be handled: %r", self.name, what)

    async def _notice_sleep(self) -> None:
        asleep = self._services.clock.asleep() - self._asleep
        if asleep >= SLEEP_S:
            self._asleep += asleep
            await self._handle(fx.Slept(asleep))

    async def _take(self, what: Any) -> None:
        match what:
            case fx.Tick() if self.life.pane:
                # A limit that has passed counts only if nothing was written that says otherwise.
                await self._read_records()
                await self._handle(what)
            case _Woken():
                self._woken = False
                await self._read_records()
            case Ended(pane, status):
                if pane == self.life.pane:
                    await self._hands.pane_ended(status)
            case Found(found, from_end):
                for source, path in found.items():
                    self.records.follow(source, path, from_end=from_end)
                await self._read_records()
            case Answer(choice, finished):
                await self._hands.answer(choice, finished)
            case Last(deed, ended):
                try:
                    self.gone = await deed()
                finally:
                    ended(self.gone)
            case Ask(input_, done):
                try:
                    await self._handle(input_)
                finally:
                    done.set()
            case _:
                await self._handle(what)

    async def _read_records(self) -> None:
        heard = False
        try:
            for event in self.records.read():
                heard = True
                self._publish(event)
                await self._handle(event)
                if event.kind is Kind.TOOL_ENDED and isinstance(use := event.get("id"), str):
                    self._services.calls.given_up(self.name, use)
                if event.get("search") and self.life.pane:
                    self.body.search()
        except Exception:
            # Whatever kept this event's effects from being run, the rest is to be heard.
            self._wake()
            raise
        heavy = self.records.heavy()
        if heard or heavy:
            self._services.store.write(self.life.save, synced=heavy)
            self._tell_problem()
        if heavy and self._services.store.problem is None:
            self.records.give_back()

    async def _handle(self, what: fx.Input) -> None:
        """One input: decide, write down, act."""
        await self._run(self._decide(what))

    def _decide(self, what: fx.Input, also: Callable[[Book], None] = lambda book: None) -> list[fx.Effect]:
        """What is to be done, once it is written down; `also` in the same write."""
        todo = self.machine.handle(what, self._services.clock.now())
        if todo or not isinstance(what, fx.Tick):
            now = self._services.clock.now()

            def entries(book: Book) -> Written:
                also(book)
                return write(todo, self.life, book, now)

            written = self._services.store.write(entries)
            for message in written.settled:
                self._settled.pop(message, trio.Event()).set()
            for published in written.events:
                self._services.hub.publish(published)
            self._tell_problem()
        return todo

    async def _run(self, todo: Sequence[fx.Effect]) -> None:
        problem: Exception | None = None
        for effect in todo:
            # The machine counts on every effect: one that fails must not take the others along.
            try:
                await self._hands.act(effect)
            except Exception as error:
                problem = problem or error
        if problem:
            raise problem

    def _tell_problem(self) -> None:
        """Say once that the disk refuses, and once that it takes again what it is given."""
        problem = self._services.store.problem
        if (problem is None) == (self._problem is None):
            return
        self._problem = problem
        text = f"the store can't be written ({problem}): what happens is kept in memory until it can"
        if problem is None:
            text = "the store can be written again"
        self._publish(Event(Kind.WARNING, Source.AGENTD, self._services.clock.now(), {"text": text}))

    def _publish(self, event: Event) -> None:
        if event.kind in (Kind.ACTIVITY, Kind.TEXT):
            return
        self._services.publish(self.name, event)


def _set_wishes(row: AgentRow, book: Book) -> None:
    book.set_wishes(row.name, row.cwd, row.model)
