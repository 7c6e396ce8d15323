"""The scripted model's server: loopback sockets, one thread a connection, and the list of what was asked."""

from __future__ import annotations

import gzip
import importlib
import json
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from agentd.testing.model.anthropic import Anthropic
from agentd.testing.model.chat import Chat
from agentd.testing.model.dialect import Dialect, Event
from agentd.testing.model.responses import Responses
from agentd.testing.model.script import (
    Answer,
    Call,
    Conversation,
    Directive,
    Failure,
    Position,
    Text,
    answer,
    locate,
)

Outcome = Literal["open", "answered", "failed", "cut", "gone", "closed"]

_DIALECTS: Mapping[str, Dialect] = {
    "/messages": Anthropic(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
}
_MODEL = {
    "id": "scripted",
    "object": "model",
    "type": "model",
    "display_name": "Scripted",
    "created_at": "2026-01-01T00:00:00Z",
}


@dataclass(frozen=True)
class Request:
    """One request and what became of it.

    `outcome` is `open` until the answer is complete; `gone` says that the client left before that,
    `closed` that the server was closed, `failed` that an HTTP error was sent, `cut` what `@cut` does.
    `directive` is None for an aside, past the end of a script, or without a script.
    """

    number: int
    method: str
    path: str
    dialect: str = ""
    step: int = 0
    directive: Directive | None = None
    prompt: str = ""
    tools: tuple[str, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    outcome: Outcome = "open"


class ScriptedModel:
    """A model server on a free loopback port, which plays the script that a prompt holds.

        with ScriptedModel() as model:
            start_a_cli(base_url=model.url)
            request = model.wait_for(lambda request: request.outcome == "answered", deadline=10)

    `tick` scales all waits: with 0.01 a `@slow 5` takes 50 ms. Closing ends every wait and connection.
    """

    def __init__(self, tick: float = 1.0, port: int = 0) -> None:
        self.tick = tick
        self._changed = threading.Condition()
        self._requests: list[Request] = []
        self._failures: Counter[tuple[str, int, int]] = Counter()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="scripted-model"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ScriptedModel {self.url}, requests: {len(self.requests)}>"

    @property
    def url(self) -> str:
        """The server's address, without `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests so far, oldest first."""
        with self._changed:
            return tuple(self._requests)

    def wait_for(self, predicate: Callable[[Request], bool], deadline: float = 10.0) -> Request:
        """The first request for which the predicate holds, now or within `deadline` seconds.

        Blocks its thread. Raises TimeoutError with what was asked instead.
        """
        found: list[Request] = []

        def look() -> bool:
            found.extend(request for request in self._requests if predicate(request))
            return bool(found)

        with self._changed:
            if self._changed.wait_for(look, deadline):
                return found[0]
            seen = "\n".join(f"  {request}" for request in self._requests) or "  none"
        raise TimeoutError(f"no such request to the scripted model within {deadline} s; requests:\n{seen}")

    def close(self) -> None:
        """End all waits and connections, and every thread of the server. May be called again."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.hang_up()
        self._server.server_close()

    def _opened(self, request: Request) -> Request:
        with self._changed:
            numbered = replace(request, number=len(self._requests) + 1)
            self._requests.append(numbered)
            self._changed.notify_all()
        return numbered

    def _ended(self, request: Request, outcome: Outcome) -> None:
        with self._changed:
            self._requests[request.number - 1] = replace(request, outcome=outcome)
            self._changed.notify_all()

    def _play(self, conversation: Conversation) -> tuple[Position, Answer]:
        with self._changed:
            position = locate(conversation, self._failures.__getitem__)
            reply = answer(position, conversation)
            if isinstance(reply, Failure):
                self._failures[position.key] += 1
        return position, reply


class _GoneError(Exception):
    """The client went away, or the server is being closed."""


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close() joins them

    def __init__(self, address: tuple[str, int], model: ScriptedModel) -> None:
        self.model = model
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        # The event's twin for a wait that watches a client as well: readable once the server closes.
        self.bell, self._ringer = socket.socketpair()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a connection that broke between two requests
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        self.closing.set()
        self._ringer.send(b"!")
        with self._lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # the client was faster

    def server_close(self) -> None:
        super().server_close()
        self.bell.close()
        self._ringer.close()

    def wait(self, seconds: float, client: socket.socket) -> None:
        """Wait while the client is there. Raises _GoneError once it left or the server closes."""
        end = time.monotonic() + seconds * self.model.tick
        watched: list[socket.socket] = [self.bell, client]
        while True:
            ready, _, _ = select.select(watched, [], [], max(0.0, end - time.monotonic()))
            if self.closing.is_set():
                raise _GoneError
            if client not in ready:
                return
            if not client.recv(1, socket.MSG_PEEK):
                raise _GoneError
            watched.remove(client)  # it sent its next request already


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._exchange()

    def do_GET(self) -> None:
        self._exchange()

    def do_POST(self) -> None:
        self._exchange()

    def _exchange(self) -> None:
        dialect = _dialect(self.path) if self.command == "POST" else None
        request, reply = self._read(dialect)
        request = self.server.model._opened(request)
        outcome: Outcome = "gone"
        try:
            if dialect is None or reply is None:
                outcome = self._plain(request)
            elif isinstance(reply, Failure):
                outcome = self._fail(reply, dialect)
            else:
                outcome = self._answer(reply, dialect, request.body)
        except (_GoneError, OSError):
            self.close_connection = True
        finally:
            if outcome == "gone" and self.server.closing.is_set():
                outcome = "closed"
            self.server.model._ended(request, outcome)

    def _read(self, dialect: Dialect | None) -> tuple[Request, Answer | None]:
        request = Request(0, self.command, self.path)
        try:
            request = replace(request, body=self._body())
            if dialect is None:
                return request, None
            conversation = dialect.read(request.body)
            tools = tuple(tool.full_name for tool in conversation.tools)
            request = replace(request, dialect=dialect.name, tools=tools)
            at, reply = self.server.model._play(conversation)
        except ValueError as error:
            return request, Failure(400, f"scripted model: {error}")
        return replace(request, step=at.step, directive=at.directive, prompt=at.prompt), reply

    def _body(self) -> Mapping[str, Any]:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(_unpacked(raw, self.headers.get("content-encoding", "")) or b"{}")
        if not isinstance(body, dict):
            raise ValueError("the body is no JSON object")
        return body

    def _plain(self, request: Request) -> Outcome:
        path = _bare(self.path)
        if self.command == "HEAD":
            return self._json(200, {})
        if self.command == "GET" and path.endswith("/models"):
            return self._json(200, {"object": "list", "data": [_MODEL], "models": [], "has_more": False})
        if self.command == "GET" and "/models/" in path:
            return self._json(200, {**_MODEL, "id": path.rpartition("/")[2]})
        if path.endswith("/messages/count_tokens"):
            return self._json(200, {"input_tokens": len(json.dumps(request.body)) // 4})
        return self._json(404, Anthropic().error(404, f"the scripted model knows no {self.path}"))

    def _fail(self, failure: Failure, dialect: Dialect) -> Outcome:
        message = failure.message or f"scripted error {failure.status}"
        return self._json(failure.status, dialect.error(failure.status, message))

    def _answer(self, reply: Text | Call, dialect: Dialect, body: Mapping[str, Any]) -> Outcome:
        if isinstance(reply, Text):
            self._wait(reply.delay)
        if body.get("stream"):
            cut = isinstance(reply, Text) and reply.cut
            self._stream(dialect.stream(reply, body), complete=not cut)
            return "cut" if cut else "answered"
        # Without a stream there is nothing to cut: a CLI that falls back to this gets the text whole.
        if isinstance(reply, Text):
            self._wait(sum(chunk.after for chunk in reply.chunks))
        return self._json(200, dialect.whole(reply, body))

    def _stream(self, events: Iterable[Event], complete: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            self._wait(event.after)
            data = event.data if isinstance(event.data, str) else json.dumps(event.data)
            name = f"event: {event.name}\n" if event.name else ""
            part = f"{name}data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        if complete:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _json(self, status: int, content: Mapping[str, Any]) -> Outcome:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if status == 429:
            self.send_header("retry-after", "1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        return "answered" if status < 400 else "failed"

    def _wait(self, seconds: float) -> None:
        if seconds:
            self.server.wait(seconds, self.connection)


def _bare(path: str) -> str:
    return path.partition("?")[0].rstrip("/")


def _dialect(path: str) -> Dialect | None:
    return next((dialect for end, dialect in _DIALECTS.items() if _bare(path).endswith(end)), None)


def _unpacked(body: bytes, encoding: str) -> bytes:
    match encoding:
        case "" | "identity":
            return body
        case "gzip":
            return gzip.decompress(body)
        case "zstd":
            return _unzstd(body)
    raise ValueError(f"content-encoding {encoding} isn't known here")


def _unzstd(body: bytes) -> bytes:
    # In the standard library from Python 3.14 on; before, if the machine has the program.
    try:
        module = importlib.import_module("compression.zstd")
    except ImportError:
        if not (program := shutil.which("zstd")):
            raise ValueError("zstd is missing on this machine") from None
        return subprocess.run([program, "-dc"], input=body, stdout=subprocess.PIPE, check=True).stdout
    unpacked: bytes = module.decompress(body)
    return unpacked
