"""What must outlive the daemon: agents, messages, turns and events, in one SQLite file (WAL).

Calls are synchronous: a write takes 0.03-0.3 ms, less than a switch to a thread. A message is synced to
the disk before it is acknowledged; the rest survives a crash of the daemon, not of the machine.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agentd.formats import open_database
from agentd.model import Ending, Event, Failure, Kind, Message, Mode, Outcome, Receipt, Source, Turn

KEPT_PAGES = 256
"""What is not given back of the file, of 4 KiB each."""


@dataclass
class AgentRow:
    """An agent as it is kept. `life` holds what its owner needs to go on: memory, pane, positions."""

    name: str
    id: str
    provider: str
    cwd: str
    model: str | None
    created_at: float
    life: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What became of a message, as the public JSON's parts. `outcome` is None while it is open."""

    message: str
    agent: str
    receipt: Receipt
    turn: str | None = None
    outcome: Outcome | None = None
    reply: str | None = None
    error: Failure | None = None
    started_at: float | None = None
    ended_at: float | None = None


class Store:
    """One file. Raises sqlite3.Error where the disk fails."""

    def __init__(self, path: Path) -> None:
        self._db = open_database(path)
        self._depth = 0

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def transaction(self, *, synced: bool = False) -> Iterator[None]:
        """All or nothing. `synced`: on the disk when it ends, whatever happens to the machine."""
        if self._depth:
            yield
            return
        if synced:
            self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            # A full disk has rolled it back already.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        finally:
            self._depth = 0
            if synced:
                self._db.execute("PRAGMA synchronous = NORMAL")

    # Agents --------------------------------------------------------------------------------------

    def save_agent(self, row: AgentRow) -> None:
        """The life is written only with a new agent: the row may hold an old one."""
        self._db.execute(
            "INSERT INTO agents VALUES (?,?,?,?,?,?,?) ON CONFLICT (name) DO UPDATE SET id=excluded.id,"
            " provider=excluded.provider, cwd=excluded.cwd, model=excluded.model,"
            " created_at=excluded.created_at",
            (row.name, row.id, row.provider, row.cwd, row.model, row.created_at, json.dumps(row.life)),
        )

    def set_wishes(self, agent: str, cwd: str, model: str | None) -> None:
        """What the next start of its CLI is to be."""
        self._db.execute("UPDATE agents SET cwd = ?, model = ? WHERE name = ?", (cwd, model, agent))

    def save_life(self, name: str, life: dict[str, Any]) -> None:
        self._db.execute("UPDATE agents SET life = ? WHERE name = ?", (json.dumps(life), name))

    def agents(self) -> list[AgentRow]:
        rows = self._db.execute("SELECT * FROM agents ORDER BY created_at, name").fetchall()
        return [AgentRow(**{**dict(row), "life": json.loads(row["life"])}) for row in rows]

    # Messages and turns --------------------------------------------------------------------------

    def add_message(self, message: Message) -> None:
        """Synced: this is what an acknowledgement promises."""
        with self.transaction(synced=True):
            self._db.execute(
                "INSERT INTO messages (id, agent, text, mode, raw, created_at, deadline_s, receipt, awaited)"
                " VALUES (?,?,?,?,?,?,?,?,?)",
                (
                    message.id,
                    message.agent,
                    message.text,
                    message.mode,
                    message.raw,
                    message.created_at,
                    message.deadline_s,
                    message.receipt,
                    message.awaited,
                ),
            )

    def message(self, id: str) -> Message | None:
        """A message, open or settled."""
        row = self._db.execute("SELECT * FROM messages WHERE id = ?", (id,)).fetchone()
        return _message(row) if row else None

    def not_awaited(self, message: str) -> None:
        """The caller has left the message where it is."""
        self._db.execute("UPDATE messages SET awaited = 0 WHERE id = ?", (message,))

    def set_receipt(self, message: str, receipt: Receipt, turn: str | None) -> None:
        self._db.execute(
            "UPDATE messages SET receipt = ?, turn = coalesce(?, turn) WHERE id = ?", (receipt, turn, message)
        )

    def settle(self, ending: Ending) -> bool:
        """Write down a message's end; the first one counts. Returns whether this was it."""
        done = self._db.execute(
            "UPDATE messages SET outcome = :outcome, reply = :reply, error = :error,"
            " turn = coalesce(:turn, turn), started_at = :started_at, ended_at = :ended_at"
            " WHERE id = :message AND outcome IS NULL",
            {**vars(ending), "error": _failure_text(ending.error)},
        )
        return done.rowcount == 1

    def move_open_messages(self, agent: str, by: float) -> None:
        """The clock was set: their deadlines are meant by the time that they came."""
        self._db.execute(
            "UPDATE messages SET created_at = created_at + ? WHERE agent = ? AND outcome IS NULL", (by, agent)
        )

    def open_messages(self, agent: str) -> list[Message]:
        rows = self._db.execute(
            "SELECT * FROM messages WHERE agent = ? AND outcome IS NULL ORDER BY created_at, rowid", (agent,)
        ).fetchall()
        return [_message(row) for row in rows]

    def result(self, message: str) -> Result | None:
        row = self._db.execute("SELECT * FROM messages WHERE id = ?", (message,)).fetchone()
        return _result(row) if row else None

    def last_result(self, agent: str) -> Result | None:
        """What became of the message that ended last."""
        row = self._db.execute(
            "SELECT * FROM messages WHERE agent = ? AND outcome IS NOT NULL"
            " ORDER BY ended_at DESC, rowid DESC LIMIT 1",
            (agent,),
        ).fetchone()
        return _result(row) if row else None

    def begin_turn(self, turn: Turn, origin: str) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO turns (id, agent, message, origin, started_at) VALUES (?,?,?,?,?)",
            (turn.id, turn.agent, turn.message, origin, turn.started_at),
        )

    def end_turn(
        self, turn: str, at: float, outcome: Outcome, reply: str | None, error: Failure | None
    ) -> None:
        self._db.execute(
            "UPDATE turns SET ended_at = ?, outcome = ?, reply = ?, error = ? WHERE id = ?",
            (at, outcome, reply, _failure_text(error), turn),
        )

    def last_turn(self, agent: str) -> Turn | None:
        """The newest turn that has ended."""
        row = self._db.execute(
            "SELECT * FROM turns WHERE agent = ? AND ended_at IS NOT NULL"
            " ORDER BY ended_at DESC, rowid DESC LIMIT 1",
            (agent,),
        ).fetchone()
        return _turn(row) if row else None

    def turn(self, id: str) -> Turn | None:
        """A turn, running or ended."""
        row = self._db.execute("SELECT * FROM turns WHERE id = ?", (id,)).fetchone()
        return _turn(row) if row else None

    # Events --------------------------------------------------------------------------------------

    def add_event(self, agent: str, event: Event, seq: int | None = None) -> int:
        """Returns its number, which is the next one unless it has one."""
        cursor = self._db.execute(
            "INSERT INTO events (seq, agent, kind, source, time, data) VALUES (?,?,?,?,?,?)",
            (seq, agent, event.kind, event.source, event.time, json.dumps(event.data, default=str)),
        )
        return int(cursor.lastrowid or 0)

    def last_event(self) -> int:
        """The last number that an event was given."""
        row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        return int(row["seq"]) if row else 0

    def events(self, agent: str | None, limit: int = 1000) -> list[tuple[int, str, Event]]:
        """The newest events, oldest first: (sequence number, agent, event)."""
        return self._events(agent, "seq > ? ORDER BY seq DESC", 0, limit)[::-1]

    def events_after(self, seq: int, agent: str | None, limit: int = 1000) -> list[tuple[int, str, Event]]:
        """The oldest events after that one."""
        return self._events(agent, "seq > ? ORDER BY seq", seq, limit)

    def _events(self, agent: str | None, which: str, seq: int, limit: int) -> list[tuple[int, str, Event]]:
        whose, values = ("agent = ? AND", [agent]) if agent else ("", [])
        rows = self._db.execute(
            f"SELECT * FROM events WHERE {whose} {which} LIMIT ?", [*values, seq, limit]
        ).fetchall()
        return [_event(row) for row in rows]

    # Keeping it small ----------------------------------------------------------------------------
    # In steps of at most `limit` rows, each of which is short. A step that did nothing was the last one.

    def names(self) -> list[str]:
        """All agents' names."""
        return [name for (name,) in self._db.execute("SELECT name FROM agents ORDER BY name")]

    def trim_turns(self, agent: str, before: float, limit: int) -> int:
        """Remove turns and messages that ended before this time, the oldest first; returns how many rows.

        An open message, a turn that runs, the last turn that ended, and what belongs to them stay.
        """
        last = (
            "SELECT id FROM turns WHERE agent = :agent AND ended_at IS NOT NULL"
            " ORDER BY ended_at DESC, rowid DESC LIMIT 1"
        )
        mine = {"agent": agent, "before": before, "limit": limit}
        with self.transaction():
            messages = self._db.execute(
                "DELETE FROM messages WHERE rowid IN (SELECT rowid FROM messages WHERE agent = :agent"
                " AND ended_at < :before AND outcome IS NOT NULL AND (turn IS NULL OR turn NOT IN"
                f" (SELECT id FROM turns WHERE agent = :agent AND ended_at IS NULL OR id = ({last})))"
                " ORDER BY ended_at LIMIT :limit)",
                mine,
            )
            turns = self._db.execute(
                "DELETE FROM turns WHERE rowid IN (SELECT rowid FROM turns WHERE agent = :agent"
                f" AND ended_at < :before AND id <> ({last}) ORDER BY ended_at LIMIT :limit)",
                mine,
            )
        return messages.rowcount + turns.rowcount

    def trim_events(self, before: float, keep: int, limit: int) -> int:
        """Remove events from before this time, and all but the newest `keep`; returns how many."""
        return self._db.execute(
            "DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq LIMIT :limit)"
            " AND (time < :before OR seq <= (SELECT max(seq) FROM events) - :keep)",
            {"before": before, "keep": keep, "limit": limit},
        ).rowcount

    def trim_events_of(self, agent: str, limit: int) -> int:
        """Remove events of one agent, the oldest first; returns how many."""
        return self._db.execute(
            "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE agent = ? ORDER BY seq LIMIT ?)",
            (agent, limit),
        ).rowcount

    def forget(self, agent: str) -> None:
        """Remove an agent with everything that is left of it."""
        with self.transaction():
            for table in ("messages", "turns", "events"):
                self._db.execute(f"DELETE FROM {table} WHERE agent = ?", (agent,))
            self._db.execute("DELETE FROM agents WHERE name = ?", (agent,))

    def give_back(self, pages: int) -> int:
        """Give so many unused pages of the file back to the file system, but for a few that are soon used
        again; returns how many were given."""
        [unused] = self._db.execute("PRAGMA freelist_count").fetchone()
        given = min(pages, unused - KEPT_PAGES)
        if given <= 0:
            return 0
        # A script runs the statement to its end; `execute` would stop after the first page.
        self._db.executescript(f"PRAGMA incremental_vacuum({given})")
        [left] = self._db.execute("PRAGMA freelist_count").fetchone()
        return int(unused - left)


def _message(row: sqlite3.Row) -> Message:
    return Message(
        row["id"],
        row["agent"],
        row["text"],
        Mode(row["mode"]),
        bool(row["raw"]),
        row["created_at"],
        row["deadline_s"],
        Receipt(row["receipt"]),
        row["turn"],
        bool(row["awaited"]),
    )


def _result(row: sqlite3.Row) -> Result:
    return Result(
        row["id"],
        row["agent"],
        Receipt(row["receipt"]),
        row["turn"],
        Outcome(row["outcome"]) if row["outcome"] else None,
        row["reply"],
        _failure(row["error"]),
        row["started_at"],
        row["ended_at"],
    )


def _turn(row: sqlite3.Row) -> Turn:
    return Turn(
        row["id"],
        row["agent"],
        row["message"],
        row["started_at"],
        row["ended_at"],
        Outcome(row["outcome"]) if row["outcome"] else None,
        row["reply"],
        _failure(row["error"]),
    )


def _event(row: sqlite3.Row) -> tuple[int, str, Event]:
    event = Event(Kind(row["kind"]), Source(row["source"]), row["time"], json.loads(row["data"]))
    return row["seq"], row["agent"], event


def _failure_text(failure: Failure | None) -> str | None:
    return json.dumps(asdict(failure)) if failure else None


def _failure(text: str | None) -> Failure | None:
    return Failure(**json.loads(text)) if text else None
