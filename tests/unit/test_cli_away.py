"""`send`, `wait` and `events --follow` while the daemon goes away: what is asked again, and what is said."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from agentd.api.reconnecting import Line
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

Shown = pytest.CaptureFixture[str]
PROGRAM = [sys.executable, "-c", "import sys; from agentd.cli import main; sys.exit(main())"]
MESSAGES = "/v1/agents/demo/messages"
WAIT = "/v1/agents/demo/wait"
AWAY = "the daemon is away; waiting for it"
HEARD = event("progress", {"text": "works", "state": "working", "agent": "demo-here", "message": "x"})


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon() as it:
        monkeypatch.setenv("AGENTD_SOCKET", str(it.path))
        monkeypatch.setattr(Line, "patience_s", 1.0)
        yield it


class Comeback:
    """Answers the GET of whatever message was posted first."""

    def __init__(self, daemon: FakeDaemon, *answers: bytes) -> None:
        self.daemon, self.answers = daemon, answers

    def after(self, *broken: bytes) -> None:
        """The POST breaks off like this."""
        *first, last = broken

        def remember(connection: socket.socket) -> None:
            id = self.daemon.requests[-1].body["id"]
            self.daemon.on("GET", f"/v1/agents/demo-here/messages/{id}", *self.answers)
            connection.sendall(last)

        self.daemon.on("POST", MESSAGES, *first, remember)


BEFORE = [b"", b"HTTP/1.1 200", STREAM, STREAM + END, STREAM + HEARD[:-9]]
"""Ends before a first word: nobody knows whether the message is there."""


@pytest.mark.parametrize("broken", BEFORE)
@pytest.mark.parametrize("words", [[], ["--no-wait"], ["--fail-if-busy"], ["--steer"], ["--name", "x"]])
def test_a_message_of_which_nothing_was_heard_is_sent_again_as_the_same(
    daemon: FakeDaemon, capsys: Shown, broken: bytes, words: list[str]
) -> None:
    daemon.on("POST", MESSAGES, broken, broken, events(result()))
    assert main(["send", "demo", "ping", *words]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err.splitlines()) == ("pong\n", [AWAY])
    first, *more = [request.body for request in daemon.requests]
    assert more == [first, first] and first["id"]


@pytest.mark.parametrize("broken", [STREAM + HEARD, STREAM + HEARD + END, STREAM + HEARD + HEARD[:20]])
def test_a_message_that_is_there_is_asked_for(daemon: FakeDaemon, capsys: Shown, broken: bytes) -> None:
    Comeback(daemon, b"", STREAM + HEARD, events(result())).after(broken)
    assert main(["send", "demo", "ping", "--on-attention", "exit"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err.splitlines()) == ("pong\n", ["works", AWAY, "works", AWAY])
    asked = daemon.requests
    assert [each.method for each in asked] == ["POST", "GET", "GET", "GET"]
    assert {each.path for each in asked[1:]} == {f"/v1/agents/demo-here/messages/{asked[0].body['id']}"}
    assert asked[1].query == {"on_attention": "exit"}


def test_quiet_is_quiet(daemon: FakeDaemon, capsys: Shown) -> None:
    Comeback(daemon, events(result())).after(STREAM + HEARD)
    assert main(["send", "demo", "ping", "-q"]) == 0
    assert capsys.readouterr() == ("pong\n", "")


def test_two_messages_have_two_ids(daemon: FakeDaemon) -> None:
    daemon.on("POST", MESSAGES, events(result()))
    for _ in range(2):
        assert main(["send", "demo", "ping"]) == 0
    assert len({request.body["id"] for request in daemon.requests}) == 2


@pytest.mark.parametrize("answer", [refusal(404, "unknown_message", "no message"), b"HTTP/1.1 404 X\r\n\r\n"])
def test_a_daemon_that_does_not_know_the_message(daemon: FakeDaemon, capsys: Shown, answer: bytes) -> None:
    Comeback(daemon, answer).after(STREAM + HEARD)
    assert main(["send", "demo", "ping", "--json"]) == 5
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert (told["outcome"], told["error"]["code"]) == ("lost", "lost")
    assert "agentd: the daemon that answers now doesn't know what was asked for" in shown.err
    assert len(daemon.requests) == 2


def test_a_refusal_is_final(daemon: FakeDaemon, capsys: Shown) -> None:
    Comeback(daemon, refusal(503, "tmux", "tmux is gone")).after(STREAM + HEARD)
    assert main(["send", "demo", "ping"]) == 1
    assert "agentd: tmux is gone" in capsys.readouterr().err
    assert len(daemon.requests) == 2


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        (["send", "demo", "ping"], "takes the message back"),
        (["send", "demo", "ping", "--no-wait"], "whether the message reached it is not known"),
        (["wait", "demo"], "the turn goes on"),
    ],
)
def test_a_daemon_that_stays_away(daemon: FakeDaemon, capsys: Shown, words: list[str], meaning: str) -> None:
    daemon.on("POST", MESSAGES, b"")
    daemon.on("GET", WAIT, b"")
    assert main([*words, "--json"]) == 6
    shown = capsys.readouterr()
    error = json.loads(shown.out)["error"]
    assert error["code"] == "daemon_gone"
    assert error["message"].startswith("the daemon went away and did not come back within 1 s")
    assert meaning in error["message"]
    assert f"agentd: {error['message']}" in shown.err


# Ctrl-C


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )


def said(process: subprocess.Popen[str], line: str) -> None:
    """Wait until it says this."""
    assert process.stderr is not None
    while (read := process.stderr.readline()) != f"{line}\n":
        assert read, f"it ended without saying {line!r}"


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        (["send", "demo", "ping"], "takes the message back"),
        (["send", "demo", "ping", "--no-wait"], "whether the message reached it is not known"),
        (["wait", "demo"], "the turn goes on"),
    ],
)
def test_ctrl_c_while_the_daemon_is_away_leaves_at_once_and_says_what_that_means(
    daemon: FakeDaemon, words: list[str], meaning: str
) -> None:
    def die(connection: socket.socket) -> None:
        daemon.path.unlink()
        connection.sendall(STREAM + HEARD)

    daemon.on("POST", MESSAGES, die)
    daemon.on("GET", WAIT, die)
    process = start(*words, "--json")
    said(process, AWAY)
    process.send_signal(signal.SIGINT)
    printed, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    told = json.loads(printed)
    assert (told["outcome"], told["error"]["code"]) == ("interrupted", "interrupted")
    assert complaint.startswith("agentd: interrupted while the daemon is away; ")
    assert meaning in complaint


def test_ctrl_c_that_finds_no_daemon_leaves_at_once(daemon: FakeDaemon) -> None:
    """It is gone, and the connection hasn't said so yet."""

    def hang(connection: socket.socket) -> None:
        daemon.path.unlink()
        connection.sendall(STREAM + HEARD)
        daemon.await_hang_up(connection)

    daemon.on("POST", MESSAGES, hang)
    process = start("send", "demo", "ping")
    said(process, "works")
    process.send_signal(signal.SIGINT)
    printed, complaint = process.communicate(timeout=PATIENCE)
    assert (process.returncode, printed) == (130, "")
    assert "agentd: interrupted while the daemon is away; " in complaint


def test_an_interruption_is_waited_for_across_a_restart(daemon: FakeDaemon) -> None:
    interrupted = reply({"agent": "demo-here", "interrupted": True, "turn": "t1"})
    ended = Event()

    def run(connection: socket.socket) -> None:
        id = daemon.requests[-1].body["id"]
        daemon.on("GET", f"/v1/agents/demo-here/messages/{id}", events(result("interrupted", None)))
        connection.sendall(STREAM + HEARD)
        assert ended.wait(PATIENCE)

    def interrupt(connection: socket.socket) -> None:
        connection.sendall(interrupted)
        ended.set()

    daemon.on("POST", MESSAGES, run)
    daemon.on("POST", "/v1/agents/demo-here/interrupt", interrupt)
    process = start("send", "demo", "ping", "--json")
    said(process, "works")
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert json.loads(printed)["outcome"] == "interrupted"
    assert [each.method for each in daemon.requests] == ["POST", "POST", "GET"]


# wait and events


def test_wait_goes_on_waiting_for_the_same(daemon: FakeDaemon, capsys: Shown) -> None:
    about: dict[str, Any] = {"text": "works", "agent": "demo-here", "awaits": {"turn": "t1", "message": None}}
    daemon.on("GET", WAIT, b"", STREAM + event("progress", about))
    daemon.on("GET", "/v1/agents/demo-here/wait", b"", events(result()))
    assert main(["wait", "demo"]) == 0
    assert capsys.readouterr().out == "pong\n"
    here = str(Path.cwd())
    assert [each.query for each in daemon.requests] == [
        *[{"cwd": here, "on_attention": "exit"}] * 2,
        *[{"cwd": here, "on_attention": "exit", "turn": "t1"}] * 2,
    ]


def test_a_turn_that_the_daemon_does_not_know(daemon: FakeDaemon, capsys: Shown) -> None:
    about: dict[str, Any] = {"text": "works", "agent": "demo-here", "awaits": {"turn": "t1", "message": None}}
    daemon.on("GET", WAIT, STREAM + event("progress", about))
    daemon.on("GET", "/v1/agents/demo-here/wait", refusal(404, "unknown_turn", "no turn t1"))
    assert main(["wait", "demo"]) == 5
    assert "no turn t1" in capsys.readouterr().err


def test_events_go_on_after_the_last_one(daemon: FakeDaemon, capsys: Shown) -> None:
    one, two, three = (event("event", {"seq": number}) for number in (1, 2, 3))
    gone = refusal(404, "unknown", "there is no agent 'demo' here")
    daemon.on("GET", "/v1/events", STREAM + one + two, b"", STREAM + three + END, gone)
    assert main(["events", "demo", "--follow", "--json"]) == 5
    shown = capsys.readouterr()
    *printed, error = map(json.loads, shown.out.splitlines())
    assert [each["seq"] for each in printed] == [1, 2, 3]
    assert error["error"]["code"] == "lost"
    assert shown.err.splitlines()[:2] == [AWAY, AWAY]
    seen = [each.headers.get("last-event-id") for each in daemon.requests]
    assert seen == [None, "2", "2", "3"]
    query = {"agent": "demo", "follow": "1", "cwd": str(Path.cwd())}
    assert [each.query for each in daemon.requests] == [query] * 4


def test_events_without_follow_are_asked_for_once(daemon: FakeDaemon, capsys: Shown) -> None:
    daemon.on("GET", "/v1/events", STREAM + event("event", {"seq": 1}))
    assert main(["events"]) == 6
    assert len(daemon.requests) == 1
