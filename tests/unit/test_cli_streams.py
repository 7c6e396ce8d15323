"""Standard streams that are closed or full: one clear line, a code of the table, no traceback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest

from tests.unit.fake_daemon import FakeDaemon, events, fake_daemon, reply, result

PROGRAM = [sys.executable, "-c", "import sys; from agentd.cli import main; sys.exit(main())"]


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon() as it:
        monkeypatch.setenv("AGENTD_SOCKET", str(it.path))
        yield it


def run(words: Sequence[str], redirections: str) -> subprocess.CompletedProcess[str]:
    """Run by a shell, which can close a stream."""
    script = f'exec "$@" {redirections}'
    command = ["sh", "-c", script, "sh", *PROGRAM, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize("json", [(), ("--json",)])
@pytest.mark.parametrize(
    ("where", "why"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")]
)
def test_an_answer_that_can_not_be_written(
    daemon: FakeDaemon, where: str, why: str, json: tuple[str, ...]
) -> None:
    daemon.on("GET", "/v1/agents", reply([]))
    done = run(["list", *json], where)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith(f"agentd: the answer can't be written on standard output: {why};")


def test_no_prompt_and_no_standard_input(daemon: FakeDaemon) -> None:
    done = run(["send", "demo"], "<&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input is closed" in done.stderr and "Traceback" not in done.stderr
    assert daemon.requests == []


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_nobody_hears_the_progress(daemon: FakeDaemon, where: str) -> None:
    """It goes nowhere, and least of all to where the reply goes."""
    daemon.on("POST", "/v1/agents/demo/messages", events(("progress", {"text": "works"}), result()))
    done = run(["send", "demo", "ping"], where)
    assert (done.returncode, done.stdout) == (0, "pong\n")


@pytest.mark.parametrize("target", ["Bad/Name", "../x", "..", "x?y", "-"])
def test_what_can_be_no_target(daemon: FakeDaemon, target: str) -> None:
    for verb in ("stop", "show", "send"):
        done = run([verb, "--", target, *(["x"] if verb == "send" else [])], "")
        assert done.returncode == 2 and "can be no agent's name" in done.stderr
    assert daemon.requests == []
