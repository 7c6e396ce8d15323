"""What everybody wrote down about a run: the demo agent's own records, and the daemon's store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROW = b'{"time": '
"""How every row of the record begins: what a half line hides from others is found again by it."""
PERSON = "PERSON-"


@dataclass
class RecordTurn:
    """A turn by the CLI's own record."""

    key: str
    text: str
    final: str | None = None
    """The answer, where there is one."""
    end: str | None = None
    """`turn_end`, `error` or `interrupted`; None where the CLI died before."""
    goes_on: bool = False
    """Something in the background was to go on with it."""
    later: list[str] = field(default_factory=list)
    """The answers of what went on in the background of the session."""


@dataclass
class Taken:
    """How often a prompt went into the CLI, and the turns that worked on it."""

    entered: int = 0
    worked: list[RecordTurn] = field(default_factory=list)
    joined: int = 0


@dataclass(frozen=True)
class Row:
    """A message as the store has it."""

    id: str
    agent: str
    text: str
    mode: str
    raw: bool
    created_at: float
    deadline_s: float | None
    receipt: str
    turn: str | None
    outcome: str | None
    reply: str | None
    error: dict[str, Any] | None
    ended_at: float | None


class Record:
    """The demo agent's record of one agent, over all its lives."""

    def __init__(self, path: Path) -> None:
        self.rows = list(_rows(path))
        self.turns: dict[str, RecordTurn] = {}
        background = False
        running: RecordTurn | None = None
        for row in self.rows:
            match row["type"]:
                case "user":
                    running = self.turns[row["prompt_id"]] = RecordTurn(row["prompt_id"], row["text"])
                case "assistant" if running and row["final"]:
                    running.final = row["text"]
                    for turn in self.turns.values() if background else ():
                        turn.later.append(row["text"])
                case "turn_end" | "error" | "interrupted" if running:
                    running.end, running.goes_on = row["type"], bool(row.get("background"))
                    background = background or running.goes_on
        self._joins = list(self._joining())

    def _joining(self) -> Iterator[tuple[str, RecordTurn]]:
        running: RecordTurn | None = None
        for row in self.rows:
            if row["type"] == "user":
                running = self.turns[row["prompt_id"]]
            elif row["type"] == "steer" and row["operation"] == "join" and running:
                yield row["text"], running

    def taken(self, mark: str) -> Taken:
        """What became of the prompt with this mark. What a person mixed with their own is left out."""

        def count(kind: str, **values: str) -> int:
            return sum(
                row["type"] == kind
                and mark in row["text"]
                and PERSON not in row["text"]
                and all(row.get(key) == value for key, value in values.items())
                for row in self.rows
            )

        users = [turn for turn in self.turns.values() if mark in turn.text and PERSON not in turn.text]
        joins = [turn for text, turn in self._joins if mark in text and PERSON not in text]
        own = count("steer", operation="own_turn")
        entered = len(users) - own + count("steer", operation="enqueue")
        return Taken(entered, [*users, *joins], len(joins))

    def ran(self, mark: str) -> int:
        """How often a shell command with this mark was run."""
        return sum(row["type"] == "shell" and mark in row["command"] for row in self.rows)

    @property
    def crashes(self) -> bool:
        """Whether the CLI was told to crash."""
        return any("@crash" in turn.text for turn in self.turns.values())


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):
        whole = line[line.rfind(ROW) :] if ROW in line else b""
        try:
            row = json.loads(whole)
        except ValueError:
            continue
        if isinstance(row, dict) and "type" in row:
            yield row


class Stored:
    """The daemon's store, read from outside."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def messages(self) -> list[Row]:
        return [
            Row(
                row["id"],
                row["agent"],
                row["text"],
                row["mode"],
                bool(row["raw"]),
                row["created_at"],
                row["deadline_s"],
                row["receipt"],
                row["turn"],
                row["outcome"],
                row["reply"],
                json.loads(row["error"]) if row["error"] else None,
                row["ended_at"],
            )
            for row in self._read("SELECT * FROM messages ORDER BY created_at, rowid")
        ]

    def open_turns(self) -> list[str]:
        """The turns that have no end."""
        return [
            f"{row['id']} of {row['agent']}"
            for row in self._read("SELECT * FROM turns WHERE ended_at IS NULL")
        ]

    def _read(self, sql: str) -> list[sqlite3.Row]:
        database = sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, timeout=10)
        database.row_factory = sqlite3.Row
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()
