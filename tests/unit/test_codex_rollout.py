"""Which of the files that Codex holds open is the conversation's record."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentd_codex import Codex

CAPTURES = Path(__file__).parent / "captures" / "codex"
BORN = 1000.0


def rollout(folder: Path, name: str, written: float, **meta: Any) -> Path:
    """A rollout that was last written to at that time."""
    row = {"type": "session_meta", "payload": {"id": name, "source": "cli", "thread_source": "user", **meta}}
    path = folder / f"rollout-2026-12-01T00-00-00-{name}.jsonl"
    path.write_text(json.dumps(row) + '\n{"half')
    os.utime(path, (written, written))
    return path


def find(*paths: Path, **memory: Any) -> dict[str, Path]:
    return dict(Codex().records(paths, {"born": BORN, **memory}))


def test_none_yet(tmp_path: Path) -> None:
    assert find() == {}
    assert find(tmp_path / "state.sqlite", tmp_path / "gone.jsonl") == {}


def test_the_one_that_was_written_to_last(tmp_path: Path) -> None:
    """After `/new`, the former conversation's file stays open."""
    former, now = rollout(tmp_path, "a", BORN + 1), rollout(tmp_path, "b", BORN + 2)
    assert find(former, now) == {"rollout:b": now}
    assert find(now, former) == {"rollout:b": now}


def test_a_file_that_is_only_read_does_not_count(tmp_path: Path) -> None:
    assert find(rollout(tmp_path, "a", BORN - 0.1)) == {}


def test_while_it_works_a_prompt_must_have_been_written(tmp_path: Path) -> None:
    """The first prompt after `/new`: its file is made a moment later."""
    former = rollout(tmp_path, "a", BORN + 10)
    assert find(former, working_since=BORN + 20) == {}
    assert find(former, working_since=BORN + 10.5) == {"rollout:a": former}


@pytest.mark.parametrize(
    "meta",
    [
        {"source": "exec"},
        {"source": {"subagent": {"thread_spawn": {}}}, "thread_source": "subagent"},
        {"thread_source": "subagent"},
        {"id": None, "source": None},
    ],
)
def test_others_conversations_are_no_record(tmp_path: Path, meta: dict[str, Any]) -> None:
    assert find(rollout(tmp_path, "x", BORN + 5, **meta)) == {}


def test_releases_without_a_thread_source(tmp_path: Path) -> None:
    path = rollout(tmp_path, "x", BORN + 5, thread_source=None)
    assert find(path) == {"rollout:x": path}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"payload": 3}', '{"payload": {}}'])
def test_odd_files_are_passed_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rollout-x.jsonl"
    path.write_text(text)
    assert find(path) == {}


@pytest.mark.parametrize("release", ["0.171.0", "0.155.1"])
def test_a_real_one(tmp_path: Path, release: str) -> None:
    path = tmp_path / "rollout-2026-11-30T23-01-45-x.jsonl"
    path.write_bytes((CAPTURES / release / "rollout.jsonl").read_bytes())
    assert [name.startswith("rollout:01a22eb1-") for name in find(path)] == [True]


def test_a_real_sub_agents(tmp_path: Path) -> None:
    path = tmp_path / "rollout-2026-11-30T23-01-45-x.jsonl"
    path.write_bytes((CAPTURES / "0.171.0" / "subagent-rollout.jsonl").read_bytes())
    assert find(path) == {}
