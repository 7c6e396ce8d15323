"""What was read of a spool or an output is given back while others write to it, and no line is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from agentd.agents import life as lives
from agentd.agents.life import HOOK, Life, Records
from agentd.model import Event, Kind, Source, State
from agentd.records import hook
from agentd.records.holes import punch
from agentd.records.output import OutputTail
from agentd.records.tail import Tail
from agentd.records.watch import FileWatcher
from agentd.store import AgentRow
from tests.unit.story import Tiny
from tests.unit.test_owner import running

BLOCKS = 512
"""What `st_blocks` counts, in bytes."""
needs_holes = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives a file's beginning back")


def held(path: Path) -> int:
    """What the file takes on the disk, in bytes."""
    return path.stat().st_blocks * BLOCKS


def finishing(*tasks: threading.Thread) -> bool:
    return not any(task.is_alive() for task in tasks)


@needs_holes
def test_a_hole_frees_the_beginning_and_moves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    path.write_bytes(b"x" * 1_000_000 + b"the rest\n")
    was = path.stat()
    assert punch(path, 1_000_000)
    now = path.stat()
    assert (now.st_ino, now.st_size) == (was.st_ino, was.st_size)
    assert held(path) < 10_000
    assert path.read_bytes() == b"\0" * 1_000_000 + b"the rest\n"
    assert not punch(tmp_path / "none", 5)


def spooled(text: str) -> bytes:
    return (json.dumps({"time": 1.0, "hook": {"text": text}}) + "\n").encode()


@needs_holes
def test_no_line_of_concurrent_writers_is_lost_or_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real hook program side by side, one writer that has the file open all the time, and one that
    writes without a lock, as Node's `appendFileSync` does. A new reader takes over again and again."""
    monkeypatch.setattr(lives, "GIVE_BACK_ABOVE", 20_000)
    life = Life(AgentRow("a", "1", "tiny", "/", None, 0.0), tmp_path)
    records = Records(life, Tiny(), FileWatcher(), lambda: None)
    records.begin()
    program = [sys.executable, "-I", "-S", str(hook.__file__), str(life.spool)]

    def call(number: int) -> None:
        given = json.dumps({"text": f"hook {number} " + "x" * 5000}).encode()
        subprocess.run(program, input=given, check=True)

    def hooks() -> None:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(call, range(60)))

    def others() -> None:
        first = os.open(life.spool, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        number = 0
        while not finishing(by_hooks):
            os.write(first, spooled(f"open {number} " + "x" * 3000))
            with life.spool.open("ab", buffering=0) as file:
                file.write(spooled(f"node {number} " + "x" * 3000))
            number += 1
            os.sched_yield()
        os.close(first)
        written.append(number)

    written: list[int] = []
    by_hooks = threading.Thread(target=hooks)
    by_others = threading.Thread(target=others)
    by_hooks.start()
    by_others.start()
    seen: list[str] = []
    gave = 0
    while True:
        over = finishing(by_hooks, by_others)
        for row in life.tails[HOOK].rows():
            seen.append(" ".join(row["hook"]["text"].split()[:2]))
        if records.heavy():
            saved = json.loads(json.dumps(life.tails[HOOK].to_json()))
            records.give_back()
            gave += 1
            life.tails[HOOK] = Tail.from_json(saved)  # as a new daemon does
        if over:
            break
    [number] = written
    expected = {
        *(f"hook {n}" for n in range(60)),
        *(f"{who} {n}" for who in ("open", "node") for n in range(number)),
    }
    assert len(seen) == len(expected) and set(seen) == expected
    assert gave > 3 and life.spool.stat().st_size > 400_000
    records.give_back()
    assert held(life.spool) < 10_000


@needs_holes
def test_no_title_is_lost_of_an_output_that_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lives, "GIVE_BACK_ABOVE", 50_000)
    life = Life(AgentRow("a", "1", "tiny", "/", None, 0.0), tmp_path)
    records = Records(life, Tiny(), FileWatcher(), lambda: None)
    records.begin()
    path = records.follow_output()
    copy = subprocess.Popen(["/bin/sh", "-c", 'exec cat >> "$0"', str(path)], stdin=subprocess.PIPE)

    def write() -> None:
        assert copy.stdin
        for number in range(3000):
            copy.stdin.write(b"picture" * 50 + f"\x1b]0;title {number}\x07".encode())
        copy.stdin.close()
        copy.wait()

    writing = threading.Thread(target=write)
    writing.start()
    seen: list[str] = []
    while True:
        over = finishing(writing)
        seen += [row["text"] for row in life.tails["output"].rows()]
        if records.heavy():
            records.give_back()
        if over:
            break
    assert seen == [f"title {number}" for number in range(3000)]
    records.give_back()
    assert path.stat().st_size > 1_000_000 and held(path) < 10_000


def test_where_no_hole_can_be_made_the_output_is_emptied_and_the_spool_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lives, "GIVE_BACK_ABOVE", 1000)
    monkeypatch.setattr(lives, "punch", lambda path, end: False)
    life = Life(AgentRow("a", "1", "tiny", "/", None, 0.0), tmp_path)
    records = Records(life, Tiny(), FileWatcher(), lambda: None)
    records.begin()
    path = records.follow_output()
    for number in range(3):
        for file, data in ((path, b"x" * 2000 + b"\x1b]0;title\x07"), (life.spool, spooled("x" * 2000))):
            with file.open("ab") as writer:
                writer.write(data)
        assert [row["text"] for row in life.tails["output"].rows()] == ["title"]
        assert len(list(life.tails[HOOK].rows())) == 1
        assert records.heavy()
        records.give_back()
        assert not records.heavy()
        assert path.stat().st_size == 0 and life.spool.stat().st_size > 2000 * (number + 1)
    assert isinstance(life.tails["output"], OutputTail)


@needs_holes
async def test_the_owner_gives_back_what_it_has_handled(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lives, "GIVE_BACK_ABOVE", 50_000)
    async with running(tmp_path) as cli:
        await cli.ready()
        for number in range(40):
            await cli.turn(f"prompt {number}", "x" * 5000)
        spool = cli.owner.life.spool
        assert spool.stat().st_size > 200_000 and held(spool) < 120_000
        [row] = cli.store.agents()
        again = Life.load(row, cli.owner.life.folder)
        assert list(again.tails[HOOK].rows()) == [], "a new daemon goes on where this one was"
        assert cli.owner.state is State.READY


class CountingWatcher(FileWatcher):
    """Counts what is watched."""

    @property
    def watched(self) -> list[str]:
        return sorted(path.name for path in self._callbacks)


class Moving(Tiny):
    """Its record moves with each session."""

    class Reader:
        def feed(self, source: str, row: dict[str, Any]) -> Iterator[Event]:
            data = {"session_id": row["session"], "follow": {"record": row["path"]}}
            yield Event(Kind.SESSION_STARTED, Source.HOOK, 1.0, data)

    def reader(self, memory: dict[str, Any]) -> Any:
        return self.Reader()


def test_a_record_that_is_followed_no_more_is_not_watched(tmp_path: Path) -> None:
    watcher = CountingWatcher()
    life = Life(AgentRow("a", "1", "tiny", "/", None, 0.0), tmp_path)
    records = Records(life, Moving(), watcher, lambda: None)
    records.begin()
    for number in range(5):
        row = {"hook": {"session": number, "path": str(tmp_path / f"record-{number}")}, "time": 1.0}
        with life.spool.open("a") as spool:
            spool.write(json.dumps(row) + "\n")
        assert len(list(records.read())) == 1
        assert watcher.watched == [f"record-{number}", "spool-1.jsonl"]
    records.close()
    assert watcher.watched == []


def test_a_start_clears_away_the_files_of_all_earlier_runs(tmp_path: Path) -> None:
    for name in ("spool-1.jsonl", "spool-7.jsonl", "output-3.raw", "claude-settings.json"):
        (tmp_path / name).write_text("x")
    life = Life(AgentRow("a", "1", "tiny", "/", None, 0.0), tmp_path, run=6)
    Records(life, Tiny(), FileWatcher(), lambda: None).begin()
    assert [path.name for path in tmp_path.iterdir()] == ["claude-settings.json"]
    assert list(life.tails[HOOK].rows()) == [], "a late hook of an earlier run is not heard"
