"""The store as a daemon needs it: a disk that refuses (full, read-only, broken) ends nothing.

What owners write down is taken into memory then, is read from there like anything else, and goes to the
disk as soon as there is room. A new message is the exception: its acknowledgement promises that it is on
the disk, so it is refused.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import trio

from agentd.model import Ending, Event, Failure, Message, Outcome, Receipt, Turn
from agentd.store import AgentRow, Result, Store

log = logging.getLogger(__name__)

RETRY_S = 5.0
MOST_EVENTS = 10_000
"""How many events wait in memory; then the oldest go."""
_BUGS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.NotSupportedError, sqlite3.DataError)
"""What isn't the disk's fault."""

T = TypeVar("T")


class Unwritable(Exception):
    """The store can't be written now; the text says what was not done, why, and what helps."""


class Book(Protocol):
    """What owners write."""

    def set_receipt(self, message: str, receipt: Receipt, turn: str | None) -> None: ...

    def settle(self, ending: Ending) -> bool: ...

    def begin_turn(self, turn: Turn, origin: str) -> None: ...

    def end_turn(
        self, turn: str, at: float, outcome: Outcome, reply: str | None, error: Failure | None
    ) -> None: ...

    def add_event(self, agent: str, event: Event) -> int: ...

    def save_life(self, name: str, life: dict[str, Any]) -> None: ...

    def set_wishes(self, agent: str, cwd: str, model: str | None) -> None: ...

    def move_open_messages(self, agent: str, by: float) -> None: ...

    def not_awaited(self, message: str) -> None: ...


class Late:
    """A book in memory. `disk` is asked for what isn't in it."""

    def __init__(self, disk: Store) -> None:
        self._disk = disk
        self._entries: list[Callable[[Store], object]] = []
        self._lives: dict[str, dict[str, Any]] = {}
        self.last_event = disk.last_event()
        self.results: dict[str, Result] = {}
        self.turns: dict[str, Turn] = {}
        self.events: deque[tuple[int, str, Event]] = deque(maxlen=MOST_EVENTS)

    def write_to(self, store: Store) -> None:
        for entry in self._entries:
            entry(store)
        for seq, agent, event in self.events:
            store.add_event(agent, event, seq)
        for name, life in self._lives.items():
            store.save_life(name, life)

    def set_receipt(self, message: str, receipt: Receipt, turn: str | None) -> None:
        self._entries.append(lambda store: store.set_receipt(message, receipt, turn))
        if known := self._result(message):
            self.results[message] = replace(known, receipt=receipt, turn=turn or known.turn)

    def settle(self, ending: Ending) -> bool:
        known = self._result(ending.message)
        if known is None or known.outcome:
            return False
        self.results[ending.message] = replace(
            known,
            turn=ending.turn or known.turn,
            outcome=ending.outcome,
            reply=ending.reply,
            error=ending.error,
            started_at=ending.started_at,
            ended_at=ending.ended_at,
        )
        self._entries.append(lambda store: store.settle(ending))
        return True

    def begin_turn(self, turn: Turn, origin: str) -> None:
        self.turns[turn.id] = turn
        self._entries.append(lambda store: store.begin_turn(turn, origin))

    def end_turn(
        self, turn: str, at: float, outcome: Outcome, reply: str | None, error: Failure | None
    ) -> None:
        self._entries.append(lambda store: store.end_turn(turn, at, outcome, reply, error))
        if known := self.turns.get(turn) or self._disk.turn(turn):
            self.turns[turn] = replace(known, ended_at=at, outcome=outcome, reply=reply, error=error)

    def add_event(self, agent: str, event: Event) -> int:
        self.last_event += 1
        self.events.append((self.last_event, agent, event))
        return self.last_event

    def save_life(self, name: str, life: dict[str, Any]) -> None:
        # As it is now: the owner goes on with parts of it.
        self._lives[name] = json.loads(json.dumps(life))

    def set_wishes(self, agent: str, cwd: str, model: str | None) -> None:
        self._entries.append(lambda store: store.set_wishes(agent, cwd, model))

    def move_open_messages(self, agent: str, by: float) -> None:
        self._entries.append(lambda store: store.move_open_messages(agent, by))

    def not_awaited(self, message: str) -> None:
        self._entries.append(lambda store: store.not_awaited(message))

    def _result(self, message: str) -> Result | None:
        return self.results.get(message) or self._disk.result(message)


class Ledger(Store):
    """The store, and what is late. `run` must be running for what is late to be written by itself."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path
        self.problem: str | None = None
        """What the disk said when it refused, until it takes everything again."""
        self._late: Late | None = None
        self._refused = trio.Event()

    def write(self, entries: Callable[[Book], T], *, synced: bool = False) -> T:
        """Write entries, all or nothing; in memory if the disk refuses. `entries` may be called twice.

        `synced`: as in `transaction`.
        """
        if self._late is None:
            try:
                with self.transaction(synced=synced):
                    return entries(self)
            except _BUGS:
                raise
            except sqlite3.DatabaseError as error:
                self.problem = str(error)
                self._late = Late(self)
                self._refused.set()
                log.error(
                    "the store %s can't be written (%s): until it can, what happens is kept in memory, "
                    "and new messages are refused",
                    self.path,
                    error,
                )
        return entries(self._late)

    def catch_up(self) -> bool:
        """Write what is late; returns whether nothing is late any more."""
        if self._late is None:
            return True
        try:
            with self.transaction():
                self._late.write_to(self)
        except (sqlite3.Error, ValueError) as error:
            self.problem = str(error)
            return False
        self._late, self.problem, self._refused = None, None, trio.Event()
        log.warning("the store %s can be written again; nothing of what happened is missing", self.path)
        return True

    async def run(self) -> None:
        """Try again until there is room, whenever the disk has refused."""
        while True:
            await self._refused.wait()
            await trio.sleep(RETRY_S)
            self.catch_up()

    def close(self) -> None:
        if not self.catch_up():
            log.error("the store still can't be written: the next daemon reads from the records what it can")
        super().close()

    # A request's writes are refused rather than kept ---------------------------------------------

    def add_message(self, message: Message) -> None:
        """Raises Unwritable: it is not accepted."""
        self._at_once(lambda: super(Ledger, self).add_message(message), "the message was not accepted")

    def save_agent(self, row: AgentRow) -> None:
        """Raises Unwritable: nothing is changed."""
        self._at_once(lambda: super(Ledger, self).save_agent(row), f"{row.name} was not written down")

    def be_writable(self, not_done: str) -> None:
        """Raises Unwritable while something is late."""
        self._at_once(lambda: None, not_done)

    def forget(self, agent: str) -> None:
        """Raises Unwritable: it stays. What is late would come back, as a new agent's of that name."""
        self._at_once(lambda: super(Ledger, self).forget(agent), f"{agent} was not removed")

    def trim_turns(self, agent: str, before: float, limit: int) -> int:
        """Raises Unwritable."""
        trim = super().trim_turns
        return self._at_once(lambda: trim(agent, before, limit), f"the history of {agent} was not trimmed")

    def trim_events_of(self, agent: str, limit: int) -> int:
        """Raises Unwritable."""
        trim = super().trim_events_of
        return self._at_once(lambda: trim(agent, limit), f"the events of {agent} were not trimmed")

    def trim_events(self, before: float, keep: int, limit: int) -> int:
        """Raises Unwritable."""
        trim = super().trim_events
        return self._at_once(lambda: trim(before, keep, limit), "the events were not trimmed")

    def _at_once(self, write: Callable[[], T], not_done: str) -> T:
        try:
            if self.catch_up():
                return write()
            problem = self.problem
        except _BUGS:
            raise
        except sqlite3.DatabaseError as error:
            problem = str(error)
        raise Unwritable(
            f"the store {self.path} can't be written ({problem}): {not_done}. "
            "Free room on that disk, or make it writable, and try again; agents go on meanwhile"
        )

    # What is late is read like the rest -----------------------------------------------------------

    def result(self, message: str) -> Result | None:
        late = self._late.results.get(message) if self._late else None
        return late or super().result(message)

    def last_result(self, agent: str) -> Result | None:
        results = self._late.results.values() if self._late else ()
        ended = [result for result in results if result.agent == agent and result.outcome]
        return max(ended, key=lambda result: result.ended_at or 0.0, default=super().last_result(agent))

    def turn(self, id: str) -> Turn | None:
        late = self._late.turns.get(id) if self._late else None
        return late or super().turn(id)

    def last_turn(self, agent: str) -> Turn | None:
        turns = self._late.turns.values() if self._late else ()
        ended = [turn for turn in turns if turn.agent == agent and turn.ended_at is not None]
        return ended[-1] if ended else super().last_turn(agent)

    def last_event(self) -> int:
        return self._late.last_event if self._late else super().last_event()

    def events(self, agent: str | None, limit: int = 1000) -> list[tuple[int, str, Event]]:
        return [*super().events(agent, limit), *self._late_events(agent)][-limit:]

    def events_after(self, seq: int, agent: str | None, limit: int = 1000) -> list[tuple[int, str, Event]]:
        late = [entry for entry in self._late_events(agent) if entry[0] > seq]
        return [*super().events_after(seq, agent, limit), *late][:limit]

    def _late_events(self, agent: str | None) -> list[tuple[int, str, Event]]:
        return [entry for entry in (self._late.events if self._late else ()) if agent in (None, entry[1])]
