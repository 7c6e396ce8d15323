"""Ends before the end: Ctrl-C, a client that dies, `interrupt`, a person's Escape, a closed request."""

from __future__ import annotations

import json
import signal
import socket

from agentd.testing.daemon import HOLD, Daemon
from agentd.testing.until import until


def test_interrupt_ends_the_turn_and_the_agent_stays(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", "@bash echo $$ > child; sleep 1000")
    said = daemon.work / "child"
    until("the command runs", lambda: said.exists() and said.read_text().strip())
    pid = daemon.agent()["pid"]
    done = daemon.run("interrupt", "demo")
    assert (done.stdout, done.code) == ("interrupted demo-work\n", 0)
    ended = first.finish()
    assert (ended.stdout, ended.code) == ("", 130)
    assert daemon.reaches("ready")["pid"] == pid
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"
    nothing = daemon.run("interrupt", "demo")
    assert (nothing.stdout, nothing.code) == ("nothing to interrupt\n", 0)


def test_an_interruption_before_any_output(daemon: Daemon) -> None:
    """The program gives the prompt back into its composer: it mustn't be in the next one."""
    first = daemon.begin("send", "demo", "@silence", "--json")
    daemon.reaches("working")
    daemon.run("interrupt", "demo")
    ended = first.finish()
    assert (ended.code, ended.json["outcome"], ended.json["error"]["code"]) == (
        130,
        "interrupted",
        "interrupted",
    )
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"
    assert daemon.prompts() == ["@silence", "@say on"]


def test_ctrl_c_interrupts_and_waits_for_the_end(daemon: Daemon) -> None:
    sending = daemon.begin("send", "demo", "@tool 1000", "--json")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    sending.ctrl_c()
    ended = sending.finish()
    assert (ended.code, ended.json["outcome"]) == (130, "interrupted")
    daemon.wrote("interrupted")
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"


def test_ctrl_c_takes_a_queued_message_back(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", f"{HOLD}\n@say done")
    daemon.reaches("working")
    queued = daemon.begin("send", "demo", "never")
    until("it waits", lambda: daemon.agent()["queued"] == 1)
    queued.ctrl_c()
    assert queued.finish().code == 130
    until("it was taken back", lambda: daemon.agent()["queued"] == 0)
    daemon.let_go()
    assert first.finish().stdout == "done\n"
    assert daemon.prompts() == [f"{HOLD}\n@say done"]


def test_a_killed_client_cancels_its_turn(daemon: Daemon) -> None:
    sending = daemon.begin("send", "demo", "@tool 1000")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    sending.kill()
    daemon.wrote("interrupted")
    daemon.reaches("ready")
    assert daemon.run("wait", "demo", "--json").json["outcome"] == "interrupted"
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"


def test_a_killed_client_takes_its_queued_message_back(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", f"{HOLD}\n@say done")
    daemon.reaches("working")
    queued = daemon.begin("send", "demo", "never")
    until("it waits", lambda: daemon.agent()["queued"] == 1)
    queued.kill()
    until("it was taken back", lambda: daemon.agent()["queued"] == 0)
    daemon.let_go()
    assert first.finish().stdout == "done\n"
    assert daemon.prompts() == [f"{HOLD}\n@say done"]


def test_sigterm_of_a_client_is_a_cancel_too(daemon: Daemon) -> None:
    sending = daemon.begin("send", "demo", "@tool 1000")
    daemon.wrote("tool_use")
    sending.process.send_signal(signal.SIGTERM)
    daemon.wrote("interrupted")
    sending.finish()


def test_a_person_interrupts_in_the_pane(daemon: Daemon) -> None:
    sending = daemon.begin("send", "demo", "@tool 1000", "--json")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    daemon.pane().keys("Escape")
    ended = sending.finish()
    assert (ended.code, ended.json["outcome"]) == (130, "interrupted")
    assert "pane" in ended.json["error"]["message"]
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"


def test_a_deadline_interrupts_and_names_its_layer(daemon: Daemon) -> None:
    done = daemon.run("send", "demo", "@tool 1000", "--deadline", "1s", "--json")
    assert (done.code, done.json["outcome"]) == (4, "timed_out")
    error = done.json["error"]
    assert (error["layer"], error["session"], error["timeout_s"]) == ("workflow", "demo-work", 1.0)
    assert error["message"].startswith("TIMEOUT layer=workflow tool=- session=demo-work timeout=1s: ")
    daemon.wrote("interrupted")
    daemon.reaches("ready")
    plain = daemon.run("send", "demo", "@silence", "--deadline", "1s")
    assert (plain.stdout, plain.code) == ("", 4)
    assert "layer=workflow" in plain.stderr
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"


def test_who_waits_only_looks_on(daemon: Daemon) -> None:
    daemon.run("send", "demo", "--no-wait", f"{HOLD}\n@say done")
    daemon.reaches("working")
    waiting = daemon.begin("wait", "demo")
    waiting.says("demo-work is working")
    waiting.kill()
    daemon.let_go()
    assert daemon.run("wait", "demo").stdout == "done\n"


def test_closing_a_request_cancels_it(daemon: Daemon) -> None:
    """Plain HTTP, without any client of ours."""
    body = json.dumps({"text": "@tool 1000", "cwd": str(daemon.work)}).encode()
    head = (
        "POST /v1/agents/demo/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(daemon.socket))
        connection.sendall(head.encode() + body)
        daemon.wrote("tool_use")
        daemon.reaches("working")
    daemon.wrote("interrupted")
    daemon.reaches("ready")


def test_closing_half_a_request_is_nothing(daemon: Daemon) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(daemon.socket))
        connection.sendall(
            b"POST /v1/agents/demo/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
        )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(daemon.socket))
        connection.sendall(b"\x00\xff nonsense\r\n\r\n")
    assert daemon.get("/v1/health")["status"] == "ok"
    assert daemon.agents() == []
