"""The bridge: its real process between a scripted MCP client and a scripted daemon."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agentd.bridge.forward import Forwarder
from agentd.bridge.settings import Settings, SettingsError
from tests.unit.fake_daemon import (
    END,
    PATIENCE,
    STREAM,
    FakeDaemon,
    chunk,
    event,
    events,
    fake_daemon,
    refusal,
    reply,
)  # fmt: skip
from tests.unit.mcp_client import BRIDGE, McpClient

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
TINY = "{'ordinary': 0.4, 'long-running': 1.2}"


def tool(name: str, route: str = "custom", kind: str = "ordinary") -> dict[str, Any]:
    return {
        "name": name,
        "route": route,
        "timeout_class": kind,
        "timeout_s": 300.0,
        "description": f"Does {name}.",
        "input_schema": SCHEMA,
    }


TOOLS = reply({"agent": "a", "tools": [tool("quick", "virtual"), tool("long", kind="long-running")]})


@pytest.fixture
def daemon() -> Iterator[FakeDaemon]:
    with fake_daemon() as daemon:
        daemon.on("GET", "/v1/tools", TOOLS)
        yield daemon


def environment(daemon: FakeDaemon, folder: Path) -> dict[str, str]:
    token = folder / "token"
    token.write_text("s3cret\n")
    return {
        "PATH": os.environ["PATH"],
        "AGENTD_SOCKET": str(daemon.path),
        "AGENTD_TOKEN_FILE": str(token),
        "AGENTD_AGENT": "a",
    }


def bridge(daemon: FakeDaemon, folder: Path, argv: Sequence[str] = BRIDGE) -> McpClient:
    client = McpClient(environment(daemon, folder), folder / "stderr", argv)
    client.shake_hands()
    return client


@pytest.fixture
def client(daemon: FakeDaemon, tmp_path: Path) -> Iterator[McpClient]:
    with bridge(daemon, tmp_path) as client:
        yield client
        assert "Traceback" not in (tmp_path / "stderr").read_text()


@pytest.fixture
def hasty(daemon: FakeDaemon, tmp_path: Path) -> Iterator[McpClient]:
    """A bridge with tiny limits of its own."""
    program = (
        "import os; from agentd.bridge.server import serve; from agentd.bridge.settings import Settings; "
        f"serve(Settings.read(os.environ), {TINY})"
    )
    with bridge(daemon, tmp_path, (sys.executable, "-P", "-c", program)) as client:
        yield client


def silent(daemon: FakeDaemon, *before: bytes) -> Any:
    """An answer that never ends."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(STREAM + b"".join(before))
        daemon.await_hang_up(connection)

    return answer


def last_words(daemon: FakeDaemon) -> list[str]:
    """Which layers the daemon was told of."""
    return [r.query["layer"] for r in daemon.requests if r.method == "DELETE"]


def test_it_offers_the_agents_tools(daemon: FakeDaemon, client: McpClient) -> None:
    tools = client.ask("tools/list")["tools"]
    assert tools == [
        {"name": "quick", "description": "Does quick.", "inputSchema": SCHEMA},
        {"name": "long", "description": "Does long.", "inputSchema": SCHEMA},
    ]
    headers = daemon.request.headers
    assert (headers["authorization"], headers["agentd-agent"]) == ("Bearer s3cret", "a")


def test_it_is_called_api_bridge(daemon: FakeDaemon, tmp_path: Path) -> None:
    with McpClient(environment(daemon, tmp_path), tmp_path / "stderr") as client:
        told = client.shake_hands()
        assert told["serverInfo"]["name"] == "api-bridge"
        assert "tools" in told["capabilities"]


def test_the_command_is_the_same_program(daemon: FakeDaemon, tmp_path: Path) -> None:
    argv = (sys.executable, "-P", "-c", "import sys; from agentd.cli import main; sys.exit(main())", "bridge")
    with bridge(daemon, tmp_path, argv) as client:
        assert client.ask("tools/list")["tools"]
        assert client.close_input() == 0


def test_a_call_is_forwarded(daemon: FakeDaemon, client: McpClient) -> None:
    daemon.on("POST", "/v1/tools/virtual/quick", events(("result", {"text": "äh", "is_error": False})))
    daemon.on("POST", "/v1/tools/custom/long", events(("result", {"text": "no", "is_error": True})))
    assert client.call("quick", x=1) == ("äh", False)
    assert client.call("long") == ("no", True)
    first, second = (r for r in daemon.requests if r.method == "POST")
    assert (first.body, second.body) == ({"x": 1}, {})
    assert first.headers["authorization"] == "Bearer s3cret"
    assert first.headers["agentd-call"] != second.headers["agentd-call"]
    assert client.progress == []


def test_the_clis_own_id_of_the_use_is_passed_on(daemon: FakeDaemon, client: McpClient) -> None:
    daemon.on("POST", "/v1/tools/virtual/quick", events(("result", {"text": "on", "is_error": False})))
    for meta in ({"x/toolUseId": "toolu_1"}, {"x/toolUseId": "a\r\nb"}, {"x/toolUseId": 1}, {}):
        client.ask("tools/call", {"name": "quick", "arguments": {}, "_meta": meta})
    sent = [r.headers.get("agentd-tool-use") for r in daemon.requests if r.method == "POST"]
    assert sent == ["toolu_1", None, None, None]


def test_progress_is_what_the_tool_said(daemon: FakeDaemon, client: McpClient) -> None:
    said = [("progress", {"progress": n, "total": None, "message": f"line {n}"}) for n in (1, 2)]
    end = ("result", {"text": "done", "is_error": False})
    daemon.on("POST", "/v1/tools/custom/long", events(*said, end))
    assert client.call("long") == ("done", False)
    assert client.progress == [(1, "line 1"), (2, "line 2")]


def test_a_silent_tool_makes_no_heartbeat(daemon: FakeDaemon, client: McpClient) -> None:
    daemon.on("POST", "/v1/tools/custom/long", silent(daemon))
    client.begin_call("long")
    assert client.silent(2.5)


def test_a_stream_in_odd_pieces_is_read(daemon: FakeDaemon, client: McpClient) -> None:
    whole = 'event: result\r\ndata: {"text": "ü",\r\ndata: "is_error": false}\r\n\r\n'.encode()
    pieces = [chunk(whole[i : i + 3]) for i in range(0, len(whole), 3)]
    daemon.on("POST", "/v1/tools/virtual/quick", STREAM + chunk(b": a comment\n") + b"".join(pieces) + END)
    assert client.call("quick") == ("ü", False)


def test_a_refusal_is_told_to_the_model(daemon: FakeDaemon, client: McpClient) -> None:
    daemon.on("POST", "/v1/tools/virtual/quick", refusal(422, "arguments", "x: 'y' is not of type 'integer'"))
    assert client.call("quick", x="y") == ("x: 'y' is not of type 'integer'", True)
    assert client.call("unheard_of") == ("there is no tool 'unheard_of' for a", True)


def test_an_escape_closes_the_request_at_once(daemon: FakeDaemon, client: McpClient) -> None:
    daemon.on("POST", "/v1/tools/custom/long", silent(daemon, event("progress", _progress(1))))
    call = client.begin_call("long")
    client.hear()
    client.cancel(call)
    assert daemon.hung_up.wait(PATIENCE)
    assert last_words(daemon) == ["provider_mcp"]
    daemon.on("POST", "/v1/tools/virtual/quick", events(("result", {"text": "on", "is_error": False})))
    assert client.call("quick") == ("on", False), "and the bridge goes on"


def test_the_end_of_its_input_closes_every_request(daemon: FakeDaemon, client: McpClient) -> None:
    daemon.on("POST", "/v1/tools/custom/long", silent(daemon, event("progress", _progress(1))))
    client.begin_call("long")
    client.hear()
    assert client.close_input() == 0
    assert daemon.hung_up.wait(PATIENCE)
    assert last_words(daemon) == ["provider_mcp"]


@pytest.mark.parametrize("number", [2, 9, 15])
def test_its_death_closes_every_request(daemon: FakeDaemon, client: McpClient, number: int) -> None:
    daemon.on("POST", "/v1/tools/custom/long", silent(daemon, event("progress", _progress(1))))
    client.begin_call("long")
    client.hear()
    client.process.send_signal(number)
    assert client.process.wait(PATIENCE) == -number
    assert daemon.hung_up.wait(PATIENCE)


@pytest.mark.parametrize(
    ("name", "route", "shown"), [("quick", "virtual", "400ms"), ("long", "custom", "1.2s")]
)
def test_its_own_limit(daemon: FakeDaemon, hasty: McpClient, name: str, route: str, shown: str) -> None:
    """Progress doesn't extend it, and the daemon hears which layer it was."""
    daemon.on("POST", f"/v1/tools/{route}/{name}", silent(daemon, event("progress", _progress(1))))
    assert hasty.call(name) == (
        f"TIMEOUT layer=mcpbridge_http tool={name} session=a timeout={shown}: the bridge's own limit for a "
        "call passed; the request was closed, and the tool was ended",
        True,
    )
    assert daemon.hung_up.wait(PATIENCE)
    assert last_words(daemon) == ["mcpbridge_http"]


@pytest.mark.parametrize(("name", "route", "limit"), [("quick", "virtual", 300), ("long", "custom", 5400)])
async def test_the_contracts_limits(
    daemon: FakeDaemon, mock_clock: MockClock, name: str, route: str, limit: float
) -> None:
    daemon.on("POST", f"/v1/tools/{route}/{name}", silent(daemon))
    forwarder = Forwarder(Settings(daemon.path, "a", "s3cret"))
    await forwarder.tools()
    mock_clock.autojump_threshold = 0
    before = trio.current_time()

    async def say(progress: float, total: float | None, message: str | None) -> None:
        pass

    result = await forwarder.call(name, {}, say)
    assert trio.current_time() - before == pytest.approx(limit, abs=1)
    assert f"layer=mcpbridge_http tool={name}" in result.text and result.is_error
    assert repr(forwarder) == "<Forwarder of a: 2 tools>"


def test_a_daemon_that_goes_away_is_told(daemon: FakeDaemon, client: McpClient) -> None:
    daemon.on("POST", "/v1/tools/custom/long", STREAM + event("progress", _progress(1)))
    text, is_error = client.call("long")
    assert is_error and text.startswith(
        "CANCELLED layer=mcpbridge_http tool=long session=a timeout=1h30m: by the daemon, which went away"
    )
    assert "the tool may have run" in text
    assert [each.path for each in daemon.requests].count("/v1/tools/custom/long") == 1, "asked once"
    daemon.on("POST", "/v1/tools/custom/long", STREAM + END)
    assert "without a result" in client.call("long")[0]


async def test_a_daemon_that_goes_away_before_the_call(daemon: FakeDaemon, autojump_clock: MockClock) -> None:
    daemon.on("GET", "/v1/tools", b"")

    async def say(progress: float, total: float | None, message: str | None) -> None:
        pass

    result = await Forwarder(Settings(daemon.path, "a", "s3cret")).call("quick", {}, say)
    assert result.is_error and result.text.endswith("nothing was run")


def test_without_a_daemon_nothing_is_run(daemon: FakeDaemon, client: McpClient) -> None:
    client.ask("tools/list")
    daemon.path.unlink()
    text, is_error = client.call("quick")
    assert is_error and "no daemon answers on" in text and "nothing was run" in text


def test_calls_run_side_by_side(daemon: FakeDaemon, client: McpClient) -> None:
    daemon.on("POST", "/v1/tools/custom/long", silent(daemon, event("progress", _progress(1))))
    daemon.on("POST", "/v1/tools/virtual/quick", events(("result", {"text": "now", "is_error": False})))
    long = client.begin_call("long")
    client.hear()
    assert client.call("quick") == ("now", False)
    client.cancel(long)
    assert daemon.hung_up.wait(PATIENCE)


@pytest.mark.parametrize("missing", ["AGENTD_TOKEN_FILE", "AGENTD_AGENT"])
def test_without_its_variables_it_says_so(daemon: FakeDaemon, tmp_path: Path, missing: str) -> None:
    env = environment(daemon, tmp_path)
    del env[missing]
    done = subprocess.run(BRIDGE, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("agentd bridge: AGENTD_TOKEN_FILE and AGENTD_AGENT aren't set")


@pytest.mark.parametrize("content", [b"", b"a\nb", b"\xff", None])
def test_a_tokens_file_that_is_none(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match="token's file"):
        Settings.read({"AGENTD_TOKEN_FILE": str(file), "AGENTD_AGENT": "a"})


def test_a_token_is_not_shown() -> None:
    assert "s3cret" not in repr(Settings(Path("/s"), "a", "s3cret"))


def test_its_start_is_fast(daemon: FakeDaemon, tmp_path: Path) -> None:
    best = 99.0
    for _ in range(3):
        before = time.monotonic()
        with bridge(daemon, tmp_path) as client:
            assert client.ask("tools/list")["tools"]
        best = min(best, time.monotonic() - before)
    assert best < 5, "a CLI waits for it"


def modules_of(code: str) -> set[str]:
    program = f"{code}\nimport sys\nsys.stderr.write('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_nobody_else_imports_it() -> None:
    found = modules_of(
        "import agentd.daemon, agentd.api.tools, importlib\n"
        "from agentd.cli import VERBS\n"
        "for verb in VERBS: importlib.import_module(f'agentd.cli.cmd_{verb}')\n"
        "from agentd.adapter import load_adapters; load_adapters()"
    )
    assert "agentd.daemon" in found
    assert not {name.partition(".")[0] for name in found} & {"mcp", "mcp_types", "pydantic"}
    assert not {name for name in found if name.startswith("agentd.bridge")}
    bridges = modules_of("import agentd.bridge.server")
    assert not {"agentd.daemon", "hypercorn", "agentd.store"} & bridges


def _progress(number: int) -> dict[str, Any]:
    return {"progress": number, "total": None, "message": f"line {number}"}
