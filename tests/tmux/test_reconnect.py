"""Who waits outlives the daemon: it comes back by itself, and hears what became of its own message, once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
from contextlib import closing
from typing import Any

import psutil
import pytest

from agentd.agents.callers import NOT_BACK
from agentd.api.client import ApiError
from agentd.testing.daemon import HOLD, Completed, Daemon, Running
from agentd.testing.until import until

BOTH = pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
AWAY = "the daemon is away; waiting for it"
ID = "0123456789abcdef"


def stop(daemon: Daemon) -> None:
    """From now on it hears nothing, and answers nobody."""
    os.kill(daemon.pid, signal.SIGSTOP)


def restart_stopped(daemon: Daemon, how: signal.Signals) -> None:
    """SIGKILL ends it as it is; with SIGTERM it goes on for its last moments."""
    os.kill(daemon.pid, how)
    os.kill(daemon.pid, signal.SIGCONT)
    daemon.restart(how)


def asks(running: Running) -> None:
    """Wait until it has a connection to a socket."""
    until("it is connected", lambda: psutil.Process(running.pid).net_connections(kind="unix"))


def answered(running: Running, reply: str) -> Completed:
    done = running.finish()
    assert (done.stdout, done.code) == (reply, 0), done
    return done


# A caller, and the daemon ends …


@BOTH
@pytest.mark.parametrize("words", [[], ["--name", "demo-work"], ["--fail-if-busy"], ["--steer"]], ids=str)
def test_before_it_has_read_the_first_message(daemon: Daemon, how: signal.Signals, words: list[str]) -> None:
    stop(daemon)
    sending = daemon.begin("send", "demo", "@say hi", *words)
    asks(sending)
    restart_stopped(daemon, how)
    answered(sending, "hi\n")
    assert daemon.prompts() == ["@say hi"]
    assert len(daemon.agents()) == 1


@BOTH
def test_before_it_has_read_a_message_that_nobody_waits_for(daemon: Daemon, how: signal.Signals) -> None:
    stop(daemon)
    sending = daemon.begin("send", "demo", "--no-wait", "@say hi")
    asks(sending)
    restart_stopped(daemon, how)
    assert sending.finish().code == 0
    assert daemon.run("wait", "demo").stdout == "hi\n"
    assert daemon.prompts() == ["@say hi"]


@BOTH
def test_while_the_cli_starts(daemon: Daemon, how: signal.Signals) -> None:
    daemon.configure(demo=("--slow-start", "2"))
    daemon.restart()
    sending = daemon.begin("send", "demo", "@say hi")
    daemon.reaches("starting")
    daemon.restart(how)
    answered(sending, "hi\n")
    assert daemon.prompts() == ["@say hi"]


@BOTH
def test_in_the_middle_of_the_turn_and_again(daemon: Daemon, how: signal.Signals) -> None:
    sending = daemon.begin("send", "demo", f"{HOLD}\n@say done", "--json")
    daemon.wrote("tool_use")
    for _ in range(2):
        daemon.reaches("working")
        daemon.end(how)
        sending.says(AWAY)
        daemon.start()
        sending.says("demo-work is working")
    daemon.let_go()
    done = sending.finish()
    assert (done.code, done.json["reply"], done.json["receipt"]) == (0, "done", "accepted")
    assert daemon.prompts() == [f"{HOLD}\n@say done"]


@BOTH
def test_between_the_turns_end_and_its_telling(daemon: Daemon, how: signal.Signals) -> None:
    sending = daemon.begin("send", "demo", f"{HOLD}\n@say done")
    daemon.reaches("working")
    stop(daemon)
    daemon.let_go()
    daemon.wrote("turn_end")
    restart_stopped(daemon, how)
    done = sending.finish()
    assert (done.stdout, done.code) == ("done\n", 0)
    assert daemon.prompts() == [f"{HOLD}\n@say done"]


@BOTH
def test_while_the_turn_ends_without_it(daemon: Daemon, how: signal.Signals) -> None:
    sending = daemon.begin("send", "demo", f"{HOLD}\n@say done")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    daemon.end(how)
    daemon.let_go()
    daemon.wrote("turn_end")
    daemon.start()
    answered(sending, "done\n")
    assert daemon.prompts() == [f"{HOLD}\n@say done"]


@BOTH
def test_while_messages_wait_in_line(daemon: Daemon, how: signal.Signals) -> None:
    """Each caller gets the answer to its own."""
    first = daemon.begin("send", "demo", f"{HOLD}\n@say one")
    daemon.reaches("working")
    others = []
    for number in (1, 2):
        others.append(daemon.begin("send", "demo", f"@say other {number}"))
        until(f"{number} wait", lambda number=number: daemon.agent()["queued"] == number)  # type: ignore[misc]
    daemon.restart(how)
    daemon.let_go()
    answered(first, "one\n")
    for number, other in enumerate(others, 1):
        answered(other, f"other {number}\n")
    assert daemon.prompts() == [f"{HOLD}\n@say one", "@say other 1", "@say other 2"]


@BOTH
def test_after_a_prompt_was_steered_in(daemon: Daemon, how: signal.Signals) -> None:
    first = daemon.begin("send", "demo", f"{HOLD}\n@say one")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    steered = daemon.begin("send", "demo", "--steer", "be quick", "--json")
    until("it is inside", lambda: b"steered" in (daemon.state / "agentd.db-wal").read_bytes())
    daemon.restart(how)
    daemon.let_go()
    answered(first, "one (also: be quick)\n")
    assert steered.finish().json["reply"] == "one (also: be quick)"
    assert daemon.prompts() == [f"{HOLD}\n@say one"]


@BOTH
def test_while_a_person_is_needed(daemon: Daemon, how: signal.Signals) -> None:
    sending = daemon.begin("send", "demo", "@ask May I?\n@say thanks", "--on-attention", "wait")
    daemon.reaches("attention")
    daemon.restart(how)
    daemon.reaches("attention")
    assert daemon.run("answer", "demo", "approve").code == 0
    done = answered(sending, "thanks\n")
    assert "demo needs you (approval): " in done.stderr
    assert daemon.prompts() == ["@ask May I?\n@say thanks"]


@BOTH
def test_attention_that_the_caller_did_not_wait_for_leaves_the_message(
    daemon: Daemon, how: signal.Signals
) -> None:
    sending = daemon.begin("send", "demo", f"{HOLD}\n@ask May I?\n@say thanks", "--on-attention", "exit")
    daemon.reaches("working")
    daemon.restart(how)
    daemon.let_go()
    assert sending.finish().code == 3
    assert not messages(daemon, "awaited = 1 AND outcome IS NULL"), "no caller is expected back"
    daemon.run("answer", "demo", "approve")
    assert daemon.run("wait", "demo").stdout == "thanks\n"


@BOTH
def test_while_somebody_waits_for_its_turn(daemon: Daemon, how: signal.Signals) -> None:
    daemon.run("send", "demo", "--no-wait", f"{HOLD}\n@say first")
    daemon.reaches("working")
    daemon.run("send", "demo", "--no-wait", "@say second")
    waiting = daemon.begin("wait", "demo")
    waiting.says("demo-work is working")
    daemon.end(how)
    daemon.let_go()
    daemon.wrote("turn_end")
    daemon.start()
    daemon.wrote("turn_end", count=2)
    answered(waiting, "first\n")


@BOTH
def test_while_somebody_follows_the_events(daemon: Daemon, how: signal.Signals) -> None:
    following = daemon.begin("events", "demo-work", "--follow")
    done = following.finish()
    assert done.code == 2, "nobody is called so yet"
    following = daemon.begin("events", "--follow")
    for number in range(3):
        assert daemon.run("send", "demo", f"@say {number}").stdout == f"{number}\n"
        daemon.restart(how)
    assert daemon.run("send", "demo", "@say end").stdout == "end\n"
    known = [json.loads(line)["seq"] for line in daemon.run("events").stdout.splitlines()]
    assert following.process.stdout
    heard: list[int] = []
    while not heard or heard[-1] < known[-1]:
        heard.append(json.loads(following.process.stdout.readline())["seq"])
    assert heard == known
    following.ctrl_c()
    assert following.finish().code == 130


# Who doesn't come back, and who can't


@pytest.mark.slow
def test_callers_who_died_while_the_daemon_was_away_have_left(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", "@tool 1000")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    queued = daemon.begin("send", "demo", "never")
    until("it waits", lambda: daemon.agent()["queued"] == 1)
    daemon.run("send", "demo", "--no-wait", "@say nobody waits")
    alive = daemon.begin("send", "demo", "@say alive")
    until("all wait", lambda: daemon.agent()["queued"] == 3)
    daemon.end(signal.SIGKILL)
    first.kill()
    queued.kill()
    daemon.start()
    answered(alive, "alive\n")
    daemon.wrote("interrupted")
    assert daemon.prompts() == ["@tool 1000", "@say nobody waits", "@say alive"]
    taken_back = [text for text, why in messages(daemon, "outcome = 'interrupted'") if NOT_BACK in why]
    assert taken_back == ["@tool 1000", "never"]


def test_ctrl_c_while_the_daemon_is_away(daemon: Daemon) -> None:
    sending = daemon.begin("send", "demo", "@tool 1000", "--json")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    daemon.end(signal.SIGKILL)
    sending.says(AWAY)
    sending.ctrl_c()
    done = sending.finish()
    assert (done.code, done.json["outcome"]) == (130, "interrupted")
    assert "takes the message back" in done.stderr


@BOTH
def test_a_daemon_with_another_state_does_not_know_the_message(daemon: Daemon, how: signal.Signals) -> None:
    sending = daemon.begin("send", "demo", "@tool 1000", "--json")
    waiting = daemon.begin("wait", "demo-work", "--json") if daemon.reaches("working") else None
    assert waiting
    waiting.says("demo-work is working")
    daemon.end(how)
    mine = daemon.env["AGENTD_STATE_DIR"]
    daemon.env["AGENTD_STATE_DIR"] = str(daemon.root / "other")
    daemon.start()
    for each in (sending, waiting):
        done = each.finish()
        assert (done.code, done.json["outcome"], done.json["error"]["code"]) == (5, "lost", "lost")
        assert "doesn't know what was asked for" in done.stderr
    assert daemon.agents() == []
    daemon.end()
    daemon.env["AGENTD_STATE_DIR"] = mine


# The interface below


def test_a_message_with_an_id_is_one_message(daemon: Daemon) -> None:
    body = {"text": "@say hi", "cwd": str(daemon.work), "id": ID}
    path = "/v1/agents/demo/messages"
    told = [daemon.client.request("POST", path, body)[1] for _ in range(3)]
    assert [(each["reply"], each["message"]) for each in told] == [("hi", ID)] * 3
    assert daemon.get(f"/v1/agents/demo-work/messages/{ID}") == told[0]
    assert daemon.prompts() == ["@say hi"]


def test_a_message_is_sent_again_while_its_agent_is_another_by_the_config(daemon: Daemon) -> None:
    """Also one that was to start its agent anew: that was done, and its own turn runs."""
    body = {"text": f"{HOLD}\n@say hi", "cwd": str(daemon.work), "id": ID, "restart": True, "model": "one"}
    first = daemon.client.stream("POST", "/v1/agents/demo/messages", body)
    assert next(first)[0] == "progress"
    daemon.reaches("working")
    daemon.configure('[bridge]\ntools = ["execute_shell_command"]\n')
    until("the config was read", lambda: "config read again" in daemon.log.read_text())
    again = daemon.client.stream("POST", "/v1/agents/demo/messages", body)
    assert next(again)[0] == "progress"
    daemon.let_go()
    *_, (name, told) = again
    assert (name, told["reply"]) == ("result", "hi")
    first.close()
    assert daemon.prompts() == [f"{HOLD}\n@say hi"]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"text": "@say something else"}, 409, "conflict"),
        ({"mode": "steer"}, 409, "conflict"),
        ({"name": "other"}, 409, "conflict"),
        ({"id": "short"}, 400, "usage"),
        ({"id": "0123456789abcdef/.."}, 400, "usage"),
        ({"id": 7}, 400, "usage"),
    ],
)
def test_ids_that_are_refused(daemon: Daemon, change: dict[str, Any], status: int, code: str) -> None:
    body = {"text": "@say hi", "cwd": str(daemon.work), "id": ID}
    assert daemon.client.request("POST", "/v1/agents/demo/messages", body)[1]["reply"] == "hi"
    with pytest.raises(ApiError) as caught:
        daemon.client.request("POST", "/v1/agents/demo/messages", {**body, **change})
    assert (caught.value.status, caught.value.code) == (status, code)
    assert daemon.prompts() == ["@say hi"]
    assert [agent["name"] for agent in daemon.agents()] == ["demo-work"]


@pytest.mark.parametrize(
    "path", [f"/messages/{ID}", "/messages/nobody", "/wait?turn=t1", f"/wait?message={ID}"]
)
def test_what_is_not_known_is_not_found(daemon: Daemon, path: str) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    with pytest.raises(ApiError, match=r"demo-work (was sent|has had) no") as caught:
        daemon.client.request("GET", f"/v1/agents/demo-work{path}")
    assert caught.value.status == 404


@pytest.mark.parametrize("after", ["-1", "x", "9" * 30])
def test_events_after_what_is_no_event(daemon: Daemon, after: str) -> None:
    with pytest.raises(ApiError) as caught:
        list(daemon.client.stream("GET", "/v1/events", headers={"Last-Event-ID": after}))
    assert caught.value.status == 400


def test_events_after_one_that_went_with_its_daemon(daemon: Daemon) -> None:
    """Its number was told, but the disk was full to that daemon's end: who follows goes on."""
    seen = {"Last-Event-ID": "99999"}
    heard = threading.Event()

    def talk() -> None:
        while not heard.is_set():
            daemon.run("send", "demo", "@say hi")

    talking = threading.Thread(target=talk)
    talking.start()
    try:
        with closing(
            daemon.client.stream("GET", "/v1/events", query={"follow": "1"}, headers=seen)
        ) as events:
            assert next(data for _, data in events if data["kind"] == "turn_ended")["seq"] < 99999
    finally:
        heard.set()
        talking.join()


def test_the_last_of_two_callers_takes_the_message_back(daemon: Daemon) -> None:
    body = {"text": "@tool 1000", "cwd": str(daemon.work), "id": ID}
    first = daemon.client.stream("POST", "/v1/agents/demo/messages", body)
    assert next(first)[1]["message"] == ID
    daemon.wrote("tool_use")
    daemon.reaches("working")
    second = daemon.client.stream("GET", f"/v1/agents/demo-work/messages/{ID}")
    told = next(second)[1]
    assert (told["agent"], told["message"], told["receipt"]) == ("demo-work", ID, "accepted")
    first.close()
    # The daemon has seen the one leave when it answers to the next.
    assert daemon.get("/v1/health")["status"] == "ok"
    assert daemon.agent()["state"] == "working"
    assert messages(daemon, "outcome IS NULL") == [("@tool 1000", "")]
    second.close()
    daemon.wrote("interrupted")


def test_who_looks_at_a_message_that_nobody_waits_for_takes_nothing_back(daemon: Daemon) -> None:
    body = {"text": f"{HOLD}\n@say done", "cwd": str(daemon.work), "id": ID, "wait": False}
    daemon.client.request("POST", "/v1/agents/demo/messages", body)
    daemon.reaches("working")
    looking = daemon.client.stream("GET", f"/v1/agents/demo-work/messages/{ID}")
    assert next(looking)[0] == "progress"
    looking.close()
    daemon.let_go()
    assert daemon.get(f"/v1/agents/demo-work/messages/{ID}")["reply"] == "done"


def messages(daemon: Daemon, where: str) -> list[tuple[str, str]]:
    """Text and error of the messages in the store."""
    with closing(sqlite3.connect(f"file:{daemon.state / 'agentd.db'}?mode=ro", uri=True)) as db:
        query = f"SELECT text, coalesce(error, '') FROM messages WHERE {where} ORDER BY created_at"
        return db.execute(query).fetchall()
