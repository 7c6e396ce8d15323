"""The store: what outlives the daemon."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentd.model import Ending, Event, Failure, Kind, Message, Mode, Outcome, Receipt, Source, Turn
from agentd.store import AgentRow, Result, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "store.db"


def reopened(store: Store, path: Path) -> Store:
    store.close()
    return Store(path)


def test_nobody_else_can_read_it(path: Path) -> None:
    Store(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_agents_with_their_lives(path: Path) -> None:
    store = Store(path)
    store.save_agent(AgentRow("a", "1", "demo", "/x", None, 1.0))
    store.save_life("a", {"memory": {"state": "ready"}})
    store.save_agent(AgentRow("b", "2", "demo", "/y", "big", 2.0, {"run": 3}))
    assert reopened(store, path).agents() == [
        AgentRow("a", "1", "demo", "/x", None, 1.0, {"memory": {"state": "ready"}}),
        AgentRow("b", "2", "demo", "/y", "big", 2.0, {"run": 3}),
    ]


def test_a_message_is_open_until_it_is_settled_and_the_first_word_counts(path: Path) -> None:
    store = Store(path)
    first = Message("m1", "a", "text\n😀", Mode.STEER, True, 5.0, 30.0, awaited=True)
    second = Message("m2", "a", "two", created_at=5.0)
    for message in (first, second, Message("m3", "b", "other")):
        store.add_message(message)
    store.set_receipt("m1", Receipt.STEERED, "t1")
    store.set_receipt("m1", Receipt.ACCEPTED, None)
    store = reopened(store, path)
    accepted = Message("m1", "a", "text\n😀", Mode.STEER, True, 5.0, 30.0, Receipt.ACCEPTED, "t1", True)
    assert store.open_messages("a") == [accepted, second]
    store.not_awaited("m1")
    assert store.message("m1") == replace(accepted, awaited=False)
    error = Failure("lost", "gone", session="a")
    assert store.settle(Ending("m1", Outcome.LOST, reply="half", error=error, started_at=6.0, ended_at=7.0))
    assert not store.settle(Ending("m1", Outcome.COMPLETED, reply="late"))
    assert not store.settle(Ending("nobody", Outcome.COMPLETED))
    assert store.open_messages("a") == [second]
    assert store.result("m1") == Result(
        "m1", "a", Receipt.ACCEPTED, "t1", Outcome.LOST, "half", error, 6.0, 7.0
    )
    assert store.result("nobody") is None
    assert store.message("nobody") is None
    assert store.message("m1"), "also when it is settled"


def test_the_last_turn_is_the_last_that_ended(path: Path) -> None:
    store = Store(path)
    assert store.last_turn("a") is None
    for number in (1, 2, 3):
        store.begin_turn(Turn(f"t{number}", "a", f"m{number}", 1.0), "message")
    store.end_turn("t1", 2.0, Outcome.COMPLETED, "one", None)
    store.end_turn("t2", 2.0, Outcome.FAILED, None, Failure("x", "y"))
    last = store.last_turn("a")
    assert last == Turn("t2", "a", "m2", 1.0, 2.0, Outcome.FAILED, None, Failure("x", "y"))
    assert store.turn("t2") == last
    assert store.turn("t3") == Turn("t3", "a", "m3", 1.0)
    assert store.turn("t9") is None


def test_events_newest_first_to_go(path: Path) -> None:
    store = Store(path)
    for number in range(5):
        agent = "a" if number % 2 else "b"
        store.add_event(agent, Event(Kind.WARNING, Source.AGENTD, float(number), {"n": number}))
    assert [event.get("n") for _, _, event in store.events(None, limit=3)] == [2, 3, 4]
    assert [event.get("n") for _, _, event in store.events("a")] == [1, 3]
    assert [seq for seq, _, _ in store.events_after(2, None)] == [3, 4, 5]
    assert [seq for seq, _, _ in store.events_after(2, "b")] == [3, 5]
    assert [seq for seq, _, _ in store.events_after(1, None, limit=2)] == [2, 3]
    assert store.trim_events(before=0.0, keep=2, limit=100) == 3
    assert [seq for seq, _, _ in store.events(None)] == [4, 5]
    assert store.last_event() == 5
    assert store.trim_events(before=9.0, keep=2, limit=100) == 2
    assert store.last_event() == 5, "a number is never given again"


def test_no_event_yet(path: Path) -> None:
    assert Store(path).last_event() == 0


def test_all_or_nothing(path: Path) -> None:
    store = Store(path)
    with pytest.raises(RuntimeError), store.transaction():
        store.save_agent(AgentRow("a", "1", "demo", "/x", None, 1.0))
        with store.transaction(synced=True):
            store.add_message(Message("m1", "a", "text"))
        raise RuntimeError
    assert store.agents() == [] and store.result("m1") is None
    store.add_message(Message("m1", "a", "text"))
    assert store.result("m1")
