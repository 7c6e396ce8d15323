"""The history is bounded; what somebody may still ask for stays."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from agentd import history
from agentd.config import History
from agentd.history import EVERY_S, keep_small, trim
from agentd.model import Ending, Event, Kind, Message, Outcome, Receipt, Source, Turn
from agentd.store import AgentRow, Store

BOUNDS = History(keep_s=1000.0, events=100_000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "agentd.db")
    for name in ("a", "b"):
        store.save_agent(AgentRow(name, "1", "demo", "/x", None, 0.0))
    yield store
    store.close()


def message(store: Store, id: str, *, agent: str = "a", ended_at: float | None, text: str = "do it") -> None:
    store.add_message(Message(id, agent, text, created_at=0.0))
    if ended_at is not None:
        store.settle(Ending(id, Outcome.COMPLETED, reply="done", ended_at=ended_at))


def turn(store: Store, number: int, *, agent: str = "a", ended_at: float | None, text: str = "do it") -> None:
    """Turn `agent`+number with a message of its own."""
    id = f"{agent}{number}"
    message(store, f"m-{id}", agent=agent, ended_at=ended_at, text=text)
    store.set_receipt(f"m-{id}", Receipt.ACCEPTED, id)
    store.begin_turn(Turn(id, agent, f"m-{id}", 0.0), "message")
    if ended_at is not None:
        store.end_turn(id, ended_at, Outcome.COMPLETED, "done", None)


def messages(store: Store) -> list[str]:
    return [id for (id,) in store._db.execute("SELECT id FROM messages ORDER BY rowid")]


def turns(store: Store) -> list[str]:
    return [id for (id,) in store._db.execute("SELECT id FROM turns ORDER BY rowid")]


async def test_what_is_older_goes(store: Store) -> None:
    for number in range(1, 6):
        turn(store, number, ended_at=float(number))
    await trim(store, BOUNDS, now=1003.0)
    assert turns(store) == ["a3", "a4", "a5"]
    assert messages(store) == ["m-a3", "m-a4", "m-a5"]


async def test_the_last_result_of_every_agent_stays(store: Store) -> None:
    for agent in ("a", "b"):
        for number in (1, 2):
            turn(store, number, agent=agent, ended_at=float(number))
    await trim(store, BOUNDS, now=1e9)
    assert turns(store) == ["a2", "b2"] and messages(store) == ["m-a2", "m-b2"]
    last = store.last_turn("a")
    assert last and (last.id, last.message, last.reply) == ("a2", "m-a2", "done")


async def test_open_messages_and_the_running_turn_stay(store: Store) -> None:
    message(store, "queued", ended_at=None)
    message(store, "given up", ended_at=2.0)
    turn(store, 1, ended_at=2.0)
    turn(store, 2, ended_at=3.0)
    turn(store, 3, ended_at=None)
    message(store, "withdrawn from it", ended_at=4.0)
    store.set_receipt("withdrawn from it", Receipt.STEERED, "a3")
    await trim(store, BOUNDS, now=1e9)
    assert turns(store) == ["a2", "a3"]
    assert messages(store) == ["queued", "m-a2", "m-a3", "withdrawn from it"]


async def test_events_are_bounded_by_age_and_by_number(store: Store) -> None:
    for number in range(10):
        store.add_event("a", Event(Kind.WARNING, Source.AGENTD, float(number)))
    await trim(store, BOUNDS, now=1003.0)
    assert [event.time for _, _, event in store.events(None)] == [3, 4, 5, 6, 7, 8, 9]
    await trim(store, History(keep_s=1000.0, events=2), now=1003.0)
    assert [event.time for _, _, event in store.events(None)] == [8, 9]


async def test_an_event_with_a_time_to_come_goes_when_there_are_too_many(store: Store) -> None:
    """A CLI's record says what time it likes."""
    for time in (1e12, 1.0, 2.0, 3.0):
        store.add_event("a", Event(Kind.WARNING, Source.RECORD, time))
    await trim(store, History(keep_s=1000.0, events=3), now=10.0)
    assert [event.time for _, _, event in store.events(None)] == [1.0, 2.0, 3.0]


async def test_every_step_is_small_and_others_have_their_turn(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "STEP", 3)
    with store.transaction():
        for number in range(100):
            turn(store, number, ended_at=1.0)
            store.add_event("a", Event(Kind.WARNING, Source.AGENTD, 1.0))
    left: list[int] = []

    async def others() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            left.append(len(turns(store)) + len(store.events(None)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await trim(store, BOUNDS, now=1e9)
        nursery.cancel_scope.cancel()
    # trio's order is its own: between two looks there may be two steps.
    assert max(before - after for before, after in pairwise(left)) <= 6
    assert (len(turns(store)), len(store.events(None))) == (1, 0)


async def test_the_file_gives_its_space_back(store: Store, tmp_path: Path) -> None:
    def size() -> int:
        store._db.execute("PRAGMA wal_checkpoint").fetchall()
        return (tmp_path / "agentd.db").stat().st_size

    with store.transaction():
        for number in range(1000):
            turn(store, number, ended_at=float(number), text="x" * 10_000)
    assert size() > 10_000_000
    await trim(store, BOUNDS, now=1e9)
    assert size() < 2_000_000


def test_a_file_of_an_earlier_release_gives_space_back_too(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    Store(path).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA auto_vacuum = 0")
    db.execute("VACUUM")
    assert db.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    db.close()
    store = Store(path)
    assert store._db.execute("PRAGMA auto_vacuum").fetchone()[0] == 2
    store.close()


async def test_it_is_done_at_the_start_and_every_hour(
    store: Store, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = BOUNDS
    turn(store, 1, ended_at=1.0)
    turn(store, 2, ended_at=2000.0)
    turn(store, 3, ended_at=4000.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep_small, store, lambda: bounds, lambda: 1100.0 + trio.current_time())
        await trio.sleep(1)
        assert turns(store) == ["a2", "a3"]
        monkeypatch.setattr(store, "names", lambda: store._db.execute("nonsense"))
        await trio.sleep(EVERY_S)
        assert turns(store) == ["a2", "a3"], "a disk that fails is no end"
        monkeypatch.undo()
        bounds = History(keep_s=3600.0)  # the config was changed: a2 has 1000 s more
        await trio.sleep(EVERY_S)
        assert turns(store) == ["a3"]
        nursery.cancel_scope.cancel()
