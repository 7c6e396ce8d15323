"""Tools of a real daemon: who may call them, and that every way to end a call leaves no process."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import stat
import time
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from agentd.testing.daemon import Daemon
from agentd.testing.processes import alive
from agentd.testing.until import PATIENCE, until
from tests.unit.mcp_client import BRIDGE, McpClient

SHELL = "execute_shell_command"
CONFIG = f"""
[bridge]
tools = ["{SHELL}", "greet", "call_sub_agent"]

[tools.custom.greet]
command = ["sh", "-c", "cat >/dev/null; echo hello"]
description = "Greets."
input_schema = {{ properties = {{ whom = {{ type = "string" }} }}, required = ["whom"] }}

[tools.custom.hidden]
command = ["touch", "hidden-ran"]
"""
STUBBORN = "trap '' TERM; (trap '' TERM; echo $BASHPID > p1; while :; do sleep 9; done) & echo $$ > p2; wait"
AWAY = "(setsid sh -c 'echo $$ > p1; exec sleep 1000' >/dev/null 2>&1 &); echo $$ > p2; sleep 1000"
"""One of them has left its parent and its session."""
either = pytest.mark.parametrize("command", [STUBBORN, AWAY], ids=["stubborn", "away"])
SOON = 2.0
"""The contract's bound for the end of everything below a tool."""


@pytest.fixture
def daemon(open_daemon: Callable[..., Daemon]) -> Daemon:
    daemon = open_daemon(CONFIG)
    assert daemon.run("send", "demo", "@say up").code == 0
    return daemon


class Request:
    """One HTTP request, written by hand: it can be left at any moment."""

    def __init__(self, daemon: Daemon, method: str, path: str, body: Any = None, **headers: str) -> None:
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: x",
            "Connection: close",
            f"Content-Length: {len(content)}",
        ]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(daemon.socket))
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + content)

    def read(self) -> tuple[int, str]:
        """The status and the body."""
        with self.socket, HTTPResponse(self.socket) as response:
            response.begin()
            return response.status, response.read().decode()

    def close(self) -> None:
        self.socket.close()


def token(daemon: Daemon, name: str = "demo-work") -> str:
    return (daemon.state / "agents" / name / "bridge-token").read_text()


def tool(daemon: Daemon, arguments: Any, name: str = SHELL, route: str = "custom", **headers: str) -> Request:
    headers = {"Authorization": f"Bearer {token(daemon)}", **headers}
    return Request(daemon, "POST", f"/v1/tools/{route}/{name}", arguments, **headers)


def bridge(daemon: Daemon) -> McpClient:
    env = {
        **daemon.env,
        "AGENTD_TOKEN_FILE": str(daemon.state / "agents/demo-work/bridge-token"),
        "AGENTD_AGENT": "demo-work",
    }
    client = McpClient(env, daemon.root / "bridge.log", BRIDGE)
    client.shake_hands()
    return client


def stubborn(daemon: Daemon) -> list[int]:
    """The processes of the stubborn command, once they run."""

    def there() -> list[int]:
        files = [daemon.work / "p1", daemon.work / "p2"]
        return [int(f.read_text()) for f in files if f.exists() and f.read_text().strip()]

    pids = until("the command runs", lambda: len(found := there()) == 2 and found)
    assert all(map(alive, pids))
    return pids


def gone(pids: list[int], since: float) -> None:
    until("they are gone", lambda: not any(map(alive, pids)), 10)
    assert time.monotonic() - since < SOON + 0.5  # the half second is the test's own


def tool_events(daemon: Daemon) -> list[dict[str, Any]]:
    lines = daemon.run("events", "demo-work").stdout.splitlines()
    return [event["data"] for event in map(json.loads, lines) if event["kind"] == "tool"]


def ended(daemon: Daemon) -> dict[str, Any]:
    """The event of the last call's end."""
    return until(
        "the call's end is told", lambda: (e := tool_events(daemon)[-1])["status"] != "started" and e
    )


# Who may ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}, {"Authorization": "Basic x"}],
)
def test_without_the_token_nothing_is_told_or_run(daemon: Daemon, headers: dict[str, str]) -> None:
    assert Request(daemon, "GET", "/v1/tools", **headers).read()[0] == 401
    call = Request(daemon, "POST", f"/v1/tools/custom/{SHELL}", {"command": "touch ran"}, **headers)
    status, body = call.read()
    assert (status, json.loads(body)["error"]["code"]) == (401, "unauthorized")
    assert not (daemon.work / "ran").exists() and tool_events(daemon) == []


def test_another_agents_token_is_refused(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "--name", "other", "@say up").code == 0
    theirs = {"Authorization": f"Bearer {token(daemon, 'other')}", "Agentd-Agent": "demo-work"}
    assert Request(daemon, "GET", "/v1/tools", **theirs).read()[0] == 403
    assert tool(daemon, {"command": "touch ran"}, **theirs).read()[0] == 403
    assert not (daemon.work / "ran").exists()


def test_what_is_not_enabled_is_forbidden(daemon: Daemon) -> None:
    status, body = tool(daemon, {}, "hidden").read()
    assert status == 403 and "[bridge] tools" in json.loads(body)["error"]["message"]
    assert not (daemon.work / "hidden-ran").exists()
    for name, route in (("nothing", "custom"), ("greet", "virtual"), ("call_sub_agent", "custom")):
        assert tool(daemon, {"whom": "x"}, name, route).read()[0] == 404


def test_a_stopped_agents_token_is_worth_nothing(daemon: Daemon) -> None:
    old = token(daemon)
    assert daemon.run("stop", "demo").code == 0
    assert tool(daemon, {"command": "true"}).read()[0] == 401
    assert daemon.run("send", "demo", "@say again").code == 0
    assert token(daemon) != old
    assert tool(daemon, {"command": "true"}, Authorization=f"Bearer {old}").read()[0] == 401
    assert tool(daemon, {"command": "true"}).read()[0] == 200


def test_the_token_is_in_no_process_list(daemon: Daemon) -> None:
    file = daemon.state / "agents/demo-work/bridge-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    shown = os.popen("ps -eww -o args; ps -eww e -o args").read()
    assert token(daemon) not in shown


def test_without_tools_there_is_no_token(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon()
    assert daemon.run("send", "demo", "@say up").code == 0
    assert not (daemon.state / "agents/demo-work/bridge-token").exists()


# What they do -----------------------------------------------------------------------------------------


def test_the_tools_of_an_agent(daemon: Daemon) -> None:
    status, body = Request(daemon, "GET", "/v1/tools", Authorization=f"Bearer {token(daemon)}").read()
    told = json.loads(body)
    assert (status, told["agent"]) == (200, "demo-work")
    assert [(t["name"], t["timeout_class"], t["timeout_s"]) for t in told["tools"]] == [
        (SHELL, "long-running", 5400.0),
        ("greet", "ordinary", 300.0),
    ]


def test_a_call_runs_in_the_workspace(daemon: Daemon) -> None:
    status, body = tool(daemon, {"command": "pwd; echo $AGENTD_AGENT; exit 3"}).read()
    assert status == 200
    assert json.loads(body) == {"text": f"{daemon.work}\ndemo-work\n[exit status 3]", "is_error": False}
    assert json.loads(tool(daemon, {"whom": "me"}, "greet").read()[1])["text"] == "hello\n"
    assert [e["status"] for e in tool_events(daemon)] == ["started", "done"] * 2


def test_a_call_with_progress(daemon: Daemon) -> None:
    call = tool(daemon, {"command": "echo one; sleep 0.4; echo two; sleep 0.4"}, Accept="text/event-stream")
    _, body = call.read()
    events = [line for line in body.splitlines() if line.startswith(("event:", "data:"))]
    *before, last = [e for e in events if e.startswith("event:")]
    assert set(before) == {"event: progress"} and last == "event: result"
    *said, result = [json.loads(e[6:]) for e in events if e.startswith("data:")]
    assert "one\ntwo\n".startswith("".join(each["message"] for each in said))
    assert said[0]["message"].startswith("one\n")
    counted = itertools.accumulate(len(each["message"]) for each in said)
    assert said == [
        {"progress": count, "total": None, "message": each["message"]}
        for count, each in zip(counted, said, strict=True)
    ]
    assert result == {"text": "one\ntwo\n[exit status 0]", "is_error": False}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 422, "'command' is a required property"),
        ({"command": 1}, 422, "command: 1 is not of type 'string'"),
        ([], 422, "is not of type 'object'"),
        (b"{", 400, "no JSON"),
        (b'{"command": "touch ran", "timeout_s": NaN}', 400, "NaN"),
        (b'{"command": "touch ran", "timeout_s": 1e999}', 400, "JSON"),
        (b"[" * 100_000, 400, "no JSON"),
        (b'{"command": "touch ran; echo \\ud800"}', 400, "a lone surrogate (\\ud800)"),
        (b'{"command": "touch ran", "cwd": "\\udcff"}', 400, "a lone surrogate (\\udcff)"),
        (b'{"command": "touch ran", "\\udcff": 1}', 400, "a lone surrogate (\\udcff)"),
        (b'{"command": "touch ran; echo \xed\xa0\x80"}', 400, "a lone surrogate (\\ud800)"),
    ],
)
def test_bad_arguments_run_nothing(daemon: Daemon, body: Any, status: int, said: str) -> None:
    got, text = tool(daemon, body).read()
    assert (got, said in json.loads(text)["error"]["message"]) == (status, True), text
    assert not (daemon.work / "ran").exists() and tool_events(daemon) == []


def test_a_tool_that_the_config_takes_away(daemon: Daemon) -> None:
    daemon.configure(CONFIG.replace(f'"{SHELL}", ', ""))
    until("the config was read", lambda: tool(daemon, {"command": "true"}).read()[0] == 403)


def test_the_servers_limit_is_told(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(CONFIG, env={"TOOL_EXECUTION_TIMEOUT": "700ms"})
    assert daemon.run("send", "demo", "@say up").code == 0
    with bridge(daemon) as client:
        text, is_error = client.call(SHELL, command="echo so far; sleep 1000")
    line = f"TIMEOUT layer=tool_execution tool={SHELL} session=demo-work timeout=700ms: the server's limit "
    assert is_error and text.startswith(line) and text.endswith("\nso far")
    assert ended(daemon)["layer"] == "tool_execution" and line in daemon.log.read_text()


# How they end -----------------------------------------------------------------------------------------


def test_closing_the_request_ends_the_tool(daemon: Daemon) -> None:
    call = tool(daemon, {"command": STUBBORN})
    pids, now = stubborn(daemon), time.monotonic()
    call.close()
    gone(pids, now)
    event = ended(daemon)
    assert (event["status"], event["layer"], event["timeout_s"]) == ("cancelled", "mcpbridge_http", 5400.0)
    assert event["message"] in daemon.log.read_text()


@pytest.fixture
def client(daemon: Daemon) -> Iterator[McpClient]:
    with bridge(daemon) as client:
        yield client


@either
def test_an_escape_in_the_cli_ends_the_tool(daemon: Daemon, client: McpClient, command: str) -> None:
    call = client.begin_call(SHELL, command=command)
    pids, now = stubborn(daemon), time.monotonic()
    client.cancel(call)
    gone(pids, now)
    assert ended(daemon)["layer"] == "provider_mcp"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_bridges_death_ends_the_tool(daemon: Daemon, client: McpClient, how: signal.Signals) -> None:
    client.begin_call(SHELL, command=STUBBORN)
    pids, now = stubborn(daemon), time.monotonic()
    client.process.send_signal(how)
    gone(pids, now)
    assert ended(daemon)["layer"] == "mcpbridge_http"


@pytest.mark.parametrize("working", [True, False], ids=["in a turn", "after it"])
def test_an_interrupt_ends_the_tool(daemon: Daemon, client: McpClient, working: bool) -> None:
    turn = daemon.begin("send", "demo", "@tool 1000") if working else None
    if working:
        daemon.reaches("working")
    call = client.begin_call(SHELL, command=STUBBORN)
    pids, now = stubborn(daemon), time.monotonic()
    assert daemon.run("interrupt", "demo").stdout == "interrupted demo-work\n"
    gone(pids, now)
    text = client.answer(call)["content"][0]["text"]
    assert text == (
        f"CANCELLED layer=tool_execution tool={SHELL} session=demo-work timeout=1h30m: by agentd interrupt"
    )
    assert ended(daemon)["message"] == text
    if turn:
        assert turn.finish().code == 130


@either
def test_stop_ends_the_tool(daemon: Daemon, client: McpClient, command: str) -> None:
    client.begin_call(SHELL, command=command)
    pids, now = stubborn(daemon), time.monotonic()
    assert daemon.run("stop", "demo").stdout == "stopped demo-work\n"
    assert not any(map(alive, pids)), "stop returns when nothing is left"
    gone(pids, now)
    assert "by agentd stop" in ended(daemon)["message"]


def test_the_clis_death_ends_the_tool(daemon: Daemon) -> None:
    call = tool(daemon, {"command": STUBBORN})
    pids = stubborn(daemon)
    os.kill(daemon.agent()["pid"], signal.SIGKILL)
    until("they are gone", lambda: not any(map(alive, pids)), 10)
    call.close()


def test_the_daemons_end_ends_the_tool_and_says_so(daemon: Daemon, client: McpClient) -> None:
    call = client.begin_call(SHELL, command=STUBBORN)
    pids, now = stubborn(daemon), time.monotonic()
    assert daemon.end() == 0
    gone(pids, now)
    text = client.answer(call)["content"][0]["text"]
    assert text.startswith(
        f"CANCELLED layer=tool_execution tool={SHELL} session=demo-work timeout=1h30m: by the"
    )
    daemon.start()
    assert client.call(SHELL, command="echo on") == ("on\n[exit status 0]", False), "the token is still good"


@either
def test_what_a_killed_daemon_left_running_is_ended_by_the_next(
    daemon: Daemon, client: McpClient, command: str
) -> None:
    call = client.begin_call(SHELL, command=command)
    pids = stubborn(daemon)
    daemon.end(signal.SIGKILL)
    text = client.answer(call)["content"][0]["text"]
    assert "by the daemon, which went away" in text and "what still runs is ended" in text
    daemon.start()
    assert not any(map(alive, pids))
    assert not list((daemon.state / "agents/demo-work/tools").iterdir())


def test_an_agent_ends_its_own_calls_only(daemon: Daemon, client: McpClient) -> None:
    assert daemon.run("send", "demo", "--name", "other", "@say up").code == 0
    call = client.begin_call(SHELL, command="echo up; sleep 1; echo whole")
    client.hear()
    assert daemon.run("stop", "other").code == 0
    assert client.answer(call)["content"][0]["text"] == "up\nwhole\n[exit status 0]"


def test_who_cancels_by_name_must_own_the_call(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "--name", "other", "@say up").code == 0
    call = tool(daemon, {"command": "until [ -e go ]; do sleep 0.05; done; echo whole"}, Agentd_Call="mine")
    until("it runs", lambda: tool_events(daemon))
    theirs = {"Authorization": f"Bearer {token(daemon, 'other')}"}
    cancel = Request(daemon, "DELETE", "/v1/tools/calls/mine?layer=provider_mcp", **theirs)
    assert json.loads(cancel.read()[1]) == {"cancelled": 0}
    assert tool(daemon, {"command": "true"}, Agentd_Call="mine").read()[0] == 400, "the name is taken"
    daemon.let_go()
    assert "whole" in call.read()[1]


def test_a_long_output_is_kept_whole(daemon: Daemon) -> None:
    text = json.loads(tool(daemon, {"command": "seq 1 100000"}).read()[1])["text"]
    assert len(text.encode()) < 129 * 1024
    file = Path(text.partition("the whole output is in ")[2].partition(" …]")[0])
    assert file.parent.parent == daemon.state / "agents" / "demo-work"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == "".join(f"{n}\n" for n in range(1, 100_001))
