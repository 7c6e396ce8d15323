"""A daemon that plays canned HTTP answers on a Unix socket, for the tests of the client and the commands."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl, unquote

PATIENCE = 20.0
"""How long a test waits for what must happen, in seconds."""

Answer = bytes | Callable[[socket.socket], None]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


def reply(data: Any, status: int = 200) -> bytes:
    """A JSON answer."""
    body = json.dumps(data).encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def refusal(status: int, code: str, message: str, **more: Any) -> bytes:
    error = {
        "layer": None,
        "code": code,
        "message": message,
        "tool": None,
        "session": None,
        "timeout_s": None,
    }
    return reply({"error": error | more}, status)


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def event(name: str, data: Any) -> bytes:
    """One server-sent event as one chunk."""
    return chunk(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())


def events(*each: tuple[str, Any]) -> bytes:
    """A whole stream of events."""
    return STREAM + b"".join(event(name, data) for name, data in each) + END


def result(outcome: str = "completed", reply: str | None = "pong", **more: Any) -> tuple[str, Any]:
    """The last event of a turn."""
    return "result", {
        "agent": "demo-here",
        "provider": "demo",
        "turn": "t1",
        "receipt": "accepted",
        "outcome": outcome,
        "reply": reply,
        "error": None,
        "session_id": "s1",
        "started_at": "2026-01-02T03:04:05.000Z",
        "ended_at": "2026-01-02T03:04:06.000Z",
        "duration_s": 1.0,
    } | more


class FakeDaemon:
    """Answers on `path` what `on` was told, and keeps every request."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "agentd.sock"
        self.requests: list[Request] = []
        self.hung_up = Event()
        """A client closed its connection before its answer was complete."""
        self._answers: dict[tuple[str, str], list[Answer]] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._threads: list[Thread] = []
        self._thread = Thread(target=self._serve)
        self._thread.start()

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """Answer a request; the answers are given in turn, and the last one again and again."""
        self._answers[method, path] = list(answers)

    @property
    def request(self) -> Request:
        """The only request that came."""
        (only,) = self.requests
        return only

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)

    def await_hang_up(self, connection: socket.socket) -> None:
        """Block until the client closes its connection."""
        connection.settimeout(PATIENCE)
        if connection.recv(1) == b"":
            self.hung_up.set()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(Thread(target=self._answer, args=(connection,)))
            self._threads[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            if (request := self._read(connection)) is None:
                return
            self.requests.append(request)
            answers = self._answers.get(
                (request.method, request.path), [refusal(404, "unknown", "no such agent")]
            )
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            try:
                if callable(answer):
                    answer(connection)
                else:
                    connection.sendall(answer)
            except (BrokenPipeError, ConnectionResetError):
                self.hung_up.set()

    @staticmethod
    def _read(connection: socket.socket) -> Request | None:
        with connection.makefile("rb") as stream:
            if not (first := stream.readline()):
                return None
            method, address, _ = first.decode().split(" ")
            headers = dict[str, str]()
            while line := stream.readline().decode().rstrip():
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            body = stream.read(int(headers.get("content-length", "0")))
        path, _, query = address.partition("?")
        return Request(
            method, unquote(path), dict(parse_qsl(query)), headers, json.loads(body) if body else None
        )


@contextmanager
def fake_daemon() -> Iterator[FakeDaemon]:
    # Not pytest's tmp_path: a socket's path has room for about 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="agentd-", dir="/tmp"))
    daemon = FakeDaemon(folder)
    try:
        yield daemon
    finally:
        daemon.close()
        shutil.rmtree(folder)
