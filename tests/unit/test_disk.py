"""A disk that refuses: nothing ends, nothing is lost, and a new message is refused with a reason."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from agentd import ledger
from agentd.agents.life import Life
from agentd.ledger import RETRY_S, Ledger, Unwritable
from agentd.model import Ending, Event, Kind, Message, Outcome, Receipt, Source, Turn
from agentd.store import AgentRow
from agentd.tmux.terminal import write_private
from tests.unit.test_owner import Cli, running


def readonly(store: Ledger, refuses: bool) -> None:
    """SQLITE_READONLY, as from a file system that was remounted."""
    store._db.execute(f"PRAGMA query_only = {'ON' if refuses else 'OFF'}")


def warnings(cli: Cli) -> list[str]:
    return [str(e.get("text")) for _, _, e in cli.store.events("a") if e.kind is Kind.WARNING]


@pytest.fixture
def store(tmp_path: Path) -> Ledger:
    store = Ledger(tmp_path / "store.db")
    store.save_agent(AgentRow("a", "tag", "tiny", "/", None, 0.0))
    store.add_message(Message("m1", "a", "do it"))
    store.add_event("a", Event(Kind.WARNING, Source.AGENTD, 1.0, {"text": "before"}))
    return store


def note(store: Ledger, number: int) -> None:
    event = Event(Kind.WARNING, Source.AGENTD, 2.0, {"n": number, "x": "x" * 900})
    store.write(lambda book: book.add_event("a", event))


def fill(store: Ledger) -> None:
    """Write until a real SQLite says that there is no room."""
    store._db.execute("PRAGMA max_page_count = 1")
    for number in range(10_000):
        note(store, number)
        if store.problem:
            return
    raise AssertionError("it is never full")


def test_a_full_disk_is_really_full(store: Ledger, tmp_path: Path) -> None:
    fill(store)
    assert store.problem == "database or disk is full"
    turn = Turn("t1", "a", "m1", 3.0)
    for entry in (
        lambda book: book.set_receipt("m1", Receipt.ACCEPTED, "t1"),
        lambda book: book.begin_turn(turn, "message"),
        lambda book: book.end_turn("t1", 4.0, Outcome.COMPLETED, "done", None),
        lambda book: book.save_life("a", {"run": 7}),
    ):
        store.write(entry)
    assert store.write(
        lambda book: book.settle(Ending("m1", Outcome.COMPLETED, reply="done", turn="t1", ended_at=4.0))
    )
    assert not store.write(lambda book: book.settle(Ending("m1", Outcome.LOST))), (
        "the first word counts here too"
    )
    assert not store.write(lambda book: book.settle(Ending("nobody", Outcome.LOST)))
    numbers = [seq for seq, _, _ in store.events(None)]

    def known() -> tuple[object, ...]:
        return (
            store.result("m1"),
            store.last_turn("a"),
            store.events("a"),
            store.events("a", 3),
            store.events_after(4, "a"),
        )

    was = known()
    result = store.result("m1")
    assert result and (result.outcome, result.reply, result.receipt) == (
        Outcome.COMPLETED,
        "done",
        Receipt.ACCEPTED,
    )
    last = store.last_turn("a")
    assert last and (last.reply, last.message) == ("done", "m1")
    assert not store.catch_up()
    with pytest.raises(
        Unwritable, match=r"store\.db can't be written \(database or disk is full\): the message was not"
    ):
        store.add_message(Message("m2", "a", "x"))
    assert store.result("m2") is None, "nothing half accepted"
    store._db.execute("PRAGMA max_page_count = 1000000")
    assert store.catch_up() and store.problem is None
    assert known() == was
    assert [seq for seq, _, _ in store.events(None)] == numbers == list(range(1, len(numbers) + 1))
    store.close()
    again = Ledger(tmp_path / "store.db")
    assert again.result("m1") == result and again.agents()[0].life == {"run": 7}
    again.close()


def test_all_or_nothing_is_kept_in_memory_too(store: Ledger) -> None:
    def entries(book: ledger.Book) -> None:
        book.set_receipt("m1", Receipt.QUEUED, None)
        readonly(store, True)
        book.save_life("a", {"run": 1})

    store.write(entries)
    readonly(store, False)
    assert store.catch_up()
    assert store.agents()[0].life == {"run": 1}
    result = store.result("m1")
    assert result and result.receipt is Receipt.QUEUED


def test_what_waits_in_memory_is_bounded(store: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MOST_EVENTS", 3)
    readonly(store, True)
    for number in range(10):
        note(store, number)
    readonly(store, False)
    assert store.catch_up()
    assert [(seq, e.get("n")) for seq, _, e in store.events("a")] == [(1, None), (9, 7), (10, 8), (11, 9)]


def test_the_last_number_is_the_last_that_was_told(store: Ledger) -> None:
    """Who comes back for the events after it must find it."""
    readonly(store, True)
    note(store, 1)
    assert store.last_event() == store.events(None)[-1][0] == 2
    readonly(store, False)
    assert store.catch_up()
    assert store.last_event() == 2


def test_what_an_agent_is_to_be_is_kept_in_memory_too(store: Ledger) -> None:
    readonly(store, True)
    store.write(lambda book: book.set_wishes("a", "/there", "big"))
    readonly(store, False)
    assert store.catch_up()
    assert [(row.cwd, row.model) for row in store.agents()] == [("/there", "big")]


@pytest.mark.parametrize(
    "remove",
    [
        lambda store: store.forget("a"),
        lambda store: store.trim_turns("a", 9.0, 10),
        lambda store: store.trim_events_of("a", 10),
        lambda store: store.trim_events(9.0, 0, 10),
    ],
)
def test_nothing_is_removed_that_what_is_late_would_bring_back(
    store: Ledger, remove: Callable[[Ledger], object]
) -> None:
    readonly(store, True)
    note(store, 1)
    with pytest.raises(Unwritable, match="readonly database"):
        remove(store)
    readonly(store, False)
    remove(store)
    assert store.problem is None, "what was late went first"
    store.forget("a")
    store.save_agent(AgentRow("a", "another", "tiny", "/", None, 0.0))
    assert store.catch_up() and store.events("a") == []


def test_a_bug_is_no_full_disk(store: Ledger) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        store.add_message(Message("m1", "a", "the same id"))
    with pytest.raises(sqlite3.IntegrityError):
        store.write(lambda book: book.add_event(None, Event(Kind.WARNING, Source.AGENTD, 2.0)))  # type: ignore[arg-type]
    assert store.problem is None


def test_the_end_of_a_daemon_says_what_it_could_not_write(
    store: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    readonly(store, True)
    store.write(lambda book: book.save_life("a", {"run": 1}))
    with caplog.at_level(logging.ERROR):
        store.close()
    assert "still can't be written" in caplog.text


async def test_a_turns_answer_reaches_its_caller(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        readonly(cli.store, True)
        await cli.turn("m1", "one")
        assert (await cli.owner.settled("m1")).reply == "one"
        last = cli.store.last_turn("a")
        assert last and last.reply == "one"
        with pytest.raises(Unwritable):
            cli.send("m2")
        assert cli.owner.machine.messages == {}
        [warning] = warnings(cli)
        assert warning.startswith("the store can't be written (attempt to write a readonly database): what")


async def test_it_is_written_when_there_is_room(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli, trio.open_nursery() as nursery:
        nursery.start_soon(cli.store.run)
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        readonly(cli.store, True)
        await cli.turn("m1", "one")
        await trio.sleep(3 * RETRY_S)
        assert cli.store.problem
        readonly(cli.store, False)
        await trio.sleep(RETRY_S + 1)
        assert cli.store.problem is None
        [row] = cli.store.agents()
        assert Life.load(row, tmp_path / "a").memory == cli.owner.machine.memory
        cli.send("m2")
        await cli.settle()
        assert warnings(cli)[-1] == "the store can be written again"
        assert cli.pane.typed == ["text:m1", "Enter", "text:m2", "Enter"]
        readonly(cli.store, True)
        await cli.turn("m2", "two")
        readonly(cli.store, False)
        await trio.sleep(RETRY_S + 1)
        assert cli.store.problem is None, "a second time too"
        nursery.cancel_scope.cancel()


async def test_nothing_is_pasted_that_a_next_daemon_would_paste_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        cli.send("m2")
        await cli.settle()
        readonly(cli.store, True)
        await cli.turn("m1", "one")
        await trio.sleep(30)
        assert cli.pane.typed == ["text:m1", "Enter"]
        assert "can't be written" in cli.owner.machine.memory.fact.text, "`explain` says why it waits"
        assert len([text for text in warnings(cli) if "waits" in text]) == 1
        readonly(cli.store, False)
        assert cli.store.catch_up()
        await trio.sleep(2)
        assert cli.pane.typed == ["text:m1", "Enter", "text:m2", "Enter"]
        await cli.turn("m2", "two")
        assert (await cli.owner.settled("m2")).reply == "two"


async def test_a_paste_file_that_can_not_be_written_keeps_the_message(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        paste, no_room = cli.terminal.paste, True

        async def refuse(pane: object, text: str) -> None:
            if no_room:
                raise OSError(errno.ENOSPC, "No space left on device", "/run/paste-a")
            await paste(pane, text)  # type: ignore[arg-type]

        monkeypatch.setattr(cli.terminal, "paste", refuse)
        cli.send("m1")
        await trio.sleep(60)
        assert cli.pane.typed == []
        assert warnings(cli) == [
            "the prompt could not be pasted and waits: [Errno 28] No space left on device: '/run/paste-a'"
        ]
        no_room = False
        await trio.sleep(2)
        assert cli.pane.typed == ["text:m1", "Enter"]


async def test_files_of_the_start_that_can_not_be_written(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        cli.starter.failure = OSError(errno.ENOSPC, "No space left on device", "/state/agents/a/launch.json")
        cli.send("m1")
        result = await cli.owner.settled("m1")
        assert result.error and (result.error.code, result.error.message) == (
            "start_failed", "[Errno 28] No space left on device: '/state/agents/a/launch.json'",
        )  # fmt: skip
        cli.starter.failure = None
        cli.send("m2")
        await cli.settle()
        assert cli.starter.resumed == [None], "the next prompt tries again"


def test_half_a_private_file_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "token"
    write_private(path, "old")
    monkeypatch.setattr("os.fdopen", _full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/token'"):
        write_private(path, "new")
    assert not path.exists()


def _full(descriptor: int, *args: object, **options: object) -> object:
    raise OSError(errno.ENOSPC, "No space left on device")
