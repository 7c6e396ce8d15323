"""The store's file: its formats, and how it is opened and brought to the newest one."""

from __future__ import annotations

import logging
import os
import sqlite3
from pathlib import Path

log = logging.getLogger(__name__)

MIGRATIONS = (
    """
    CREATE TABLE agents (
        name TEXT PRIMARY KEY, id TEXT NOT NULL, provider TEXT NOT NULL, cwd TEXT NOT NULL, model TEXT,
        created_at REAL NOT NULL, life TEXT NOT NULL DEFAULT '{}');
    CREATE TABLE messages (
        id TEXT PRIMARY KEY, agent TEXT NOT NULL, text TEXT NOT NULL, mode TEXT NOT NULL,
        raw INTEGER NOT NULL, created_at REAL NOT NULL, deadline_s REAL, receipt TEXT NOT NULL, turn TEXT,
        outcome TEXT, reply TEXT, error TEXT, started_at REAL, ended_at REAL);
    CREATE INDEX messages_open ON messages (agent) WHERE outcome IS NULL;
    CREATE INDEX messages_by_age ON messages (agent, created_at);
    CREATE TABLE turns (
        id TEXT PRIMARY KEY, agent TEXT NOT NULL, message TEXT, origin TEXT NOT NULL,
        started_at REAL NOT NULL, ended_at REAL, outcome TEXT, reply TEXT, error TEXT);
    CREATE INDEX turns_by_age ON turns (agent, started_at);
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL,
        time REAL NOT NULL, data TEXT NOT NULL);
    CREATE INDEX events_by_agent ON events (agent, seq);
    """,
    # The newest end is what is asked for, and the oldest ends are what goes first.
    """
    DROP INDEX messages_by_age;
    DROP INDEX turns_by_age;
    CREATE INDEX messages_by_end ON messages (agent, ended_at);
    CREATE INDEX turns_by_end ON turns (agent, ended_at);
    """,
    "ALTER TABLE messages ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;",
)
"""Each leads from one format to the next; what was released is never changed."""
VERSION = len(MIGRATIONS)
INCREMENTAL = 2
"""SQLite's number for a file that gives space back when it is asked to."""
LARGEST_LOG = 4 << 20
"""What is left of SQLite's write-ahead log after it was taken into the file, in bytes."""


class NewerFormat(Exception):
    """The file is of a newer agentd; the text says what to do."""


def open_database(path: Path) -> sqlite3.Connection:
    """The file in today's format, made if there is none. Only its owner can read it.

    Raises:
        NewerFormat: it was written by a newer release; it is left as it was.
        sqlite3.Error, OSError: it can't be opened.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Made before SQLite opens it, so that nobody else can ever read prompts and answers.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    try:
        _prepare(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    [version] = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise NewerFormat(
            f"{path} was written by a newer agentd (format {version}, this one knows up to {VERSION}); "
            "install that release again, or use another --state-dir"
        )
    [gives_back] = db.execute("PRAGMA auto_vacuum").fetchone()
    if gives_back != INCREMENTAL:
        db.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
        try:
            db.execute("VACUUM")
        except sqlite3.OperationalError as error:
            # It writes the file anew, which takes room. Without it, what is freed is used again.
            log.warning("%s can't be made to give space back: %s", path, error)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}")
    db.execute("PRAGMA synchronous = NORMAL")
    _migrate(db, version)


def _migrate(db: sqlite3.Connection, version: int) -> None:
    """All of it or nothing: a file that can't be brought to this format stays as it was."""
    if version == VERSION:
        return
    script = "".join(MIGRATIONS[version:])
    try:
        db.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {VERSION}; COMMIT;")
    except sqlite3.Error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
