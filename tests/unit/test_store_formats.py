"""The store's formats: what an earlier release wrote is found again, and nothing is half changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentd import formats
from agentd.formats import VERSION, NewerFormat
from agentd.model import Event, Kind, Message, Mode, Outcome, Receipt, Source, Turn
from agentd.store import AgentRow, Result, Store

FIRST = """
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

    INSERT INTO agents VALUES ('a', 'tag', 'demo', '/x', NULL, 1.5, '{"run": 3}');
    INSERT INTO messages VALUES ('m1', 'a', 'do it', 'queue', 0, 2.0, 30.0, 'accepted', 't1',
        'completed', 'did it', NULL, 3.0, 4.0);
    INSERT INTO messages VALUES ('m2', 'a', 'and on', 'steer', 1, 5.0, NULL, 'queued', NULL,
        NULL, NULL, NULL, NULL, NULL);
    INSERT INTO turns VALUES ('t1', 'a', 'm1', 'message', 3.0, 4.0, 'completed', 'did it', NULL);
    INSERT INTO events (agent, kind, source, time, data) VALUES ('a', 'warning', 'agentd', 6.0, '{"n": 1}');
"""
SECOND = f"""{FIRST}
    DROP INDEX messages_by_age;
    DROP INDEX turns_by_age;
    CREATE INDEX messages_by_end ON messages (agent, ended_at);
    CREATE INDEX turns_by_end ON turns (agent, ended_at);
"""
THIRD = f"{SECOND} ALTER TABLE messages ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;"
FORMATS = {1: FIRST, 2: SECOND, 3: THIRD}
"""Every format as a release wrote it, with something of everything in it. The next one is added here with the
migration that leads to it; none is ever changed."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agentd.db"


def write(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(f"BEGIN; {FORMATS[version]} PRAGMA user_version = {version}; COMMIT;")


def dump(path: Path) -> list[str]:
    """All that is in the file, as SQL, with its format."""
    with closing(sqlite3.connect(path)) as db:
        return [*db.iterdump(), f"format {db.execute('PRAGMA user_version').fetchone()[0]}"]


def test_every_format_is_known_here() -> None:
    assert list(FORMATS) == list(range(1, VERSION + 1))


@pytest.mark.parametrize("version", FORMATS)
def test_a_store_of_every_earlier_format_has_its_data(path: Path, version: int) -> None:
    write(path, version)
    for _ in ("brought to this format", "opened again"):
        store = Store(path)
        assert store.agents() == [AgentRow("a", "tag", "demo", "/x", None, 1.5, {"run": 3})]
        assert store.result("m1") == Result(
            "m1", "a", Receipt.ACCEPTED, "t1", Outcome.COMPLETED, "did it", None, 3.0, 4.0
        )
        assert store.open_messages("a") == [
            Message("m2", "a", "and on", Mode.STEER, True, 5.0, None, Receipt.QUEUED)
        ]
        assert store.last_turn("a") == Turn("t1", "a", "m1", 3.0, 4.0, Outcome.COMPLETED, "did it", None)
        assert store.events("a") == [(1, "a", Event(Kind.WARNING, Source.AGENTD, 6.0, {"n": 1}))]
        store.close()
    assert dump(path)[-1] == f"format {VERSION}"


@pytest.mark.parametrize("version", FORMATS)
def test_an_earlier_store_becomes_what_a_new_one_is(tmp_path: Path, path: Path, version: int) -> None:
    def schema(path: Path) -> set[str]:
        with closing(sqlite3.connect(path)) as db:
            rows = db.execute("SELECT name FROM sqlite_schema").fetchall()
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            columns = [(t, *c) for t in tables for c in db.execute(f"PRAGMA table_info({t})")]
            return {*map(str, rows), *map(str, columns)}

    write(path, version)
    Store(path).close()
    Store(tmp_path / "new.db").close()
    assert schema(path) == schema(tmp_path / "new.db")


@pytest.mark.parametrize("broken", ["CREATE TABLE later (x); INSERT INTO nowhere VALUES (1);", "nonsense;"])
def test_a_migration_that_fails_leaves_the_store_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    Store(path).close()
    before = dump(path)
    good = "ALTER TABLE agents ADD COLUMN more TEXT; DELETE FROM events;"
    with monkeypatch.context() as later:
        later.setattr(formats, "MIGRATIONS", (*formats.MIGRATIONS, good, broken))
        later.setattr(formats, "VERSION", VERSION + 2)
        with pytest.raises(sqlite3.OperationalError):
            Store(path)
    assert dump(path) == before
    Store(path).close()


def test_migrations_follow_each_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, 1)
    both = ("ALTER TABLE agents ADD COLUMN more TEXT;", "UPDATE agents SET more = name || '!';")
    monkeypatch.setattr(formats, "MIGRATIONS", (*formats.MIGRATIONS, *both))
    monkeypatch.setattr(formats, "VERSION", VERSION + 2)
    Store(path).close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT more FROM agents").fetchall() == [("a!",)]


def test_a_store_of_a_newer_release_is_left_alone(path: Path) -> None:
    write(path, 1)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(NewerFormat) as refused:
        Store(path)
    assert str(refused.value) == (
        f"{path} was written by a newer agentd (format 99, this one knows up to {VERSION}); "
        "install that release again, or use another --state-dir"
    )
    assert path.read_bytes() == before
