"""`agentd stop`: the turn, the CLI, its children and its pane end, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest

from agentd.testing.daemon import Daemon
from agentd.testing.processes import alive, belonging_to, below
from agentd.testing.until import until


@pytest.mark.parametrize("flags", [(), ("--ignore-term",), ("--ignore-term", "--child")])
def test_stop_leaves_no_process(open_daemon: Callable[..., Daemon], flags: tuple[str, ...]) -> None:
    daemon = open_daemon(demo=flags)
    sending = daemon.begin(
        "send", "demo", "@bash (trap '' TERM HUP; sleep 1000; sleep 1000) & sleep 1000", "--json"
    )
    daemon.wrote("tool_use")
    daemon.reaches("working")
    pid = daemon.agent()["pid"]
    family = until("the command runs", lambda: len(found := below(pid)) >= 4 and found)
    stopped = daemon.run("stop", "demo")
    assert (stopped.stdout, stopped.code) == ("stopped demo-work\n", 0)
    assert not any(map(alive, family))
    ended = sending.finish()
    assert ended.json["outcome"] == "interrupted" and "stop" in ended.json["error"]["message"]
    agent = daemon.agent()
    assert (agent["state"], agent["pid"], agent["tmux"]["pane"]) == ("stopped", None, None)
    until("only the daemon is left", lambda: [p.pid for p in belonging_to(daemon.root)] == [daemon.pid])


def test_stopping_nothing_is_no_error(daemon: Daemon) -> None:
    for words in (("demo",), ("nobody",), ("--all",)):
        done = daemon.run("stop", *words)
        assert (done.stdout, done.code) == ("nothing to stop\n", 0)
    assert daemon.run("stop", "demo", "--json").json == {"stopped": []}
    assert daemon.run("stop").code == 2
    assert daemon.run("send", "demo", "@say hi").code == 0
    assert daemon.run("stop", "demo", "--json").json == {"stopped": ["demo-work"]}
    assert daemon.run("stop", "demo", "--json").json == {"stopped": []}


def test_stop_ends_some_and_spares_others(daemon: Daemon) -> None:
    for name in ("one", "two", "three"):
        assert daemon.run("send", "demo", "--name", name, "@say hi").code == 0
    assert daemon.run("stop", "one", "three").stdout == "stopped one\nstopped three\n"
    assert {agent["name"]: agent["state"] for agent in daemon.agents()} == {
        "one": "stopped",
        "two": "ready",
        "three": "stopped",
    }
    assert daemon.run("send", "two", "@say on").stdout == "on\n"


def test_stop_answers_everybody_who_waits(daemon: Daemon) -> None:
    first = daemon.begin("send", "demo", "@tool 1000", "--json")
    daemon.reaches("working")
    queued = daemon.begin("send", "demo", "never", "--json")
    waiting = daemon.begin("wait", "demo", "--json")
    until("it waits", lambda: daemon.agent()["queued"] == 1)
    assert daemon.run("stop", "demo").code == 0
    told = [each.finish() for each in (first, queued, waiting)]
    assert [each.code for each in told] == [130, 130, 130]
    assert [each.json["outcome"] for each in told] == ["interrupted"] * 3
    assert daemon.prompts() == ["@tool 1000"]


def test_a_stopped_agent_starts_again(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    daemon.run("stop", "demo")
    assert daemon.run("send", "demo", "@say again").stdout == "again\n"
    assert daemon.prompts() == ["@say hi", "@say again"]


def test_a_new_conversation_hears_nothing_of_the_one_before(daemon: Daemon) -> None:
    """Its record is the same file: what stands there would make it ready, and answer the same prompt."""
    assert daemon.run("send", "demo", "@say hi").code == 0
    daemon.run("stop", "demo")
    before = len(daemon.run("events", "demo").stdout.splitlines())
    assert daemon.run("send", "demo", "@say hi").stdout == "hi\n"
    daemon.wrote("turn_end", count=2)
    lines = daemon.run("events", "demo").stdout.splitlines()[before:]
    told = Counter(line["kind"] for line in map(json.loads, lines) if line["source"] == "record")
    assert (told["session_started"], told["prompt_taken"], told["turn_done"]) == (1, 1, 1)


def test_stop_and_start_in_turn(daemon: Daemon) -> None:
    """With its last session the tmux server ends, and a new one may meet it on its way out."""
    for number in range(8):
        assert daemon.run("send", "demo", f"@say {number}").stdout == f"{number}\n"
        daemon.client.request("DELETE", "/v1/agents")
        body = {"text": f"@say again {number}", "cwd": str(daemon.work)}
        told = daemon.client.request("POST", "/v1/agents/demo/messages", body)[1]
        assert told["reply"] == f"again {number}", told
    assert len(daemon.prompts()) == 16


def test_stop_while_it_starts(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(demo=("--slow-start", "60"))
    sending = daemon.begin("send", "demo", "hello", "--json")
    daemon.reaches("starting")
    assert daemon.run("stop", "demo").stdout == "stopped demo-work\n"
    assert sending.finish().json["outcome"] == "interrupted"
    until("only the daemon is left", lambda: [p.pid for p in belonging_to(daemon.root)] == [daemon.pid])
