"""Requests for tools that come slowly, twice or broken: nothing runs that may not, and each is answered."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

import pytest

from agentd.testing.daemon import Daemon
from agentd.testing.until import PATIENCE, until
from tests.tmux.test_tools import CONFIG, SHELL, Request, token, tool, tool_events

EVENTS = "text/event-stream"
RUN = {"command": "echo ran > ran"}


@pytest.fixture
def daemon(open_daemon: Callable[..., Daemon]) -> Daemon:
    daemon = open_daemon(CONFIG)
    assert daemon.run("send", "demo", "@say up").code == 0
    return daemon


class Slow(Request):
    """A call whose last byte is held back. The daemon has its head once it asks for the rest."""

    def __init__(self, daemon: Daemon, arguments: Any, name: str = SHELL, **headers: str) -> None:
        content = json.dumps(arguments).encode()
        lines = [
            f"POST /v1/tools/custom/{name} HTTP/1.1",
            "Host: x",
            "Connection: close",
            "Expect: 100-continue",
            f"Authorization: Bearer {token(daemon)}",
            f"Content-Length: {len(content)}",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        ]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(daemon.socket))
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        assert self.socket.recv(4096).startswith(b"HTTP/1.1 100")
        self.socket.sendall(content[:-1])
        self._rest = content[-1:]

    def finish(self) -> tuple[int, str]:
        self.socket.sendall(self._rest)
        return self.read()


def refusal(status: int, body: str) -> str:
    """What a call that was not run is told: as an error's JSON, or as the result of a stream."""
    if status == 200:
        told = json.loads(body.split("data: ", 1)[1])
        assert told["is_error"]
        return str(told["text"])
    return str(json.loads(body)["error"]["message"])


@pytest.mark.parametrize("accept", ["application/json", EVENTS])
def test_a_call_that_comes_slowly_is_not_run_after_a_stop(daemon: Daemon, accept: str) -> None:
    call = Slow(daemon, RUN, Accept=accept)
    assert daemon.run("stop", "demo").code == 0
    assert "no agent that runs" in refusal(*call.finish())
    assert daemon.run("send", "demo", "@say again").code == 0
    assert not (daemon.work / "ran").exists() and tool_events(daemon) == []


def test_nor_for_an_agent_that_was_started_again(daemon: Daemon) -> None:
    call = Slow(daemon, RUN)
    assert daemon.run("stop", "demo").code == 0
    assert daemon.run("send", "demo", "@say again").code == 0
    assert call.finish()[0] == 401
    assert not (daemon.work / "ran").exists() and tool_events(daemon) == []


def test_nor_while_the_daemon_ends(daemon: Daemon) -> None:
    held = tool(daemon, {"command": "trap '' TERM; touch up; sleep 60"})
    until("a tool that takes its time to end", lambda: (daemon.work / "up").exists())
    call = Slow(daemon, RUN)
    os.kill(daemon.pid, signal.SIGTERM)
    until("it was asked to end", lambda: "which was asked to end" in daemon.log.read_text())
    try:
        status, body = call.finish()
    except OSError:
        pass  # it has hung up already
    else:
        assert status == 503 and "about to end" in refusal(status, body)
    held.close()
    assert daemon.end() == 0
    assert not (daemon.work / "ran").exists()


def test_nor_when_the_config_took_the_tool_away(daemon: Daemon) -> None:
    call = Slow(daemon, RUN)
    daemon.configure(CONFIG.replace(f'"{SHELL}", ', ""))
    until("the config was read", lambda: tool(daemon, {"command": "true"}).read()[0] == 403)
    assert call.finish()[0] == 403
    assert not (daemon.work / "ran").exists()


@pytest.mark.parametrize("accept", ["application/json", EVENTS])
def test_of_two_calls_of_one_name_one_runs(daemon: Daemon, accept: str) -> None:
    count = {"command": "echo x >> count; until [ -e done ]; do sleep 0.05; done"}
    first, second = (Slow(daemon, count, Accept=accept, Agentd_Call="same") for _ in range(2))
    first.socket.sendall(b"}")
    until("the first one runs", lambda: (daemon.work / "count").exists())
    assert "must be a new name" in refusal(*second.finish())
    (daemon.work / "done").touch()
    assert "exit status 0" in first.read()[1]
    assert (daemon.work / "count").read_text() == "x\n"
