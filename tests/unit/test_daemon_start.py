"""A daemon that can't have its store ends with a text that says which file it is, and what helps."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentd import daemon, logs
from agentd.tmux.server import TmuxServer
from agentd.tmux.terminal import TmuxTerminal


@pytest.fixture(autouse=True)
def others_log_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "begin", lambda *how: None)


def start(folder: Path) -> int:
    return daemon.run(
        socket=folder / "agentd.sock",
        state_dir=folder / "state",
        config=folder / "config.toml",
        log_level="ERROR",
        log_format="text",
        log_file=None,
    )


def damaged(file: Path) -> str:
    file.write_bytes(os.urandom(5000))
    return "file is not a database"


def in_the_way(file: Path) -> str:
    file.mkdir()
    return "Is a directory"


def no_room(file: Path) -> str:
    """What /dev/full is for."""
    file.symlink_to("/dev/full")
    return ""


@pytest.mark.parametrize("trouble", [damaged, in_the_way, no_room])
def test_a_store_that_can_not_be_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], trouble: Callable[[Path], str]
) -> None:
    (tmp_path / "state").mkdir()
    store = tmp_path / "state" / "agentd.db"
    why = trouble(store)
    assert start(tmp_path) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    [line] = shown.err.splitlines()
    assert line.startswith(f"agentd: the store {store} can't be opened: ") and why in line
    assert "Free room on that disk" in line and "agents go on meanwhile" in line


def test_a_lock_that_can_not_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = tmp_path / "state" / "agentd.lock"
    lock.mkdir(parents=True)
    assert start(tmp_path) == 1
    assert capsys.readouterr().err.startswith(f"agentd: {lock} can't be written: ")


def test_the_prompt_of_a_daemon_that_was_killed_while_it_pasted_goes(tmp_path: Path) -> None:
    left, other = tmp_path / "paste-demo-work", tmp_path / "agentd.sock"
    left.write_text("a prompt")
    other.touch()
    TmuxTerminal(TmuxServer(tmp_path / "agentd.tmux.sock", {})).forget_pastes()
    assert [*tmp_path.iterdir()] == [other]
