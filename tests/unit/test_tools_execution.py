"""A call's limit and its end: what the model, the log and the events are told. On a mock clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from agentd.agents.calls import Calls
from agentd.contract import Layer, Policy, TimedOut, ToolTimeout
from agentd.tools.execution import Execution
from agentd.tools.registry import Call, Result, Route, TimeoutClass, Tool, ToolError
from tests.unit.tool_calls import Progress, caller

Run = Callable[[Call], Awaitable[Result]]


async def forever(call: Call) -> Result:
    call.so_far = lambda: "half of it\n"
    await trio.sleep_forever()
    raise AssertionError


async def stubborn(call: Call) -> Result:
    try:
        await trio.sleep_forever()
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(1.2)
    raise AssertionError


class Server:
    """An execution, and everything it told."""

    def __init__(self, folder: Path, limit_s: float | None = None) -> None:
        self.calls = Calls()
        self.events: list[Mapping[str, Any]] = []
        policy = Policy()
        if limit_s:
            policy = replace(policy, tool_execution=ToolTimeout(limit_s, "a test"))
        self.execution = Execution(self.calls, lambda: policy, lambda agent, data: self.events.append(data))
        self.caller = caller(folder)
        self.results: list[Result] = []

    async def run(
        self, run: Run, *, ordinary: bool = False, id: str = "c1", use: str | None = None
    ) -> Result:
        kind = TimeoutClass.ORDINARY if ordinary else TimeoutClass.LONG_RUNNING
        tool = Tool("t", Route.CUSTOM, kind, "", {}, run)
        result = await self.execution.run(
            tool, self.caller, {}, Progress(), id=id, use=use, provider_mcp_s=5400.0
        )
        self.results.append(result)
        return result

    @property
    def statuses(self) -> list[str]:
        return [event["status"] for event in self.events]


async def test_a_result_is_passed_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def run(call: Call) -> Result:
        return Result(f"{call.tool} for {call.caller.name}")

    server = Server(tmp_path)
    assert await server.run(run) == Result("t for a")
    assert server.events == [
        {"tool": "t", "call": "c1", "status": "started"},
        {"tool": "t", "call": "c1", "status": "done"},
    ]
    assert repr(server.calls) == "<Calls: 0 running>"


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (ToolError("no such place"), "t: no such place"),
        (ValueError("a bug"), "t failed: ValueError('a bug'); see the daemon's log"),
    ],
)
async def test_a_failure_is_an_error_result(
    tmp_path: Path, autojump_clock: MockClock, problem: Exception, text: str
) -> None:
    async def run(call: Call) -> Result:
        raise problem

    server = Server(tmp_path)
    assert await server.run(run) == Result(text, is_error=True)
    assert server.statuses == ["started", "failed"]


@pytest.mark.parametrize(("limit_s", "shown"), [(None, "1h30m"), (0.75, "750ms")])
async def test_the_servers_limit(
    tmp_path: Path,
    autojump_clock: MockClock,
    caplog: pytest.LogCaptureFixture,
    limit_s: float | None,
    shown: str,
) -> None:
    server, before = Server(tmp_path, limit_s), trio.current_time()
    result = await server.run(forever)
    assert trio.current_time() - before == pytest.approx(limit_s or 5400)
    line = (
        f"TIMEOUT layer=tool_execution tool=t session=a timeout={shown}: "
        "the server's limit for a tool passed; it was ended, with everything below it"
    )
    assert result == Result(f"{line}\nhalf of it", is_error=True)
    assert caplog.messages == [line]
    assert server.events[-1] == {
        "tool": "t",
        "call": "c1",
        "status": "timed_out",
        "layer": "tool_execution",
        "code": "timeout",
        "message": line,
        "session": "a",
        "timeout_s": limit_s or 5400.0,
    }


async def test_a_limit_of_the_tools_own_names_its_own_layer(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def run(call: Call) -> Result:
        raise TimedOut(Layer.WORKFLOW, "too late", session="a", timeout_s=3, tool="t")

    server = Server(tmp_path)
    assert (await server.run(run)).text == "TIMEOUT layer=workflow tool=t session=a timeout=3s: too late"
    assert server.statuses == ["started", "timed_out"]


@pytest.mark.parametrize(
    ("layer", "limit"),
    [(Layer.TOOL_EXECUTION, "1h30m"), (Layer.MCPBRIDGE_HTTP, "5m"), (Layer.PROVIDER_MCP, "1h30m")],
)
async def test_a_cancellation_names_layer_and_value(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, layer: Layer, limit: str
) -> None:
    server = Server(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.run(forever, ordinary=True))
        await trio.testing.wait_all_tasks_blocked()
        assert server.calls.cancel("somebody else", "by x") == 0
        assert server.calls.cancel("a", "by x", call="another") == 0
        assert server.calls.cancel("a", "by a person", layer=layer) == 1
        assert server.calls.cancel("a", "by another, later") == 1
    line = f"CANCELLED layer={layer} tool=t session=a timeout={limit}: by a person"
    assert server.results == [Result(f"{line}\nhalf of it", is_error=True)]
    assert caplog.messages == [line]
    assert (server.events[-1]["status"], server.events[-1]["layer"]) == ("cancelled", layer)


async def test_whoever_cancels_can_wait_until_nothing_is_left(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    server = Server(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.run(stubborn))
        nursery.start_soon(lambda: server.run(stubborn, id="c2"))
        await trio.testing.wait_all_tasks_blocked()
        before = trio.current_time()
        assert server.calls.cancel(None, "by the daemon") == 2
        await server.calls.gone()
        assert trio.current_time() - before == pytest.approx(1.2)
        assert server.calls.of() == []


async def test_an_interrupted_tool_ends_at_once_but_its_answer_waits(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    server = Server(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.run(forever))
        await trio.testing.wait_all_tasks_blocked()
        before = trio.current_time()
        server.calls.cancel("a", "by agentd interrupt", hold_s=1.0)
        await server.calls.gone("a")
        assert trio.current_time() == before
        assert server.results == []
    assert trio.current_time() - before == pytest.approx(1.0)
    assert server.results[0].text.startswith("CANCELLED layer=tool_execution")


async def test_a_call_that_the_clis_record_knows_to_be_over(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    server = Server(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.run(forever, use="u1"))
        await trio.testing.wait_all_tasks_blocked()
        server.calls.given_up("a", "u2")
        server.calls.given_up("b", "u1")
        await trio.testing.wait_all_tasks_blocked()
        assert server.results == []
        server.calls.given_up("a", "u1")
    line = "CANCELLED layer=provider_mcp tool=t session=a timeout=1h30m: by the CLI, which gave the call up"
    assert server.results[0].text.startswith(line)


async def test_a_client_that_goes_away(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(tmp_path)
    with trio.move_on_after(5):
        await server.run(stubborn)
    assert server.results == []
    by = "by the client, which closed its request"
    line = f"CANCELLED layer=mcpbridge_http tool=t session=a timeout=1h30m: {by}"
    assert caplog.messages == [line]
    assert server.statuses == ["started", "cancelled"]
    assert server.calls.of() == []


async def test_a_client_that_says_why_and_then_goes(tmp_path: Path, autojump_clock: MockClock) -> None:
    server = Server(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.run(stubborn))
        await trio.testing.wait_all_tasks_blocked()
        server.calls.cancel("a", "by the CLI", layer=Layer.PROVIDER_MCP, call="c1")
        nursery.cancel_scope.cancel()
    assert server.events[-1]["layer"] == "provider_mcp"
    assert server.statuses == ["started", "cancelled"]


def test_a_call_says_what_it_does() -> None:
    from agentd.agents.calls import Cancellation, Running

    running = Running("c1", "a", "t")
    assert repr(running) == "<Running t of a: runs>"
    running.cancel(Cancellation(Layer.WORKFLOW, "by a test"))
    assert repr(running) == "<Running t of a: cancelled by a test>"
