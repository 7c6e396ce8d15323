"""The hook program, as Cursor runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentd_cursor import hook

PAYLOAD = {
    "conversation_id": "6f1c8d2e-0000-4b17-9c0e-2b6a1d7e4f88",
    "generation_id": "7f1c8d2e-0000-4b17-9c0e-2b6a1d7e4f88",
    "hook_event_name": "beforeSubmitPrompt",
    "prompt": "caf\u00e9\nsecond line",
    "attachments": [{"content": "x" * 1000}],
    "user_email": "somebody@example.com",
    "transcript_path": None,
}


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    folder = tmp_path / "agents" / "one"
    folder.mkdir(parents=True)
    return folder / "spool-1.jsonl"


def run(spool: Path, given: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-I", "-S", hook.__file__, str(spool.parents[1])]
    return subprocess.run(
        argv, input=given, capture_output=True, check=False, env={hook.SPOOL: str(spool), **env}, cwd="/"
    )


def rows(spool: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in spool.read_text().splitlines()]


def test_it_appends_a_line_and_permits(spool: Path) -> None:
    done = run(spool, json.dumps(PAYLOAD).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")
    [row] = rows(spool)
    kept = {name: value for name, value in PAYLOAD.items() if name not in ("attachments", "user_email")}
    assert row["hook"] == kept and isinstance(row["time"], float)
    assert spool.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("given", [b"", b"not json", b"[1]", b"null", b"\xff\xfe", b'{"hook_event_name": '])
def test_whatever_comes_the_turn_goes_on(spool: Path, given: bytes) -> None:
    done = run(spool, given)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")
    [row] = rows(spool)
    assert row["hook"] == {"raw": given.decode("utf-8", "replace")}


def test_a_cursor_of_somebody_else_is_not_heard(spool: Path, tmp_path: Path) -> None:
    """The editor, a person's own session, another daemon's agent: the entry in the file is run for all."""
    elsewhere = tmp_path / "other" / "spool.jsonl"
    elsewhere.parent.mkdir()
    for value in ("", str(elsewhere), str(tmp_path / "agents-too" / "spool"), "relative"):
        done = run(spool, json.dumps(PAYLOAD).encode(), **{hook.SPOOL: value})
        assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert not spool.exists() and not elsewhere.exists()


def test_a_spool_that_cannot_be_written(spool: Path) -> None:
    spool.parent.rmdir()
    done = run(spool, b"{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")


def test_side_by_side(spool: Path) -> None:
    """Long lines of many hooks don't mix."""
    prompts = [f"{number} " + "x" * 200_000 for number in range(8)]
    threads = [
        threading.Thread(target=run, args=(spool, json.dumps({**PAYLOAD, "prompt": prompt}).encode()))
        for prompt in prompts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [row["hook"]["prompt"] for row in rows(spool)]  # type: ignore[index]
    assert sorted(found) == sorted(prompts)


def test_it_loads_nothing_slow() -> None:
    code = f"import sys, runpy; runpy.run_path({hook.__file__!r}); print('pathlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout == "False\n"
