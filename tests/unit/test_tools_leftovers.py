"""What a killed daemon left running is ended; what only looks like it is spared."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agentd.processes import boot_id, start_time
from agentd.testing.processes import alive, kill
from agentd.testing.until import until
from agentd.tools.leftovers import CALL, end_all, marked
from tests.unit.tool_calls import pids_in

OURS = uuid.uuid4().hex


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def dead() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command that is a zombie, since the daemon that would have fetched its status is dead, too; and the
    child that it left."""
    script = "sleep 1000 >/dev/null & echo $!"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as command:
        assert command.stdout
        child = int(command.stdout.readline())
        until("it is over", lambda: psutil.Process(command.pid).status() == psutil.STATUS_ZOMBIE)
        yield command, child


@pytest.fixture
def away(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """The mark of a command that is gone, and a process that has left its session."""
    script = f"(setsid sh -c 'echo $$ > {tmp_path}/away; exec sleep 1000' >/dev/null &)"
    with subprocess.Popen(["sh", "-c", script], start_new_session=True, env={**os.environ, CALL: OURS}) as it:
        told = json.dumps({**json.loads(words(it)), "call": OURS})
    [pid] = until("it is away", lambda: pids_in(tmp_path / "away"))
    yield told, pid
    kill([psutil.Process(pid)] if alive(pid) else [])


def mark(folder: Path, text: str) -> Path:
    file = folder / "a" / "tools" / "c1.pid"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def words(process: subprocess.Popen[bytes], *, later: float = 0.0, boot: str = "") -> str:
    started = start_time(process.pid)
    assert started is not None
    return json.dumps({"pid": process.pid, "started": started - later, "boot": boot or boot_id()})


async def test_a_command_that_still_runs_is_ended(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    file = mark(tmp_path, words(process))
    await end_all(tmp_path)
    assert not alive(process.pid) and not file.exists()


async def test_what_a_dead_command_left_is_ended(
    tmp_path: Path, dead: tuple[subprocess.Popen[bytes], int]
) -> None:
    command, child = dead
    file = mark(tmp_path, words(command))
    await end_all(tmp_path)
    assert not alive(child) and not file.exists()


async def test_what_left_parent_and_session_is_ended(tmp_path: Path, away: tuple[str, int]) -> None:
    told, pid = away
    file = mark(tmp_path, json.dumps({**json.loads(told), "call": "another"}))
    await end_all(tmp_path)
    assert alive(pid) and not file.exists(), "it is of another call"
    file.write_text(told)
    await end_all(tmp_path)
    assert not alive(pid) and not file.exists()


@pytest.mark.parametrize(("later", "boot"), [(1000.0, ""), (0.0, "another")], ids=["reused", "before a boot"])
async def test_another_process_of_that_number_is_spared(
    tmp_path: Path, process: subprocess.Popen[bytes], later: float, boot: str
) -> None:
    file = mark(tmp_path, words(process, later=later, boot=boot))
    await end_all(tmp_path)
    assert alive(process.pid) and not file.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 4194999, "started": 1, "boot": 1}'])
async def test_a_mark_that_says_nothing_is_removed(tmp_path: Path, text: str) -> None:
    file = mark(tmp_path, text)
    await end_all(tmp_path)
    assert not file.exists()


def test_a_mark_lasts_as_long_as_its_command(tmp_path: Path) -> None:
    file = tmp_path / "tools" / "c1.pid"
    with marked(file, 1, 2.0, "c"):
        told = json.loads(file.read_text())
        assert (told["pid"], told["started"], told["call"]) == (1, 2.0, "c")
        assert file.stat().st_mode & 0o777 == 0o600
    assert not file.exists()


def test_what_can_not_be_marked_runs_all_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tools").write_text("no folder")
    with marked(tmp_path / "tools" / "c1.pid", 1, 2.0, "c"):
        pass
    assert "can't be written" in caplog.text
