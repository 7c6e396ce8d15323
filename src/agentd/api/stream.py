"""Server-sent events, and requests that end when their client goes away.

The server that is used doesn't cancel a handler whose client has left, so each request runs beside a
task that waits for that. Closing a request cancels it: this is what the contract calls authoritative. (Not
where the client has sent its next request already: the server reads nothing until the first is answered.)
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class SendEvent(Protocol):
    """Sends one event to the client. `id`: a client that comes back says it as `Last-Event-ID`."""

    async def __call__(self, name: str, data: Any, *, id: int | None = None) -> None: ...


class CancelOnDisconnect:
    """ASGI middleware: the handler is cancelled when its client is gone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # However much is sent to a handler that reads nothing, what comes after it is heard.
        inbox, outbox = trio.open_memory_channel[Message](math.inf)
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        nursery.cancel_scope.cancel(reason="the client went away")
                        return
                    await inbox.send(message)

            nursery.start_soon(watch)
            await self._app(scope, outbox.receive, send)
            nursery.cancel_scope.cancel(reason="the request is answered")


class EventStream(Response):
    """A stream of server-sent events that `produce` sends one by one."""

    def __init__(self, produce: Callable[[SendEvent], Awaitable[None]]) -> None:
        super().__init__(media_type="text/event-stream", headers={"cache-control": "no-store"})
        self._produce = produce

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(k, v) for k, v in self.raw_headers if k != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def event(name: str, data: Any, *, id: int | None = None) -> None:
            number = "" if id is None else f"id: {id}\n"
            text = f"event: {name}\n{number}data: {json.dumps(data)}\n\n"
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

        await self._produce(event)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")
