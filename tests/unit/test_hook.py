"""The hook program: one whole line a call, silent, and never in the way of the CLI."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agentd.records import hook
from agentd.records.tail import Tail


def call(spool: Path, given: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-S", str(hook.__file__), str(spool)]
    return subprocess.run(command, input=given, capture_output=True, check=False, timeout=20)


def test_one_line_with_its_time(tmp_path: Path) -> None:
    done = call(tmp_path / "spool", '{"hook_event_name": "Stop", "text": "zwei\\nZeilen ä"}'.encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    [row] = Tail(tmp_path / "spool").rows()
    assert row["hook"] == {"hook_event_name": "Stop", "text": "zwei\nZeilen ä"}
    assert row["time"] > 1e9
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o600


def test_what_is_no_json_is_kept_as_it_came(tmp_path: Path) -> None:
    call(tmp_path / "spool", b"\xff not json")
    [row] = Tail(tmp_path / "spool").rows()
    assert row["hook"] == {"raw": "\ufffd not json"}


def test_it_never_fails(tmp_path: Path) -> None:
    done = call(tmp_path / "no" / "such" / "folder", b"{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_hooks_that_run_side_by_side_do_not_mix(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    texts = [str(number) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: call(spool, json.dumps({"text": text}).encode()), texts))
    assert sorted(row["hook"]["text"] for row in Tail(spool).rows()) == texts


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    """The file may grow to 4 KiB: a longer line is written in part, and then taken back."""
    spool = tmp_path / "spool"
    call(spool, b'{"n": 1}')
    text = json.dumps({"text": "x" * 5000}).encode()
    limited = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        f"sys.argv = ['hook', {str(spool)!r}]; runpy.run_path({str(hook.__file__)!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", limited]
    done = subprocess.run(command, input=text, capture_output=True, check=False, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    call(spool, b'{"n": 2}')
    assert [row["hook"] for row in Tail(spool).rows()] == [{"n": 1}, {"n": 2}]
