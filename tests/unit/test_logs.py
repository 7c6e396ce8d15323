"""The log's files are private, and their sum is bounded."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentd import logs


@pytest.fixture(autouse=True)
def root() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    yield root
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_its_files_are_bounded_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LARGEST", 1000)
    logs.begin("info", "text", tmp_path / "log")
    for number in range(200):
        logging.getLogger("agentd").info("line %d of many", number)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["log", "log.1", "log.2", "log.3"]
    assert all(file.stat().st_size <= 1000 and file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert files[0].read_text().endswith("INFO agentd: line 199 of many\n")


def test_an_earlier_log_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n")
    logs.begin("info", "json", tmp_path / "log")
    logging.getLogger("agentd").info("a \udce4 that is no text")
    first, second = (tmp_path / "log").read_text().splitlines()
    assert first == "before" and json.loads(second)["message"] == "a \udce4 that is no text"


def test_its_folder_is_made_and_private(tmp_path: Path) -> None:
    logs.begin("info", "text", tmp_path / "some" / "where" / "log")
    logging.getLogger("agentd").info("a line")
    assert (tmp_path / "some" / "where" / "log").read_text().endswith("a line\n")
    assert (tmp_path / "some" / "where").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", ["file/log", "folder"])
def test_a_file_that_can_not_be_written_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=str(tmp_path)):
        logs.begin("info", "text", tmp_path / place)
