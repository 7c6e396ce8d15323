"""Tools behind the bridge: what every CLI with MCP must do with them, through the actual bridge."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

import pytest

from agentd.testing import scenario
from agentd.testing.conformance.bench import PATIENCE, Bench, events
from agentd.testing.conformance.subject import Subject, leave_out
from agentd.testing.daemon import Daemon, Running
from agentd.testing.model import ScriptedModel
from agentd.testing.processes import alive
from agentd.testing.scenario import TOOL
from agentd.testing.until import until

SOON_S = 2.5
"""The contract's 2 s for the end of everything below a tool, and half a second for the command line."""
LATE_S = 5.0
"""How much later than its limit a call may be over: the model is asked again, the turn ends."""
TINY_S = 6
"""A CLI's own limit. It counts for the bridge's start too, which takes 0.6 s on an idle machine."""
SERVER = """
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
"""An MCP server of the user's own."""


def call(command: str, **more: Any) -> str:
    """A prompt line that calls the tool."""
    return f"@tool {TOOL} {json.dumps({'command': command, **more})}"


def open_bench(
    subject: Subject,
    stack: ExitStack,
    prepare: Callable[[Daemon], None] = lambda daemon: None,
    *,
    allowed: bool = True,
    **env: str,
) -> Bench:
    """A bench whose agent is offered the tool, and may call it unasked. `env` is the daemon's."""
    model = stack.enter_context(ScriptedModel())
    daemon = Daemon(env=env)
    daemon.configure(subject.setup(model.url, daemon.root) + scenario.CONFIG)
    if allowed and subject.allow:
        subject.allow(daemon.root, TOOL)
    prepare(daemon)
    stack.enter_context(daemon)
    return Bench(subject, daemon, model)


NEEDS: Mapping[str, tuple[str, ...]] = {
    "allow": ("test_an_approval_of_the_tool_is_a_persons",),
    "add_server": ("test_the_users_own_servers_go_on_working",),
    "backstop": ("test_a_tiny_backstop_is_the_clis_own",),
}


class ToolConformance:
    """Inherit, and set `subject`."""

    subject: ClassVar[Subject]

    def __init_subclass__(cls) -> None:
        leave_out(cls, NEEDS, cls.subject)

    @pytest.fixture(scope="class")
    @classmethod
    def bench(cls) -> Iterator[Bench]:
        with ExitStack() as stack:
            yield open_bench(cls.subject, stack)

    @pytest.fixture
    def another(self) -> Iterator[Callable[..., Bench]]:
        """Makes a bench of the test's own, from what `open_bench` takes."""
        with ExitStack() as stack:
            yield partial(open_bench, self.subject, stack)

    # A call ---------------------------------------------------------------------------------------

    def test_the_first_prompt_can_call_the_tool(self, bench: Bench) -> None:
        reply = bench.say(call("echo hello from $AGENTD_AGENT; exit 3"))
        assert f"hello from {bench.name}\n[exit status 3]" in reply
        assert [e for e in events(bench) if e["kind"] == "warning" and "bridge" in e["data"]["text"]] == []

    def test_the_same_bridge_serves_the_next_prompts(self, bench: Bench) -> None:
        assert "one" in bench.say(call("echo one"))
        bench.daemon.restart()
        assert "two" in bench.say(call("echo two")), "and a restarted daemon knows its token"

    def test_a_bad_argument_is_told_to_the_model(self, bench: Bench) -> None:
        """By the CLI, or by the daemon if the CLI lets it through."""
        told = bench.say(f"@tool {TOOL} {{}}")
        assert "command" in told and ("required property" in told or "Validation failed" in told)

    def test_the_users_own_servers_go_on_working(self, another: Callable[..., Bench]) -> None:
        add = self.subject.add_server
        assert add is not None
        ping = ""

        def prepare(daemon: Daemon) -> None:
            nonlocal ping
            script = daemon.root / "users_server.py"
            script.write_text(SERVER)
            ping = add(daemon.root, [sys.executable, str(script)])

        bench = another(prepare)
        assert "pong of the user's own" in bench.say(f"@tool {ping} {{}}")
        assert "ours too" in bench.say(call("echo ours too"))

    def test_a_restart_gives_tools_to_an_agent_that_lives(self, another: Callable[..., Bench]) -> None:
        def without_tools(daemon: Daemon) -> None:
            daemon.config.write_text(daemon.config.read_text().replace(scenario.CONFIG, ""))

        bench = another(without_tools, allowed=False)
        bench.say("@say remember the word WALRUS")
        session = bench.agent()["session_id"]
        with bench.daemon.config.open("a") as file:
            file.write(scenario.CONFIG)
        if self.subject.allow:
            self.subject.allow(bench.daemon.root, TOOL)
        until("the config was read", lambda: "config read again" in bench.daemon.log.read_text())
        refused = bench.send(call("echo never"))
        assert refused.code == 1 and TOOL in refused.stderr, refused
        assert "given" in bench.say(call("echo given"), "--restart")
        assert bench.agent()["session_id"] == session, "it goes on with its conversation"
        assert "WALRUS" in json.dumps(bench.model.requests[-1].body)

    # Meanwhile and ends ---------------------------------------------------------------------------

    def test_agentd_interrupt_leaves_no_process(self, bench: Bench) -> None:
        sending, pids = in_command(bench)
        before = time.monotonic()
        assert bench.daemon.run("interrupt", bench.name).code == 0
        gone(pids, before)
        done = sending.finish(PATIENCE)
        assert (done.code, done.json["outcome"]) == (130, "interrupted")
        assert last_call(bench)["status"] == "cancelled"
        assert "on" in bench.say(call("echo on"))

    def test_an_escape_in_the_pane_leaves_no_process(self, bench: Bench) -> None:
        sending, pids = in_command(bench)
        before = time.monotonic()
        bench.daemon.pane(bench.name).keys("Escape")
        gone(pids, before)
        assert sending.finish(PATIENCE).code == 130
        told = last_call(bench)
        assert (told["status"], told["layer"], told["timeout_s"]) == ("cancelled", "provider_mcp", 5400.0)
        assert (told["tool"], told["session"]) == (TOOL, bench.name)

    def test_stop_leaves_no_process(self, bench: Bench) -> None:
        sending, pids = in_command(bench)
        assert bench.daemon.run("stop", bench.name).code == 0
        assert not any(map(alive, pids))
        assert sending.finish(PATIENCE).json["outcome"] == "interrupted"
        assert "by agentd stop" in last_call(bench)["message"]

    def test_live_input_while_the_tool_runs(self, another: Callable[..., Bench]) -> None:
        played = scenario.play(another().daemon, self.subject.provider, scenario.SCRIPTED, seconds=4)
        assert played.receipt == "steered", played

    def test_an_approval_of_the_tool_is_a_persons(self, another: Callable[..., Bench]) -> None:
        """It is asked for, given, and the call goes on as any other."""
        bench = another(allowed=False)
        scenario.play(bench.daemon, self.subject.provider, scenario.SCRIPTED, seconds=8)
        assert [event for event in events(bench) if event["kind"] == "approval_wanted"], "nobody was asked"

    # Limits ---------------------------------------------------------------------------------------

    def test_the_callers_limit_is_shown_to_the_model(self, bench: Bench) -> None:
        reply = bench.say(call("echo so far; sleep 60", timeout_s=1))
        assert f"TIMEOUT layer=workflow tool={TOOL} session={bench.name} timeout=1s: " in reply
        assert "so far" in reply

    def test_the_servers_limit_is_shown_to_the_model(self, another: Callable[..., Bench]) -> None:
        bench = another(TOOL_EXECUTION_TIMEOUT="1s")
        reply = bench.say(call("sleep 60"))
        assert f"TIMEOUT layer=tool_execution tool={TOOL} session={bench.name} timeout=1s: " in reply

    @pytest.mark.slow
    def test_a_tiny_backstop_is_the_clis_own(self, another: Callable[..., Bench]) -> None:
        """Set by the shared variable and written in the CLI's own unit."""
        backstop = self.subject.backstop
        assert backstop is not None
        bench = another(CODING_AGENT_MCP_TOOL_TIMEOUT=f"{TINY_S}s")
        bench.say("@say the CLI is up")
        sending, pids = in_command(bench)
        before = time.monotonic()
        done = sending.finish(PATIENCE)
        took = time.monotonic() - before
        least = max(TINY_S / 2, backstop.every_s - LATE_S)
        assert least < took < 2 * max(backstop.every_s, TINY_S) + LATE_S, took
        assert backstop.says.format(ms=TINY_S * 1000) in done.json["reply"], done
        until("the command is gone", lambda: not any(map(alive, pids)), 3)
        told = last_call(bench)
        assert (told["layer"], told["timeout_s"]) == ("provider_mcp", float(TINY_S))
        if backstop.progress:
            seconds = int(backstop.every_s + 10)
            spoken = bench.say(call(f"for i in $(seq {seconds}); do echo $i; sleep 1; done"))
            assert f"\n{seconds}\n[exit status 0]" in spoken, "a tool that speaks is left alone"


def in_command(bench: Bench, seconds: int = 1000) -> tuple[Running, list[int]]:
    """A turn that is in a silent command, and the command's processes."""
    file = bench.daemon.work / "pids"
    file.unlink(missing_ok=True)
    sending = bench.begin(call(f"sleep {seconds} & echo $! $$ > pids; wait"), "--json")

    def written() -> list[str]:
        assert sending.process.poll() is None, sending.finish(PATIENCE)
        return file.read_text().split() if file.exists() else []

    found = until("the command runs", written, PATIENCE)
    assert len(found) == 2
    return sending, [int(pid) for pid in found]


def gone(pids: list[int], since: float) -> None:
    until("the command is gone", lambda: not any(map(alive, pids)), 10)
    assert time.monotonic() - since < SOON_S


def last_call(bench: Bench) -> dict[str, Any]:
    """The event of the last call's end."""

    def end() -> dict[str, Any] | None:
        told = [event["data"] for event in events(bench) if event["kind"] == "tool"]
        data: dict[str, Any] = told[-1]
        return data if data["status"] != "started" else None

    return until("the call's end is told", end)
