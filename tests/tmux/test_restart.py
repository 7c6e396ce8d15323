"""The daemon ends and another one comes: nothing changes for an agent."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from typing import Any

import pytest

from agentd.testing.daemon import HOLD, Daemon
from agentd.testing.processes import alive
from agentd.testing.until import PATIENCE, until

BOTH = pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])


@BOTH
def test_an_idle_agent_is_adopted(daemon: Daemon, how: signal.Signals) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    was = daemon.agent()
    status = daemon.end(how)
    assert status == (0 if how == signal.SIGTERM else -9)
    assert alive(was["pid"])
    daemon.start()
    assert daemon.agent() == was
    assert daemon.run("wait", "demo").stdout == "hi\n"
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"
    assert daemon.agent()["pid"] == was["pid"]


@BOTH
def test_a_running_turn_and_its_queue_are_adopted(daemon: Daemon, how: signal.Signals) -> None:
    assert daemon.run("send", "demo", "--no-wait", f"{HOLD}\n@say first").code == 0
    daemon.wrote("tool_use")
    daemon.reaches("working")
    for text in ("@say second", "@say third"):
        assert daemon.run("send", "demo", "--no-wait", text).code == 0
    was = daemon.agent()
    assert was["queued"] == 2
    daemon.restart(how)
    now = daemon.agent()
    assert now["state"] == "working"
    assert [now[key] for key in ("turn", "queued", "queue", "pid")] == [
        was[key] for key in ("turn", "queued", "queue", "pid")
    ]
    waiting = daemon.begin("wait", "demo")
    waiting.says("demo-work is working")
    daemon.let_go()
    assert waiting.finish().stdout == "first\n"
    daemon.wrote("turn_end", count=3)
    assert daemon.prompts() == [f"{HOLD}\n@say first", "@say second", "@say third"]
    until("the queue is empty", lambda: daemon.agent()["last"]["reply"] == "third")


@BOTH
def test_what_ended_in_between_is_read_from_the_record(daemon: Daemon, how: signal.Signals) -> None:
    assert daemon.run("send", "demo", "--no-wait", f"{HOLD}\n@say meanwhile").code == 0
    daemon.wrote("tool_use")
    assert daemon.run("send", "demo", "--no-wait", "@say next").code == 0
    daemon.end(how)
    daemon.let_go()
    daemon.wrote("turn_end")
    daemon.start()
    daemon.wrote("turn_end", count=2)
    until("the queue is empty", lambda: daemon.agent()["last"]["reply"] == "next")
    assert daemon.prompts() == [f"{HOLD}\n@say meanwhile", "@say next"]
    ends = [line["data"]["outcome"] for line in events(daemon) if line["kind"] == "turn_ended"]
    assert ends == ["completed", "completed"]


@BOTH
def test_a_waiting_approval_is_adopted(daemon: Daemon, how: signal.Signals) -> None:
    assert daemon.run("send", "demo", "@ask May I?\n@say thanks").code == 3
    daemon.restart(how)
    agent = daemon.reaches("attention")
    assert agent["attention"] == "approval"
    assert daemon.run("wait", "demo").code == 3
    assert daemon.run("answer", "demo", "approve").code == 0
    assert daemon.run("wait", "demo").stdout == "thanks\n"


@BOTH
def test_an_approval_answered_in_between(daemon: Daemon, how: signal.Signals) -> None:
    assert daemon.run("send", "demo", "@ask May I?\n@say thanks").code == 3
    pane = daemon.pane()
    daemon.end(how)
    pane.keys("1")
    daemon.wrote("turn_end")
    daemon.start()
    assert daemon.run("wait", "demo").stdout == "thanks\n"
    assert daemon.reaches("ready")["attention"] is None


@BOTH
def test_a_deadline_outlives_the_daemon(daemon: Daemon, how: signal.Signals) -> None:
    assert daemon.run("send", "demo", "--no-wait", "@tool 1000", "--deadline", "3s").code == 0
    daemon.wrote("tool_use")
    daemon.reaches("working")
    daemon.restart(how)
    done = daemon.run("wait", "demo", "--json")
    assert (done.code, done.json["outcome"], done.json["error"]["layer"]) == (4, "timed_out", "workflow")
    daemon.wrote("interrupted")


@BOTH
def test_a_pane_that_died_in_between_is_lost(daemon: Daemon, how: signal.Signals) -> None:
    assert daemon.run("send", "demo", "--no-wait", "@tool 1000").code == 0
    daemon.wrote("tool_use")
    daemon.reaches("working")
    pane = daemon.pane()
    daemon.end(how)
    daemon.tmux("kill-pane", "-t", pane.id)
    daemon.start()
    done = daemon.run("wait", "demo", "--json")
    assert (done.code, done.json["outcome"]) == (5, "lost")
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"


@BOTH
def test_a_crash_in_between_is_lost(daemon: Daemon, how: signal.Signals) -> None:
    assert daemon.run("send", "demo", "--no-wait", f"{HOLD}\n@crash 7").code == 0
    daemon.wrote("tool_use")
    daemon.reaches("working")
    pid = daemon.agent()["pid"]
    daemon.end(how)
    daemon.let_go()
    until("it crashed", lambda: not alive(pid))
    daemon.start()
    done = daemon.run("wait", "demo", "--json")
    assert (done.code, done.json["outcome"]) == (5, "lost")
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"


def test_an_agent_of_a_start_that_was_cut_short(daemon: Daemon) -> None:
    daemon.configure(demo=("--slow-start", "3"))
    daemon.restart()
    assert daemon.run("send", "demo", "--no-wait", "@say hi", timeout=60).code == 0
    daemon.restart(signal.SIGKILL)
    assert daemon.run("wait", "demo").stdout == "hi\n"
    assert daemon.prompts() == ["@say hi"]


def test_a_second_daemon_is_refused(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    second = daemon.run("serve")
    assert second.code == 1
    assert f"another agentd serves {daemon.socket}" in second.stderr
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"


def test_a_second_daemon_with_the_same_state_is_refused(daemon: Daemon) -> None:
    """Its own socket doesn't make it another one: both would drive the same agents."""
    assert daemon.run("send", "demo", "@say hi").code == 0
    other = daemon.root / "other.sock"
    second = daemon.run("serve", "--socket", str(other))
    assert second.code == 1
    assert second.stderr == (
        f"agentd: another agentd (process {daemon.pid}, on {daemon.socket}) keeps its state in "
        f"{daemon.state}; end it, or use another --state-dir\n"
    )
    assert not other.exists()
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"


def test_the_state_of_a_killed_daemon_is_free_at_once(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    daemon.end(signal.SIGKILL)
    assert alive_agent(daemon), "what it started doesn't hold the lock"
    daemon.start()
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"
    refused = daemon.run("serve", "--socket", str(daemon.root / "other.sock"))
    assert f"process {daemon.pid}," in refused.stderr


def alive_agent(daemon: Daemon) -> bool:
    return bool(daemon.tmux("list-sessions", "-F", "#{session_name}"))


def events(daemon: Daemon) -> list[dict[str, Any]]:
    return [json.loads(line) for line in daemon.run("events").stdout.splitlines()]


def test_a_daemon_that_stood_still_answers_who_asked_meanwhile(daemon: Daemon) -> None:
    """As on a laptop that slept, or under load: requests of connections that look idle by then."""
    connections = [socket.socket(socket.AF_UNIX) for _ in range(6)]
    try:
        for each in connections:
            each.settimeout(PATIENCE)
            each.connect(str(daemon.socket))
            each.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n")
        assert daemon.run("list").code == 0  # by now they were all accepted
        os.kill(daemon.pid, signal.SIGSTOP)
        for each in connections:
            each.sendall(b"Connection: close\r\n\r\n")
        time.sleep(6)
        os.kill(daemon.pid, signal.SIGCONT)
        assert [each.recv(12) for each in connections] == [b"HTTP/1.1 200"] * 6
    finally:
        for each in connections:
            each.close()
