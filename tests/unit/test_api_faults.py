"""A fault of the daemon's own: its client is answered in the API's form, and the log says where it was."""

from __future__ import annotations

import json
import logging
from typing import Any, cast

import pytest
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentd.api.app import Api
from agentd.api.stream import CancelOnDisconnect, EventStream, SendEvent


async def asked(work: Any) -> list[dict[str, Any]]:
    """What is sent for a request that `work` answers."""
    nothing = cast(Any, None)
    app = Api(nothing, nothing, nothing, nothing, nothing, [Route("/v1/work", work)]).app()
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await trio.sleep_forever()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/v1/work", "headers": [], "query_string": b""}
    with pytest.raises(ExceptionGroup):  # the server hears of it as well
        await app(scope, receive, send)
    return sent


async def test_a_fault_is_answered_as_json(caplog: pytest.LogCaptureFixture) -> None:
    async def work(request: Request) -> Response:
        raise RecursionError("no such luck")

    with caplog.at_level(logging.ERROR):
        start, body = await asked(work)
    assert start["status"] == 500 and (b"content-type", b"application/json") in start["headers"]
    assert json.loads(body["body"])["error"] == {
        "layer": None,
        "code": "internal",
        "message": "the daemon failed (RecursionError: no such luck); its log says where",
        "tool": None,
        "session": None,
        "timeout_s": None,
    }
    assert "GET /v1/work failed" in caplog.text and "in work" in caplog.text


async def test_a_fault_in_a_stream_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def produce(send: SendEvent) -> None:
        await send("progress", 1)
        raise ValueError("no such luck")

    async def work(request: Request) -> Response:
        return EventStream(produce)

    with caplog.at_level(logging.ERROR):
        sent = await asked(work)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert "in produce" in caplog.text


async def test_a_client_that_leaves_is_heard_behind_all_that_it_sent() -> None:
    pieces = [{"type": "http.request", "body": b"x", "more_body": True}] * 1000
    said = iter([*pieces, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(said)

    async def reads_nothing(scope: Any, receive: Any, send: Any) -> None:
        await trio.sleep_forever()

    async def send(message: Any) -> None:
        raise AssertionError("there is nobody to answer")

    with trio.fail_after(20):
        await CancelOnDisconnect(reads_nothing)({"type": "http"}, receive, send)
