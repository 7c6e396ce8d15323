"""`agentd interrupt` ends the tools of an agent whose turn is asked to end already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import trio
from starlette.requests import Request
from trio.testing import MockClock

from agentd.agents.calls import Running
from agentd.agents.supervisor import Supervisor
from agentd.api.app import Api
from agentd.config import Config
from agentd.contract import Policy
from agentd.model import Kind
from tests.unit.story import Tiny
from tests.unit.test_owner import Cli, running


async def interrupt(cli: Cli) -> dict[str, Any]:
    supervisor = Supervisor({"tiny": Tiny()}, cli.services, cli.folder, Config, Policy, cli.folder)
    supervisor.owners["a"] = cli.owner
    nothing = cast(Any, None)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "headers": [],
        "query_string": b"",
        "path_params": {"target": "a"},
    }
    answer = await Api(supervisor, nothing, nothing, nothing, nothing).interrupt(Request(scope, receive))
    told: dict[str, Any] = json.loads(bytes(answer.body))
    return told


async def test_each_interrupt_ends_what_runs(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli, trio.open_nursery() as nursery:
        await cli.ready()
        cli.send("m1")
        await cli.settle()
        cli.pane.show("> ", "*")  # it goes on, whatever key is pressed
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        turn = (await interrupt(cli))["turn"]
        for number in range(2):
            call = Running(str(number), "a", "t")

            async def work(call: Running = call) -> None:
                with cli.services.calls.running(call), call.scope:
                    await trio.sleep_forever()

            nursery.start_soon(work)
            await trio.testing.wait_all_tasks_blocked()
            assert await interrupt(cli) == {"agent": "a", "interrupted": True, "turn": turn}
            assert call.ended.is_set()
            assert call.cancellation and call.cancellation.by == "by agentd interrupt"
