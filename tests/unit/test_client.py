"""The small client: what it makes of bytes on a socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentd.api.client import ApiError, Client, Gone, NoDaemon, server_sent_events

if TYPE_CHECKING:
    from tests.unit.fake_daemon import (
        END,
        STREAM,
        FakeDaemon,
        chunk,
        event,
        events,
        fake_daemon,
        refusal,
        reply,
    )
else:
    from fake_daemon import END, STREAM, FakeDaemon, chunk, event, events, fake_daemon, refusal, reply


@pytest.fixture
def daemon() -> Iterator[FakeDaemon]:
    with fake_daemon() as it:
        yield it


def trickle(data: bytes) -> Any:
    """An answer that arrives byte by byte."""

    def answer(connection: socket.socket) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))

    return answer


def test_a_request_and_its_answer(daemon: FakeDaemon) -> None:
    daemon.on("POST", "/v1/agents/a b/answer", reply({"état": "ø"}))
    query = {"cwd": "/tmp/a b&c=ü", "left": None}
    answer = Client(daemon.path).request("POST", "/v1/agents/a%20b/answer", {"choice": "é"}, query)
    assert answer == (200, {"état": "ø"})
    assert daemon.request.body == {"choice": "é"}
    assert daemon.request.query == {"cwd": "/tmp/a b&c=ü"}
    assert daemon.request.headers["accept"] == "application/json"


def test_a_question_without_a_body_sends_none(daemon: FakeDaemon) -> None:
    daemon.on("GET", "/v1/agents", reply([]))
    assert Client(daemon.path).request("GET", "/v1/agents") == (200, [])
    assert "content-length" not in daemon.request.headers


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"a\": 1}",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\": 1}",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nTransfer-Encoding: Chunked\r\n\r\n"
        b"3;ext=1\r\n{\"a\r\n5\r\n\": 1}\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"a\": 1}",
    ],
    ids=["length", "until-the-end", "chunked", "interim"],
)  # fmt: skip
@pytest.mark.parametrize("slowly", [False, True])
def test_every_framing_of_a_body(daemon: FakeDaemon, answer: bytes, slowly: bool) -> None:
    daemon.on("GET", "/", trickle(answer) if slowly else answer)
    assert Client(daemon.path).request("GET", "/") == (200, {"a": 1})


def test_no_content_and_text(daemon: FakeDaemon) -> None:
    daemon.on(
        "GET", "/", b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    )
    assert Client(daemon.path).request("GET", "/") == (204, None)
    assert Client(daemon.path).request("GET", "/") == (200, "hi")


def test_events_arrive_one_by_one(daemon: FakeDaemon) -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(STREAM + event("progress", {"n": 1}))
        daemon.await_hang_up(connection)

    daemon.on("GET", "/v1/events", answer)
    stream = Client(daemon.path).stream("GET", "/v1/events")
    assert next(stream) == ("progress", {"n": 1})
    stream.close()
    assert daemon.hung_up.wait(20), "closing the iterator must close the connection"


STORY = (
    b': hello\n\nevent: a\r\nid: 7\r\ndata: {"x":\r\ndata: "\xc3\xa9"}\r\n\r\n'
    b"data: [1]\n\n:\n\nevent: none\n\n"
)
TOLD = [("a", {"x": "é"}), ("message", [1])]


@pytest.mark.parametrize("at", range(len(STORY) + 1))
def test_events_cut_at_every_byte(at: int) -> None:
    assert list(server_sent_events([STORY[:at], STORY[at:]])) == TOLD


def test_events_in_chunks_of_one_byte_that_trickle(daemon: FakeDaemon) -> None:
    daemon.on("GET", "/", trickle(STREAM + b"".join(chunk(bytes([b])) for b in STORY) + END))
    assert list(Client(daemon.path).stream("GET", "/")) == TOLD


def test_an_event_that_the_end_cuts_off_is_dropped() -> None:
    assert list(server_sent_events([b"data: 1\n\ndata: 2\n"])) == [("message", 1)]


def test_a_large_event(daemon: FakeDaemon) -> None:
    text = "ü" * 1_000_000
    daemon.on("GET", "/", events(("result", {"reply": text})))
    assert list(Client(daemon.path).stream("GET", "/")) == [("result", {"reply": text})]


def test_nobody_listens(daemon: FakeDaemon, tmp_path: Path) -> None:
    with pytest.raises(NoDaemon, match="No such file"):
        Client(tmp_path / "no.sock").request("GET", "/")
    stale = daemon.path.with_name("stale.sock")
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(stale))
    with pytest.raises(NoDaemon, match="refused"):
        list(Client(stale).stream("GET", "/"))
    with pytest.raises(NoDaemon, match="too long"):
        Client(tmp_path / ("x" * 200)).request("GET", "/")


WHOLE = STREAM + event("a", 1) + END


@pytest.mark.parametrize(
    "at", [0, 5, 20, len(STREAM), len(STREAM) + 1, len(STREAM) + 9, len(WHOLE) - 5, len(WHOLE) - 2]
)
def test_the_connection_breaks_in_the_middle(daemon: FakeDaemon, at: int) -> None:
    daemon.on("GET", "/", WHOLE[:at])
    with pytest.raises(Gone, match="went away"):
        list(Client(daemon.path).stream("GET", "/"))


def test_what_came_before_the_break_is_told(daemon: FakeDaemon) -> None:
    daemon.on("GET", "/", STREAM + event("a", 1))
    stream = Client(daemon.path).stream("GET", "/")
    assert next(stream) == ("a", 1)
    with pytest.raises(Gone):
        next(stream)


def test_a_short_body_is_no_answer(daemon: FakeDaemon) -> None:
    daemon.on("GET", "/", b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n[1]")
    with pytest.raises(Gone):
        Client(daemon.path).request("GET", "/")


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n{",
    ],
)
def test_what_is_no_http(daemon: FakeDaemon, answer: bytes) -> None:
    daemon.on("GET", "/", answer)
    with pytest.raises(Gone):
        Client(daemon.path).request("GET", "/")


def test_silence_longer_than_the_timeout(daemon: FakeDaemon) -> None:
    daemon.on("GET", "/", daemon.await_hang_up)
    with pytest.raises(Gone, match=r"silent for 0\.05 s"):
        Client(daemon.path, timeout=0.05).request("GET", "/")


def test_a_refusal_keeps_its_payload(daemon: FakeDaemon) -> None:
    daemon.on("GET", "/", refusal(409, "busy", "a turn runs", session="demo-x"))
    for ask in (
        lambda: Client(daemon.path).request("GET", "/"),
        lambda: list(Client(daemon.path).stream("GET", "/")),
    ):
        with pytest.raises(ApiError, match="a turn runs") as caught:
            ask()
        assert (caught.value.status, caught.value.code) == (409, "busy")
        assert caught.value.payload["session"] == "demo-x"
        assert set(caught.value.payload) == {"layer", "code", "message", "tool", "session", "timeout_s"}


def test_a_refusal_without_the_public_form(daemon: FakeDaemon) -> None:
    daemon.on("GET", "/", b"HTTP/1.1 500 Oops\r\ncontent-length: 5\r\n\r\nOops\n", b"HTTP/1.1 502 X\r\n\r\n")
    with pytest.raises(ApiError, match="answered 500: Oops") as caught:
        Client(daemon.path).request("GET", "/")
    assert caught.value.code == "http_500"
    with pytest.raises(ApiError, match="502"):
        Client(daemon.path).request("GET", "/")


def test_an_answer_that_comes_before_the_question_was_read() -> None:
    # The daemon refuses a huge body and hangs up; the client still reads why, or says that it broke.
    here, there = socket.socketpair()
    with here, there:
        there.sendall(refusal(413, "too_large", "too large"))
        there.shutdown(socket.SHUT_WR)
        from agentd.api.client import _Answer

        answer = _Answer(here)
        assert answer.status == 413
        assert answer.data()["error"]["code"] == "too_large"
