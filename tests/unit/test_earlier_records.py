"""A process that takes up an earlier one's conversation writes into its record: however late that is found,
what the process wrote is read, and what stood there before is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentd.agents import life as lives
from agentd.agents.life import Life, Records
from agentd.model import Event, Kind, Source
from agentd.records.watch import FileWatcher
from agentd.store import AgentRow
from tests.unit.story import Tiny


class Plain(Tiny):
    """Its record's rows are its texts; a hook may name the record."""

    class Reader:
        def feed(self, source: str, row: dict[str, Any]) -> list[Event]:
            if "path" in row:
                data = {"session_id": "s", "follow": {"record": row["path"]}, "resumed": row["resumed"]}
                return [Event(Kind.SESSION_STARTED, Source.HOOK, 1.0, data)]
            return [Event(Kind.TEXT, Source.RECORD, 1.0, {"text": row["text"]})]

    def reader(self, memory: dict[str, Any]) -> Any:
        return self.Reader()


class Runs:
    """The processes of one CLI, one after the other, and what is heard of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "record.jsonl"
        self._own(Life(AgentRow("a", "1", "tiny", "/", None, 0.0), folder))

    def _own(self, life: Life) -> None:
        self.life = life
        self.records = Records(life, Plain(), FileWatcher(), lambda: None)

    def begin(self) -> None:
        self.records.begin()

    def new_daemon(self) -> None:
        self.records.close()
        row = self.life.row
        saved = json.loads(json.dumps(self.life.to_json()))
        self._own(
            Life.load(AgentRow(row.name, row.id, row.provider, "/", None, 0.0, life=saved), self.folder)
        )

    def write(self, text: str, path: Path | None = None) -> None:
        with (path or self.record).open("a") as file:
            file.write(json.dumps({"text": text}) + "\n")

    def hook(self, path: Path, *, resumed: bool) -> None:
        row = {"time": 1.0, "hook": {"path": str(path), "resumed": resumed}}
        with self.life.spool.open("a") as spool:
            spool.write(json.dumps(row) + "\n")

    def found(self, path: Path | None = None, *, from_end: bool = True) -> None:
        self.records.follow("record", path or self.record, from_end=from_end)

    def heard(self) -> list[str]:
        return [event.data["text"] for event in self.records.read() if event.kind is Kind.TEXT]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """The first process has written, and has ended."""
    runs = Runs(tmp_path)
    runs.begin()
    runs.write("one")
    runs.found(from_end=False)
    assert runs.heard() == ["one"]
    return runs


@pytest.mark.parametrize("new_daemon", [False, True])
@pytest.mark.parametrize("from_end", [False, True])
def test_what_it_wrote_until_it_was_found(runs: Runs, from_end: bool, new_daemon: bool) -> None:
    runs.begin()
    runs.write("two")
    if new_daemon:
        runs.new_daemon()
    runs.found(from_end=from_end)
    runs.write("three")
    assert runs.heard() == ["two", "three"]


def test_what_it_wrote_until_a_hook_named_it(runs: Runs) -> None:
    runs.begin()
    runs.write("two")
    runs.hook(runs.record, resumed=True)
    assert runs.heard() == ["two"]


def test_after_a_process_that_was_never_found(runs: Runs) -> None:
    """It may have written, too: that is no word of the one that lives."""
    runs.begin()
    runs.write("of the one between")
    runs.begin()
    runs.write("two")
    runs.found()
    assert runs.heard() == ["two"]


def test_behind_half_a_row_of_the_one_that_was_killed(runs: Runs) -> None:
    with runs.record.open("a") as file:
        file.write('{"text": "hal')
    runs.begin()
    runs.write("two")
    runs.found()
    assert runs.heard() == ["two"]


def test_what_the_earlier_one_wrote_at_its_end_is_no_news(runs: Runs) -> None:
    runs.write("last words")
    runs.begin()
    runs.found(from_end=False)
    assert runs.heard() == []


def test_a_record_that_was_never_followed_is_read_as_asked(runs: Runs, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    runs.write("old", other)
    runs.begin()
    runs.found(other)
    runs.write("new", other)
    assert runs.heard() == ["new"]


def test_a_record_that_was_made_anew_is_read_whole(runs: Runs) -> None:
    runs.record.unlink()
    runs.begin()
    runs.write("anew")
    runs.found(from_end=False)
    assert runs.heard() == ["anew"]


def test_a_record_that_can_not_be_read_keeps_nothing_from_starting(runs: Runs, tmp_path: Path) -> None:
    runs.record.unlink()
    runs.record.symlink_to(runs.record)
    runs.begin()
    assert runs.life.earlier == {}


def test_the_latest_conversations_are_remembered(runs: Runs, tmp_path: Path) -> None:
    for number in range(lives.EARLIER + 5):
        path = tmp_path / f"{number}.jsonl"
        runs.begin()
        runs.write("x", path)
        runs.found(path)
    runs.begin()
    assert [path.name for path in runs.life.earlier] == [
        f"{number}.jsonl" for number in range(5, lives.EARLIER + 5)
    ]
