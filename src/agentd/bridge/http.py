"""Asking the daemon, on trio: one connection a request. Cancelling closes it, which cancels the request."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import trio

from agentd.api.client import ApiError, ClientError, Gone, NoDaemon

__all__ = ["ApiError", "Asker", "ClientError", "Gone", "NoDaemon"]

BLOCK = 65536


class Asker:
    """Asks the daemon on a socket, with the agent's token."""

    def __init__(self, socket: Path, headers: Mapping[str, str]) -> None:
        self._socket = socket
        self._headers = headers

    def __repr__(self) -> str:
        return f"<Asker {self._socket}>"

    async def ask(self, method: str, path: str) -> Any:
        """One question, one JSON answer. Raises ClientError."""
        async with self._opened(method, path, None, {}) as answer:
            return _json(b"".join([piece async for piece in answer.body()]))

    @asynccontextmanager
    async def post(
        self, path: str, body: Any, headers: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
        """The server-sent events that a POST is answered with, each as soon as it is there. Leaving the
        block closes the request. Raises ClientError."""
        accept = {"Accept": "text/event-stream", **headers}
        async with self._opened("POST", path, json.dumps(body).encode(), accept) as answer:
            yield _events(answer.body())

    @asynccontextmanager
    async def _opened(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> AsyncIterator[_Answer]:
        try:
            stream = await trio.open_unix_socket(os.fspath(self._socket))
        except OSError as error:
            raise NoDaemon(str(self._socket), error.strerror or str(error)) from error
        async with stream:
            connection = h11.Connection(h11.CLIENT)
            given = {"Host": "agentd", "Connection": "close", **self._headers, **headers}
            if body is not None:
                given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
            head = h11.Request(method=method, target=path, headers=list(given.items()))
            try:
                await stream.send_all(connection.send(head) or b"")
                if body:
                    await stream.send_all(connection.send(h11.Data(data=body)) or b"")
                await stream.send_all(connection.send(h11.EndOfMessage()) or b"")
            except trio.BrokenResourceError:
                pass  # It may have answered before it hung up: the reading will tell.
            answer = _Answer(stream, connection)
            status = await answer.status()
            if status >= 400:
                data = b"".join([piece async for piece in answer.body()])
                raise ApiError.of(status, _json_or_text(data))
            yield answer


class _Answer:
    def __init__(self, stream: trio.SocketStream, connection: h11.Connection) -> None:
        self._stream = stream
        self._connection = connection

    async def status(self) -> int:
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                return event.status_code
            if not isinstance(event, h11.InformationalResponse):
                raise Gone("the daemon hung up without an answer")

    async def body(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def _next(self) -> Any:
        while True:
            try:
                event = self._connection.next_event()
                if event is not h11.NEED_DATA:
                    return event
                self._connection.receive_data(await self._stream.receive_some(BLOCK))
            except h11.RemoteProtocolError as error:
                raise Gone(f"the daemon went away in the middle of its answer ({error})") from error
            except trio.BrokenResourceError as error:
                raise Gone("the connection to the daemon broke") from error


async def _events(body: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, Any]]:
    name, data, rest = "message", list[bytes](), b""
    async for piece in body:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            key, _, value = line.removesuffix(b"\r").partition(b":")
            value = value.removeprefix(b" ")
            if key == b"event":
                name = value.decode("utf-8", "replace")
            elif key == b"data":
                data.append(value)
            elif not line.strip() and data:
                yield name, _json(b"\n".join(data))
                name, data = "message", []


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Gone(f"the daemon's answer is no JSON: {text[:100]!r}") from error


def _json_or_text(data: bytes) -> Any:
    """What a refusal says: a server that fails may have no JSON for it."""
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")
