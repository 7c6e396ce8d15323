"""The bridge under a daemon that fails or hangs, and a client that says what can't be read."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from agentd.bridge.forward import Forwarder
from agentd.bridge.settings import Settings
from agentd.contract import TimedOut
from tests.unit.fake_daemon import FakeDaemon, events, fake_daemon
from tests.unit.mcp_client import McpClient
from tests.unit.test_bridge import TOOLS, bridge


@pytest.fixture
def daemon() -> Iterator[FakeDaemon]:
    with fake_daemon() as daemon:
        daemon.on("GET", "/v1/tools", TOOLS)
        daemon.on("POST", "/v1/tools/virtual/quick", events(("result", {"text": "on", "is_error": False})))
        yield daemon


@pytest.fixture
def client(daemon: FakeDaemon, tmp_path: Path) -> Iterator[McpClient]:
    with bridge(daemon, tmp_path) as client:
        yield client
        assert "Traceback" not in (tmp_path / "stderr").read_text()


async def say(progress: float, total: float | None, message: str | None) -> None:
    pass


def forwarder(daemon: FakeDaemon) -> Forwarder:
    return Forwarder(Settings(daemon.path, "a", "s3cret"))


# A daemon that fails ----------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"Internal Server Error", b"", b"<html>\xff"])
@pytest.mark.parametrize("path", ["/v1/tools", "/v1/tools/virtual/quick"])
def test_a_refusal_without_json_is_no_daemon_that_went_away(
    daemon: FakeDaemon, client: McpClient, path: str, body: bytes
) -> None:
    head = f"HTTP/1.1 500 X\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\n\r\n"
    daemon.on("GET" if path == "/v1/tools" else "POST", path, head.encode() + body)
    text, is_error = client.call("quick")
    said = body.decode("utf-8", "replace") or "nothing"
    assert (text, is_error) == (f"the daemon answered 500: {said}", True)


@pytest.mark.parametrize("accepts", [True, False], ids=["accepts", "only listens"])
async def test_a_daemon_that_does_not_answer_is_not_waited_for_for_ever(
    daemon: FakeDaemon, autojump_clock: MockClock, accepts: bool
) -> None:
    one = forwarder(daemon)
    if accepts:
        daemon.on("GET", "/v1/tools", daemon.await_hang_up)
    else:
        listening = socket.socket(socket.AF_UNIX)
        path = daemon.path.with_name("other")
        listening.bind(str(path))
        listening.listen(1)
        one = Forwarder(Settings(path, "a", "s3cret"))
    before = trio.current_time()
    result = await one.call("quick", {}, say)
    assert trio.current_time() - before == pytest.approx(300, abs=1)
    line = "TIMEOUT layer=mcpbridge_http tool=- session=a timeout=5m: the daemon didn't say which tools"
    assert result.is_error and result.text.startswith(line) and result.text.endswith("nothing was run")
    with pytest.raises(TimedOut):
        await one.tools()
    if not accepts:
        listening.close()


# A client that says what can't be read ----------------------------------------------------------------

ARGUMENTS = {
    "half a character": '{"x": "\\ud800"}',
    "half a key": '{"\\udcff": 1}',
    "a number of many digits": '{"x": ' + "9" * 5000 + "}",
    "many levels": '{"x": ' + "[" * 300 + "]" * 300 + "}",
}


def write(client: McpClient, line: str) -> None:
    assert client.process.stdin is not None
    client.process.stdin.write(line.encode() + b"\n")
    client.process.stdin.flush()


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("id", [7, "seven"])
def test_a_call_that_can_not_be_read_is_answered(
    daemon: FakeDaemon, client: McpClient, arguments: str, id: int | str
) -> None:
    call = f'{{"name": "quick", "arguments": {arguments}}}'
    write(client, f'{{"jsonrpc": "2.0", "id": {json.dumps(id)}, "method": "tools/call", "params": {call}}}')
    heard = client.hear()
    assert heard["id"] == id and heard["error"]["code"] == -32700
    assert heard["error"]["message"].endswith("nothing was run")
    assert client.call("quick") == ("on", False), "and the bridge goes on"
    assert [r.method for r in daemon.requests].count("POST") == 1


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        '{"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": "\\ud800"}}',
        '{"jsonrpc": "2.0", "id": 3, "result": {"x": "\\ud800"}}',
        '{"jsonrpc": "2.0", "id": ' + "9" * 5000 + ', "method": "x"}',
        '{"jsonrpc": "2.0", "id": true, "method": "x", "params": {"x": "\\ud800"}}',
        "[" * 100_000,
    ],
    ids=["no JSON", "a notification", "an answer", "a long id", "no id", "too deep for anybody"],
)
def test_what_nobody_waits_for_is_skipped(client: McpClient, line: str) -> None:
    write(client, line)
    assert client.call("quick") == ("on", False)
    assert [m for m in client.heard if "error" in m] == []
