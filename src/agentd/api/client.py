"""A small client of the daemon: HTTP/1.1 over its Unix socket, with the standard library alone.

Every command starts here, so it imports little and does little: one connection a request, nothing
retried (`agentd.api.reconnecting` is for what outlives the daemon).
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

Query = Mapping[str, str | None]

_BLOCK = 65536


class ClientError(Exception):
    """The daemon gave no good answer."""


class NoDaemon(ClientError):
    """Nobody listens on the socket, so nothing was asked."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"no daemon answers on {path} ({reason})")
        self.path = path
        self.reason = reason


class Gone(ClientError):
    """The connection broke before the answer was complete: what became of the request is not known."""


class Garbled(Gone):
    """What came is no answer of a daemon, however often it is asked."""


class ApiError(ClientError):
    """The daemon refused. `payload` is the `error` object of the public JSON."""

    def __init__(self, status: int, code: str, message: str, payload: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.payload = dict(payload)

    @classmethod
    def of(cls, status: int, answer: Any) -> ApiError:
        """From `{"error": {…}}`, whether it came as a reply or as an event; anything else is quoted."""
        error = answer.get("error") if isinstance(answer, dict) else None
        if not isinstance(error, dict):
            text = answer if isinstance(answer, str) else json.dumps(answer)
            error = {"message": f"the daemon answered {status}: {text.strip()[:300] or 'nothing'}"}
        payload = {
            key: error.get(key) for key in ("layer", "code", "message", "tool", "session", "timeout_s")
        }
        payload["code"] = payload["code"] or f"http_{status}"
        payload["message"] = payload["message"] or payload["code"]
        return cls(status, str(payload["code"]), str(payload["message"]), payload)


class Client:
    """Asks the daemon on `socket_path`.

    Args:
        timeout: the longest silence of the daemon to bear, in seconds; by default there is no limit,
            because a turn may take as long as it takes.
    """

    def __init__(self, socket_path: str | os.PathLike[str], *, timeout: float | None = None) -> None:
        self.path = os.fspath(socket_path)
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"<Client {self.path}>"

    def request(
        self, method: str, path: str, body: Any = None, query: Query | None = None
    ) -> tuple[int, Any]:
        """One question, one JSON answer: the status and the data.

        Raises:
            NoDaemon: nobody listens.
            Gone: the connection broke before the answer was complete.
            ApiError: the status is 400 or more.
        """
        with self._open(method, path, body, query, {"Accept": "application/json"}) as answer:
            return answer.status, answer.data()

    def stream(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Generator[tuple[str, Any], None, None]:
        """The server-sent events of one request, as (event, data), each as soon as it is there.

        Closing the iterator closes the connection, which cancels the request at the daemon.

        Raises:
            NoDaemon, Gone, ApiError: as in `request`.
        """
        accept = {"Accept": "text/event-stream", **(headers or {})}
        with self._open(method, path, body, query, accept) as answer:
            yield from server_sent_events(answer.body())

    @contextmanager
    def _open(
        self, method: str, path: str, body: Any, query: Query | None, headers: Mapping[str, str]
    ) -> Iterator[_Answer]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(self.timeout)
            try:
                connection.connect(os.fsencode(self.path))
            except OSError as error:
                raise NoDaemon(self.path, error.strerror or str(error)) from error
            try:
                connection.sendall(_request_bytes(method, path, body, query, headers))
            except (BrokenPipeError, ConnectionResetError):
                pass  # It may have answered before it hung up: the reading will tell.
            except OSError as error:
                raise Gone(f"the daemon stopped listening ({error.strerror or error})") from error
            answer = _Answer(connection)
            if answer.status >= 400:
                raise ApiError.of(answer.status, answer.data())
            yield answer


def server_sent_events(chunks: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """Read server-sent events with JSON as their data; comments and unknown fields are skipped.

    An event that the end of the stream cuts off is dropped, as the standard says.
    """
    name, data = "message", list[bytes]()
    for line in _lines(chunks):
        if not line:
            if data:
                yield name, _json(b"\n".join(data))
            name, data = "message", []
            continue
        key, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if key == b"event":
            name = value.decode("utf-8", "replace")
        elif key == b"data":
            data.append(value)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        if b"\n" in chunk:
            *whole, tail = rest.split(b"\n")
            rest = tail
            for line in whole:
                yield bytes(line.removesuffix(b"\r"))


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Garbled(f"the daemon's answer is no JSON: {text[:100]!r}") from error


def _request_bytes(
    method: str, path: str, body: Any, query: Query | None, headers: Mapping[str, str]
) -> bytes:
    given = {key: value for key, value in (query or {}).items() if value is not None}
    if given:
        path += "?" + "&".join(f"{key}={quote(os.fsencode(value), safe='/')}" for key, value in given.items())
    head = [f"{method} {path} HTTP/1.1", "Host: agentd", "Connection: close"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    content = b""
    if body is not None:
        content = json.dumps(body).encode()
        head += ["Content-Type: application/json"]
    if body is not None or method in ("POST", "PUT", "PATCH"):
        head += [f"Content-Length: {len(content)}"]
    return "\r\n".join([*head, "", ""]).encode("ascii") + content


class _Answer:
    """One HTTP answer, read from its connection as it comes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self.status = 100
        while 100 <= self.status < 200:  # An interim answer, such as 100 Continue, has a head alone.
            self.status = self._status()
            self.headers = dict(self._headers())

    def data(self) -> Any:
        """The whole body: JSON where it says so, else text; None where there is none."""
        content = b"".join(self.body())
        if not content:
            return None
        if "json" in self.headers.get("content-type", ""):
            return _json(content)
        return content.decode("utf-8", "replace")

    def body(self) -> Iterator[bytes]:
        """The body in the pieces in which it arrives, without its framing."""
        if self.status in (204, 304):
            return
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            while size := self._number(self._line().partition(b";")[0], base=16):
                yield from self._exactly(size)
                self._line()
            while self._line():
                pass  # Trailers.
        elif length := self.headers.get("content-length"):
            yield from self._exactly(self._number(length.encode(), base=10))
        else:
            while self._buffer or self._more():
                yield self._take(len(self._buffer))

    def _status(self) -> int:
        version, _, rest = self._line().partition(b" ")
        if not version.startswith(b"HTTP/1."):
            raise Garbled(f"what listens there speaks no HTTP: {version[:40]!r}")
        return self._number(rest[:3], base=10)

    def _headers(self) -> Iterator[tuple[str, str]]:
        while line := self._line():
            name, _, value = line.decode("latin-1").partition(":")
            yield name.strip().lower(), value.strip()

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            self._need_more()
        return self._take(end + 1).rstrip(b"\r\n")

    def _exactly(self, size: int) -> Iterator[bytes]:
        while size:
            if not self._buffer:
                self._need_more()
            piece = self._take(min(size, len(self._buffer)))
            size -= len(piece)
            yield piece

    def _take(self, size: int) -> bytes:
        piece = bytes(self._buffer[:size])
        del self._buffer[:size]
        return piece

    def _need_more(self) -> None:
        if not self._more():
            raise Gone("the daemon went away in the middle of its answer")

    def _more(self) -> bool:
        try:
            piece = self._connection.recv(_BLOCK)
        except TimeoutError as error:
            raise Gone(f"the daemon was silent for {self._connection.gettimeout():g} s") from error
        except OSError as error:
            raise Gone(f"the connection to the daemon broke ({error.strerror or error})") from error
        self._buffer += piece
        return bool(piece)

    @staticmethod
    def _number(text: bytes, *, base: int) -> int:
        try:
            return int(text, base)
        except ValueError as error:
            raise Garbled(f"the daemon's answer is no HTTP: {text[:40]!r} is no number") from error
