"""Several senders and one agent: in line, into the running turn, or refused; nothing lost or doubled."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from agentd.api.client import Client
from agentd.testing.daemon import HOLD, Daemon
from agentd.testing.until import until


def test_senders_are_served_in_the_order_of_their_coming(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", f"{HOLD}\n@say zero")
    daemon.reaches("working")
    others = []
    for number in range(1, 4):
        others.append(daemon.begin("send", "demo", f"@say {number}", "--json"))
        until(f"{number} wait", lambda number=number: daemon.agent()["queued"] == number)  # type: ignore[misc]
    assert [entry["text"] for entry in daemon.agent()["queue"]] == ["@say 1", "@say 2", "@say 3"]
    daemon.let_go()
    assert first.finish().stdout == "zero\n"
    told = [other.finish().json for other in others]
    assert [each["reply"] for each in told] == ["1", "2", "3"]
    assert [each["ended_at"] for each in told] == sorted(each["ended_at"] for each in told)
    assert daemon.prompts() == [f"{HOLD}\n@say zero", "@say 1", "@say 2", "@say 3"]


def test_a_steered_prompt_joins_the_running_turn(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", f"{HOLD}\n@say one", "--json")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    steering = daemon.begin("send", "demo", "--steer", "be quick", "--json")
    daemon.wrote("steer")
    daemon.let_go()
    steered = steering.finish().json
    told = first.finish().json
    assert told["reply"] == "one (also: be quick)"
    assert (steered["receipt"], steered["outcome"], steered["reply"]) == (
        "steered",
        "completed",
        told["reply"],
    )
    assert steered["turn"] == told["turn"]
    assert daemon.prompts() == [f"{HOLD}\n@say one"]
    assert daemon.agent()["state"] == "ready"


def test_a_steered_prompt_that_finds_no_boundary_has_a_turn_of_its_own(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", "@slow 60 two", "--json")
    daemon.reaches("working")
    daemon.wrote("user")
    steered = daemon.run("send", "demo", "--steer", "@say three", "--json").json
    told = first.finish().json
    assert (told["outcome"], told["reply"]) == ("completed", "two")
    assert (steered["outcome"], steered["reply"]) == ("completed", "three")
    assert steered["turn"] != told["turn"]
    assert daemon.prompts() == ["@slow 60 two", "@say three"]
    assert daemon.agent()["state"] == "ready"


def test_steering_an_idle_agent_is_sending(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "--steer", "@say hi").stdout == "hi\n"


def test_fail_if_busy(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "--fail-if-busy", "@say free").stdout == "free\n"
    first = daemon.begin("send", "demo", f"{HOLD}\n@say done")
    daemon.reaches("working")
    refused = daemon.run("send", "demo", "--fail-if-busy", "hello", "--json")
    assert (refused.code, refused.json["receipt"], refused.json["outcome"]) == (1, "rejected", "failed")
    assert refused.json["error"]["code"] == "busy"
    daemon.let_go()
    assert first.finish().stdout == "done\n"
    assert daemon.prompts() == ["@say free", f"{HOLD}\n@say done"]


def test_no_wait_and_wait(daemon: Daemon) -> None:
    told = daemon.run("send", "demo", "--no-wait", "@tool 5\n@say later", "--json").json
    assert (told["outcome"], told["reply"], told["error"]) == ("submitted", None, None)
    assert told["receipt"] in ("accepted", "queued")
    assert daemon.run("wait", "demo").stdout == "later\n"
    again = daemon.run("wait", "demo", "--json").json
    assert (again["outcome"], again["reply"]) == ("completed", "later")
    plain = daemon.run("send", "demo", "--no-wait", "@say x")
    assert (plain.stdout, plain.code) == ("", 0)
    assert daemon.run("wait", "demo").stdout == "x\n"


def test_a_deadline_in_the_queue_takes_the_message_out(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", f"{HOLD}\n@say done")
    daemon.reaches("working")
    late = daemon.run("send", "demo", "too late", "--deadline", "500ms", "--json")
    assert (late.code, late.json["error"]["layer"]) == (4, "workflow")
    daemon.let_go()
    assert first.finish().stdout == "done\n"
    assert daemon.prompts() == [f"{HOLD}\n@say done"]


@pytest.mark.slow
def test_five_hundred_prompts_from_four_senders(daemon: Daemon) -> None:
    """None lost, none doubled, and to each its own answer."""
    answers: dict[str, str] = {}
    wrong: list[object] = []

    def sender(number: int) -> None:
        client = Client(daemon.socket, timeout=200)
        for count in range(125):
            text = f"number {count} of sender {number}"
            body = {"text": text, "cwd": str(daemon.work)}
            try:
                told = client.request("POST", "/v1/agents/demo/messages", body)[1]
            except Exception as error:
                wrong.append((text, error))
                return
            if told["outcome"] != "completed":
                wrong.append((text, told))
            answers[text] = told["reply"]

    senders = [threading.Thread(target=sender, args=(number,)) for number in range(4)]
    for thread in senders:
        thread.start()
    for thread in senders:
        thread.join()
    assert not wrong
    assert len(answers) == 500
    assert {text: f"You said: {text} (" in reply for text, reply in answers.items()} == dict.fromkeys(
        answers, True
    )
    counted = Counter(daemon.prompts())
    assert set(counted) == set(answers) and set(counted.values()) == {1}
    assert daemon.agent()["queued"] == 0


def test_a_long_turn_holds_nobody_up_and_a_death_is_nobody_elses(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "--no-wait", "@tool 1000").code == 0
    daemon.wrote("tool_use")
    assert daemon.run("send", "demo", "--name", "other", "@say quick").stdout == "quick\n"
    long = daemon.begin("send", "demo", "--name", "other", "@tool 10\n@say long", "--json")
    daemon.wrote("tool_use", "other")
    daemon.tmux("kill-pane", "-t", daemon.pane().id)
    assert daemon.reaches("lost")
    assert daemon.run("list").code == 0
    ended = long.finish()
    assert (ended.code, ended.json["reply"]) == (0, "long")
