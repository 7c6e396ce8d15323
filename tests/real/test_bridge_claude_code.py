"""Claude Code calls agentd's tools through the actual bridge."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agentd.testing.conformance import PATIENCE, Bench, events
from agentd.testing.daemon import Daemon, Running
from agentd.testing.model import ScriptedModel
from agentd.testing.processes import alive
from agentd.testing.until import until

from .test_claude_code import subject

pytestmark = pytest.mark.xdist_group("claude-code-bridge")

SHELL = "execute_shell_command"
NAME = f"mcp__api-bridge__{SHELL}"
USERS_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "mine", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"name": "ping", "description": "Pings.", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "pong of the user's own"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""  # noqa: E501


def call(command: str, **more: Any) -> str:
    """A prompt line that calls the tool."""
    return f"@tool {SHELL} {json.dumps({'command': command, **more})}"


@pytest.fixture
def open_bench() -> Iterator[Callable[..., Bench]]:
    with ExitStack() as stack:

        def open_one(release: str = "claude-code", **env: str) -> Bench:
            what = subject(release)
            model = stack.enter_context(ScriptedModel())
            daemon = Daemon(env=env)
            daemon.configure(what.setup(model.url, daemon.root) + f'\n[bridge]\ntools = ["{SHELL}"]\n')
            allow(daemon.home, NAME)
            stack.enter_context(daemon)
            return Bench(what, daemon, model)

        yield open_one


@pytest.fixture
def bench(open_bench: Callable[..., Bench]) -> Bench:
    return open_bench()


def allow(home: Path, tool: str) -> None:
    """What a user writes who lets the model call this tool."""
    path = home / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    settings["permissions"]["allow"].append(tool)
    path.write_text(json.dumps(settings))


def in_command(bench: Bench, seconds: int = 1000) -> tuple[Running, list[int]]:
    """A turn that is in a silent command, and the command's processes."""
    pids = bench.daemon.work / "pids"
    sending = bench.begin(call(f"sleep {seconds} & echo $! $$ > pids; wait"), "--json")
    found = until("the command runs", lambda: pids.exists() and pids.read_text().split(), PATIENCE)
    assert len(found) == 2
    return sending, [int(pid) for pid in found]


def last_call(bench: Bench) -> dict[str, Any]:
    """The event of the last call's end."""

    def end() -> dict[str, Any] | None:
        told = [event["data"] for event in events(bench) if event["kind"] == "tool"]
        data: dict[str, Any] = told[-1]
        return data if data["status"] != "started" else None

    return until("the call's end is told", end)


@pytest.mark.parametrize("release", ["claude-code", "claude-code-2.1.160"])
def test_the_first_prompt_can_call_the_tool(open_bench: Callable[..., Bench], release: str) -> None:
    bench = open_bench(release)
    reply = bench.say(call("echo hello from $AGENTD_AGENT; exit 3"))
    assert reply == f"done tool-result=<<hello from {bench.name}\n[exit status 3]>>"
    asked = next(r for r in bench.model.requests if r.body.get("tools"))
    assert NAME in [tool["name"] for tool in asked.body["tools"]], "it isn't hidden behind a search"
    assert [e for e in events(bench) if e["kind"] == "warning" and "bridge" in e["data"]["text"]] == []


def test_the_same_bridge_serves_the_next_prompts(bench: Bench) -> None:
    assert "one" in bench.say(call("echo one"))
    bench.daemon.restart()
    assert "two" in bench.say(call("echo two")), "and a restarted daemon knows its token"
    assert "'command' is a required property" in bench.say(f"@tool {SHELL} {{}}")
    limited = bench.say(call("echo so far; sleep 60", timeout_s=1))
    assert f"TIMEOUT layer=workflow tool={SHELL} session={bench.name} timeout=1s: " in limited
    assert "so far" in limited


def test_the_servers_limit_is_shown_to_the_model(open_bench: Callable[..., Bench]) -> None:
    bench = open_bench(TOOL_EXECUTION_TIMEOUT="1s")
    reply = bench.say(call("sleep 60"))
    assert f"TIMEOUT layer=tool_execution tool={SHELL} session={bench.name} timeout=1s: " in reply


def test_agentd_interrupt_leaves_no_process(bench: Bench) -> None:
    sending, pids = in_command(bench)
    before = time.monotonic()
    assert bench.daemon.run("interrupt", bench.name).code == 0
    until("the command is gone", lambda: not any(map(alive, pids)), 10)
    assert time.monotonic() - before < 2.5  # the half second is the command line's own
    done = sending.finish(PATIENCE)
    assert (done.code, done.json["outcome"]) == (130, "interrupted")
    assert last_call(bench)["status"] == "cancelled"
    assert "on" in bench.say(call("echo on"))


def test_an_escape_in_the_pane_leaves_no_process(bench: Bench) -> None:
    sending, pids = in_command(bench)
    before = time.monotonic()
    bench.daemon.pane(bench.name).keys("Escape")
    until("the command is gone", lambda: not any(map(alive, pids)), 10)
    assert time.monotonic() - before < 2
    assert sending.finish(PATIENCE).code == 130
    told = last_call(bench)
    assert (told["status"], told["layer"], told["timeout_s"]) == ("cancelled", "provider_mcp", 5400.0)


def test_stop_leaves_no_process(bench: Bench) -> None:
    sending, pids = in_command(bench)
    assert bench.daemon.run("stop", bench.name).code == 0
    assert not any(map(alive, pids))
    assert sending.finish(PATIENCE).json["outcome"] == "interrupted"
    assert "by agentd stop" in last_call(bench)["message"]


def test_live_input_while_the_tool_runs_is_reflected(bench: Bench) -> None:
    first, _ = in_command(bench, seconds=4)
    steered = bench.send("please also mention STEERED", "--steer", "--json")
    done = first.finish(PATIENCE)
    assert (done.code, steered.code) == (0, 0), (done, steered)
    assert "STEERED" in done.json["reply"] and "[exit status 0" in done.json["reply"]
    assert steered.json["receipt"] == "steered"
    assert bench.daemon.run("stop", bench.name).code == 0


def test_the_users_own_servers_go_on_working(open_bench: Callable[..., Bench]) -> None:
    bench = open_bench()
    script = bench.daemon.root / "users_server.py"
    script.write_text(USERS_SERVER)
    path = bench.daemon.home / ".claude.json"
    server = {"type": "stdio", "command": sys.executable, "args": [str(script)], "alwaysLoad": True}
    path.write_text(json.dumps({**json.loads(path.read_text()), "mcpServers": {"mine": server}}))
    allow(bench.daemon.home, "mcp__mine__ping")
    assert "pong of the user's own" in bench.say("@tool mcp__mine__ping {}")
    assert "ours too" in bench.say(call("echo ours too"))
    assert list(json.loads(path.read_text())["mcpServers"]) == ["mine"]


@pytest.mark.slow
def test_a_tiny_backstop_is_the_clis_own(open_bench: Callable[..., Bench]) -> None:
    """2 s are checked every 30 s, and are given in milliseconds; a tool that speaks is left alone."""
    bench = open_bench(CODING_AGENT_MCP_TOOL_TIMEOUT="2s")
    before = time.monotonic()
    sending, pids = in_command(bench)
    done = sending.finish(PATIENCE)
    assert 25 < time.monotonic() - before < 50
    assert "no response or progress" in done.json["reply"], done
    until("the command is gone", lambda: not any(map(alive, pids)), 3)
    told = last_call(bench)
    assert (told["layer"], told["timeout_s"]) == ("provider_mcp", 2.0)
    spoken = bench.say(call("for i in $(seq 40); do echo $i; sleep 1; done"))
    assert "\n40\n[exit status 0]" in spoken


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_silent_call_of_150_s_stays_in_its_turn(bench: Bench) -> None:
    done = bench.send(call("sleep 150; echo at last"), "--json", timeout=300)
    assert done.json["outcome"] == "completed" and "at last" in done.json["reply"], done
    assert done.json["duration_s"] > 150
    assert last_call(bench)["status"] == "done"
