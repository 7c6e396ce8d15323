"""`agentd send` and `agentd wait`: what goes to the daemon, to each stream, and into the exit code."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from agentd.cli import main

if TYPE_CHECKING:
    from tests.unit.fake_daemon import (
        END,
        PATIENCE,
        STREAM,
        FakeDaemon,
        event,
        events,
        fake_daemon,
        refusal,
        reply,
        result,
    )  # fmt: skip
else:
    from fake_daemon import (
        END,
        PATIENCE,
        STREAM,
        FakeDaemon,
        event,
        events,
        fake_daemon,
        refusal,
        reply,
        result,
    )  # fmt: skip

MESSAGES = "/v1/agents/demo/messages"
PROGRAM = [sys.executable, "-c", "import sys; from agentd.cli import main; sys.exit(main())"]
KEYS = {
    "agent", "provider", "turn", "receipt", "outcome", "reply", "error",
    "session_id", "started_at", "ended_at", "duration_s",
}  # fmt: skip


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon() as it:
        monkeypatch.setenv("AGENTD_SOCKET", str(it.path))
        yield it


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


# The prompt


def test_the_whole_message(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.on("POST", MESSAGES, events(result()))
    (tmp_path / "link").symlink_to(tmp_path)
    words = [
        "--name",
        "x",
        "--model",
        "m",
        "--restart",
        "--raw",
        "--steer",
        "--deadline",
        "1h30m",
        "--on-attention",
        "wait",
    ]
    assert (
        main(["send", "demo", "/clear", "--cwd", str(tmp_path / "link"), "--on-attention", "wait", *words])
        == 0
    )
    assert daemon.request.headers["accept"] == "text/event-stream"
    assert re.fullmatch("[0-9a-f]{32}", daemon.request.body.pop("id"))
    assert daemon.request.body == {
        "text": "/clear", "cwd": str(tmp_path), "name": "x", "model": "m", "restart": True, "mode": "steer",
        "raw": True, "wait": True, "deadline_s": 5400.0, "on_attention": "wait",
    }  # fmt: skip


def test_the_defaults(daemon: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    daemon.on("POST", MESSAGES, events(result()))
    assert main(["send", "demo", "hi"]) == 0
    assert re.fullmatch("[0-9a-f]{32}", daemon.request.body.pop("id"))
    assert daemon.request.body == {
        "text": "hi", "cwd": str(tmp_path), "name": None, "model": None, "restart": False, "mode": "queue",
        "raw": False, "wait": True, "deadline_s": None, "on_attention": "exit",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["a; rm -rf /;"], "a; rm -rf /;"),
        ([";"], ";"),
        (["--", "-x --json"], "-x --json"),
        (["--", "--help"], "--help"),
        (["two\nlines\t"], "two\nlines\t"),
        ([os.fsdecode(b"caf\xe9 \xc3\xa9")], "caf� é"),
    ],
)
def test_any_text_can_be_a_prompt(daemon: FakeDaemon, words: list[str], text: str) -> None:
    daemon.on("POST", MESSAGES, events(result()))
    assert main(["send", "demo", *words]) == 0
    assert daemon.request.body["text"] == text


@pytest.mark.parametrize("words", [[], ["-"], ["--file", "-"]])
def test_the_prompt_from_standard_input(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    daemon.on("POST", MESSAGES, events(result()))
    stdin(monkeypatch, b"one\r\n\xff two\n")
    assert main(["send", "demo", *words]) == 0
    assert daemon.request.body["text"] == "one\r\n� two"


def test_the_prompt_from_a_file(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.on("POST", MESSAGES, events(result()))
    (tmp_path / "task.md").write_bytes(b"# Task\n\n-x \xfe\n")
    assert main(["send", "demo", "--file", str(tmp_path / "task.md")]) == 0
    assert daemon.request.body["text"] == "# Task\n\n-x �"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["send"], "Missing argument 'TARGET'"),
        (["send", ""], "is empty"),
        (["send", "demo", "  \n"], "prompt is empty"),
        (["send", "demo", "-x"], "No such option"),
        (["send", "demo", "a", "b"], "unexpected extra argument"),
        (["send", "demo", "a", "--file", "b"], "not both"),
        (["send", "demo", "--file", "/nonexistent"], "No such file"),
        (["send", "demo", "a", "--cwd", "/nonexistent"], "is no directory"),
        (["send", "demo", "a", "--deadline", "soon"], "write it like 90m"),
        (["send", "demo", "a", "--deadline", "-5s"], "more than zero"),
        (["send", "demo", "a", "--on-attention", "panic"], "is not one of"),
        (["nonsense"], "No such command"),
    ],
)
def test_usage(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("agentd: ")
    assert complaint in shown.err
    assert "--help`" in shown.err
    assert daemon.requests == []
    assert main([*words, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


# The answer


@pytest.mark.parametrize(
    ("outcome", "exit_code"),
    [("completed", 0), ("failed", 1), ("blocked", 1), ("timed_out", 4), ("lost", 5), ("interrupted", 130)],
)
def test_each_outcome_has_its_exit_code(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], outcome: str, exit_code: int
) -> None:
    answer = result(outcome, reply="pong" if outcome == "completed" else None)
    daemon.on("POST", MESSAGES, events(("progress", {"text": "demo works", "state": "working"}), answer))
    assert main(["send", "demo", "ping"]) == exit_code
    shown = capsys.readouterr()
    assert shown.out == ("pong\n" if exit_code == 0 else "")
    progress, *complaints = shown.err.splitlines()
    assert progress == "demo works"
    assert [line.startswith("agentd: ") for line in complaints] == [True] * (exit_code != 0)
    assert main(["send", "demo", "ping", "--json", "-q"]) == exit_code
    assert json.loads(capsys.readouterr().out) == answer[1]


def test_a_deadline_names_its_layer(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    said = "TIMEOUT layer=workflow tool=- session=demo-here timeout=1s: the caller's deadline"
    for message in (said, "too late"):
        error = {"layer": "workflow", "code": "timeout", "message": message}
        daemon.on("POST", MESSAGES, events(result("timed_out", "so far", error=error)))
        assert main(["send", "demo", "ping", "-q"]) == 4
        shown = capsys.readouterr()
        assert shown.out == "so far\n"
        assert shown.err.count("layer=workflow") == 1


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a\n", b"a\n"),
        ("a\n\n", b"a\n\n"),
        ("", b""),
        ("\0\x1b[31m é \U0001f600\r\n", b"\0\x1b[31m \xc3\xa9 \xf0\x9f\x98\x80\r\n"),
        ("\ud800", b"?\n"),
    ],
)
def test_the_reply_is_printed_as_it_is(
    daemon: FakeDaemon, capsysbinary: pytest.CaptureFixture[bytes], text: str, printed: bytes
) -> None:
    daemon.on("POST", MESSAGES, events(result(reply=text)))
    assert main(["send", "demo", "ping"]) == 0
    assert capsysbinary.readouterr() == (printed, b"")


def test_no_wait(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    answer = result("submitted", None, receipt="queued")
    daemon.on("POST", MESSAGES, events(answer))
    assert main(["send", "demo", "ping", "--no-wait"]) == 0
    assert capsys.readouterr() == ("", "demo-here: queued\n")
    assert daemon.request.body["wait"] is False
    assert main(["send", "demo", "ping", "--no-wait", "--quiet", "--json"]) == 0
    shown = capsys.readouterr()
    assert (json.loads(shown.out), shown.err) == (answer[1], "")


def test_attention_ends_the_command(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    attention = {"reason": "approval", "text": "Run `ls`?", "how": "in the pane"}
    answer = result("attention", None, attention=attention)
    daemon.on("POST", MESSAGES, events(answer))
    assert main(["send", "demo", "ping", "--on-attention", "exit"]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("agentd: demo-here needs you (approval): Run `ls`?\n")
    assert "agentd answer demo-here approve" in shown.err
    assert main(["send", "demo", "ping", "--json"]) == 3
    public = {key: value for key, value in answer[1].items() if key != "attention"}
    assert json.loads(capsys.readouterr().out) == public


def test_attention_is_noticed_once_and_waited_for(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    how = "agentd answer demo-here approve|deny|1|2"
    attention = {"reason": "trust", "text": "Trust this?", "options": ["Yes", "No"], "how": how}
    waiting = ("progress", {"text": "demo waits", "state": "attention", "attention": attention})
    daemon.on(
        "POST", MESSAGES, events(waiting, waiting, ("progress", {"text": "on", "state": "working"}), result())
    )
    assert main(["send", "demo", "ping", "--on-attention", "wait"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "pong\n"
    assert shown.err.splitlines() == [
        "demo needs you (trust): Trust this?", "  1. Yes", "  2. No", f"answer: {how}", "demo waits", "on",
    ]  # fmt: skip


def test_progress_is_one_line_a_change_and_obeys_nobody(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    told = [("progress", {"text": text, "state": "working"}) for text in ("a", "a", "b\x1b]0;x\x07\nc")]
    daemon.on("POST", MESSAGES, events(*told, result()))
    assert main(["send", "demo", "ping"]) == 0
    assert capsys.readouterr() == ("pong\n", "a\nb�]0;x� c\n")
    assert main(["send", "demo", "ping", "-q"]) == 0
    assert capsys.readouterr() == ("pong\n", "")


# What goes wrong


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "usage", 2),
        (404, "unknown_agent", 2),
        (409, "busy", 1),
        (422, "choice", 2),
        (503, "unavailable", 1),
    ],
)
def test_refusals(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], status: int, code: str, exit_code: int
) -> None:
    daemon.on("POST", MESSAGES, refusal(status, code, "no, because"))
    assert main(["send", "demo", "ping"]) == exit_code
    assert capsys.readouterr() == ("", "agentd: no, because\n")
    assert main(["send", "demo", "ping", "--json"]) == exit_code
    told = json.loads(capsys.readouterr().out)
    assert set(told) == KEYS
    assert (told["agent"], told["outcome"], told["error"]["code"]) == ("demo", "failed", code)


def test_an_error_event(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    error = {"layer": "prompt_readiness", "code": "timeout", "message": "TIMEOUT layer=prompt_readiness …"}
    daemon.on("POST", MESSAGES, events(("error", {"error": error})))
    assert main(["send", "demo", "ping", "--json"]) == 4
    shown = capsys.readouterr()
    assert shown.err == "agentd: TIMEOUT layer=prompt_readiness …\n"
    assert json.loads(shown.out)["outcome"] == "timed_out"


def test_no_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTD_SOCKET", str(tmp_path / "a.sock"))
    assert main(["send", "demo", "ping"]) == 6
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("agentd: no daemon answers on ")
    assert "`agentd serve`" in shown.err
    assert main(["send", "demo", "ping", "--json", "--socket", str(tmp_path / "b.sock")]) == 6
    shown = capsys.readouterr()
    assert f"`agentd serve --socket {tmp_path / 'b.sock'}`" in shown.err
    told = json.loads(shown.out)
    assert (set(told), told["outcome"], told["error"]["code"]) == (KEYS, "failed", "no_daemon")


# Wait


def test_wait(daemon: FakeDaemon, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.on(
        "GET", "/v1/agents/demo/wait", events(("progress", {"text": "…", "state": "working"}), result())
    )
    assert main(["wait", "demo", "--cwd", str(tmp_path)]) == 0
    assert daemon.request.query == {"cwd": str(tmp_path), "on_attention": "exit"}
    assert capsys.readouterr() == ("pong\n", "…\n")


# Signals, pipes and terminals: a process of its own


class Turn:
    """A turn that runs until `end` is set."""

    def __init__(self, daemon: FakeDaemon, *last: tuple[str, Any], receipt: str = "accepted") -> None:
        self.daemon = daemon
        self.running, self.end = Event(), Event()
        self.last = last
        self.receipt = receipt
        daemon.on("POST", MESSAGES, self._play)

    def _play(self, connection: socket.socket) -> None:
        told = {"text": "demo works", "state": "working", "receipt": self.receipt}
        connection.sendall(STREAM + event("progress", told))
        self.running.set()
        if not self.last:
            self.daemon.await_hang_up(connection)
        elif self.end.wait(PATIENCE):
            connection.sendall(b"".join(event(*each) for each in self.last) + END)


def start(*words: str, **how: Any) -> subprocess.Popen[str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | how
    return subprocess.Popen(
        [*PROGRAM, "send", "demo", "ping", *words], text=True, preexec_fn=_heed_signals, **streams
    )


def _heed_signals() -> None:
    """Whatever started the tests (a job in the background, `nohup`) may have them ignored."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def test_ctrl_c_interrupts_the_turn_and_waits_for_its_end(daemon: FakeDaemon) -> None:
    turn = Turn(daemon, result("interrupted", None))

    def interrupt(connection: socket.socket) -> None:
        connection.sendall(reply({"agent": "demo-here", "interrupted": True, "turn": "t1"}))
        turn.end.set()

    daemon.on("POST", "/v1/agents/demo/interrupt", interrupt)
    process = start("--json")
    assert first_line(process) == "demo works\n"
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert json.loads(printed)["outcome"] == "interrupted"
    assert said.startswith("interrupting the turn")
    assert daemon.requests[1].body == {"cwd": str(Path.cwd())}
    assert not daemon.hung_up.is_set()


@pytest.mark.parametrize("daemon_hangs", [False, True])
def test_a_second_ctrl_c_leaves_at_once(daemon: FakeDaemon, daemon_hangs: bool) -> None:
    Turn(daemon)
    asked = Event()

    def interrupt(connection: socket.socket) -> None:
        if not daemon_hangs:
            connection.sendall(reply({"agent": "demo-here", "interrupted": True, "turn": "t1"}))
        asked.set()
        if daemon_hangs:
            daemon.await_hang_up(connection)

    daemon.on("POST", "/v1/agents/demo/interrupt", interrupt)
    process = start()
    first_line(process)
    process.send_signal(signal.SIGINT)
    assert asked.wait(PATIENCE)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed) == (130, "")
    assert "Traceback" not in said
    assert daemon.hung_up.wait(PATIENCE), "leaving must close the connection: that is the cancel"


def test_ctrl_c_takes_a_queued_message_back_and_hurts_no_other_turn(daemon: FakeDaemon) -> None:
    Turn(daemon, receipt="queued")
    process = start()
    first_line(process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert daemon.hung_up.wait(PATIENCE)
    assert [each.path for each in daemon.requests] == [MESSAGES]


def test_ctrl_c_that_the_daemon_refuses_says_so_and_reads_on(daemon: FakeDaemon) -> None:
    turn = Turn(daemon, result())

    def interrupt(connection: socket.socket) -> None:
        connection.sendall(refusal(409, "nothing", "no turn runs"))
        turn.end.set()

    daemon.on("POST", "/v1/agents/demo/interrupt", interrupt)
    process = start()
    first_line(process)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed) == (130, "pong\n")
    assert "agentd: the turn could not be interrupted: no turn runs" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_leave_at_once(daemon: FakeDaemon, number: signal.Signals) -> None:
    Turn(daemon)
    process = start()
    first_line(process)
    process.send_signal(number)
    assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == -number
    assert daemon.hung_up.wait(PATIENCE)


def test_a_reader_that_went_away(daemon: FakeDaemon) -> None:
    turn = Turn(daemon, result(reply="x" * 100_000))
    process = start("--json")
    first_line(process)
    assert process.stdout is not None
    process.stdout.close()
    turn.end.set()
    process.wait(PATIENCE)
    assert process.stderr is not None
    assert (process.returncode, process.stderr.read()) == (141, "")
    process.stderr.close()


def test_a_reader_of_the_progress_that_went_away(daemon: FakeDaemon) -> None:
    daemon.on("POST", MESSAGES, events(("progress", {"text": "…"}), result()))
    read, write = os.pipe()
    os.close(read)
    process = start(stderr=write)
    os.close(write)
    assert process.communicate(timeout=PATIENCE)[0] == ""
    assert process.returncode == 141


def test_a_terminal_sees_one_line_that_is_rewritten(daemon: FakeDaemon) -> None:
    told = [("progress", {"text": text, "state": "working"}) for text in ("first", "second")]
    daemon.on("POST", MESSAGES, events(*told, result()))
    terminal, end = pty.openpty()
    process = start(stderr=end, env={**os.environ, "TERM": "xterm"})
    os.close(end)
    assert process.communicate(timeout=PATIENCE)[0] == "pong\n"
    shown = os.read(terminal, 10_000).decode()
    os.close(terminal)
    assert shown == "\r\x1b[K\x1b[?7lfirst\x1b[?7h\r\x1b[K\x1b[?7lsecond\x1b[?7h\r\x1b[K"
    assert daemon.request.body["on_attention"] == "wait"
