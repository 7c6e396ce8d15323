"""Forwarding calls to the daemon, within the bridge's own limits (layer `mcpbridge_http`).

Cancelling a call closes its request at once; before that the daemon is told which layer it was, so that
its log and its events name the right one.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import trio

from agentd.bridge.http import ApiError, Asker, ClientError, Gone, NoDaemon
from agentd.bridge.settings import Settings
from agentd.contract import Cancelled, Layer, TimedOut
from agentd.contract.policy import BRIDGE_LONG_RUNNING, BRIDGE_ORDINARY

LIMITS: Mapping[str, float] = {"ordinary": BRIDGE_ORDINARY, "long-running": BRIDGE_LONG_RUNNING}
LAST_WORD_S = 0.5
"""How long the daemon may take to hear why a call ends."""
ATTEMPTS = 10
PAUSE_S = 0.5
"""A daemon that is being restarted is back within seconds; the tools are asked for that long."""

Say = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True)
class Tool:
    """One tool of this agent, as the daemon tells it."""

    name: str
    route: str
    timeout_class: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    text: str
    is_error: bool


class Forwarder:
    """Knows the agent's tools and calls them. `limits` is for each timeout class, in seconds."""

    def __init__(self, settings: Settings, limits: Mapping[str, float] = LIMITS) -> None:
        self._settings = settings
        self._limits = limits
        self._tools: dict[str, Tool] = {}
        self._asker = Asker(
            settings.socket,
            {"Authorization": f"Bearer {settings.token}", "Agentd-Agent": settings.agent},
        )

    def __repr__(self) -> str:
        return f"<Forwarder of {self._settings.agent}: {len(self._tools)} tools>"

    async def tools(self) -> list[Tool]:
        """The agent's tools. Raises ClientError, and TimedOut where the daemon doesn't answer."""
        limit = self._limits["ordinary"]
        with trio.move_on_after(limit):
            return await self._ask_for_tools()
        what = "the daemon didn't say which tools there are"
        raise TimedOut(Layer.MCPBRIDGE_HTTP, what, session=self._settings.agent, timeout_s=limit)

    async def _ask_for_tools(self) -> list[Tool]:
        for attempt in range(ATTEMPTS):
            try:
                answer = await self._asker.ask("GET", "/v1/tools")
                break
            except (NoDaemon, Gone):
                if attempt == ATTEMPTS - 1:
                    raise
                await trio.sleep(PAUSE_S)
        found = [
            Tool(t["name"], t["route"], t["timeout_class"], t["description"], t["input_schema"])
            for t in answer["tools"]
        ]
        self._tools = {tool.name: tool for tool in found}
        return found

    async def call(self, name: str, arguments: Mapping[str, Any], say: Say, use: str | None = None) -> Result:
        """What the model is told, whatever happens. When this is cancelled, so is the tool. `use` is the
        CLI's own id of this use of the tool."""
        try:
            if name not in self._tools:
                await self.tools()
            tool = self._tools.get(name)
            if tool is None:
                return Result(f"there is no tool {name!r} for {self._settings.agent}", True)
            return await self._call(tool, arguments, say, use)
        except ApiError as error:
            return Result(error.message, True)
        except NoDaemon as error:
            return Result(f"{error}; nothing was run. `agentd serve` starts one", True)
        except ClientError as error:
            return Result(f"{name}: {error}; nothing was run", True)
        except TimedOut as error:
            return Result(f"{error}; nothing was run", True)

    async def _call(self, tool: Tool, arguments: Mapping[str, Any], say: Say, use: str | None) -> Result:
        limit = self._limits[tool.timeout_class]
        try:
            with trio.move_on_after(limit) as scope:
                return await self._request(tool, arguments, say, use, scope)
        except Gone as error:
            # Not asked again: nobody knows how far the tool came.
            what = (
                f"by the daemon, which went away ({error}); the tool may have run, in part or to its end, "
                "and what still runs is ended when the daemon is back"
            )
            cancelled = Cancelled(
                Layer.MCPBRIDGE_HTTP, what, session=self._settings.agent, timeout_s=limit, tool=tool.name
            )
            return Result(str(cancelled), True)
        what = "the bridge's own limit for a call passed; the request was closed, and the tool was ended"
        timed_out = TimedOut(
            Layer.MCPBRIDGE_HTTP, what, session=self._settings.agent, timeout_s=limit, tool=tool.name
        )
        return Result(str(timed_out), True)

    async def _request(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        say: Say,
        use: str | None,
        limit: trio.CancelScope,
    ) -> Result:
        id = uuid.uuid4().hex
        path = f"/v1/tools/{tool.route}/{tool.name}"
        result: Result | None = None
        headers = {"Agentd-Call": id, **({"Agentd-Tool-Use": use} if use else {})}
        async with self._asker.post(path, arguments, headers) as events:
            try:
                async for name, data in events:
                    if name == "progress":
                        await say(data["progress"], data["total"], data["message"])
                    elif name == "result":
                        result = Result(data["text"], data["is_error"])
            except Gone:
                if result is None:
                    raise
            except trio.Cancelled:
                # Before the request is closed.
                late = trio.current_time() >= limit.deadline
                await self._last_word(id, Layer.MCPBRIDGE_HTTP if late else Layer.PROVIDER_MCP)
                raise
        if result is None:
            raise Gone("its answer ended without a result")
        return result

    async def _last_word(self, id: str, layer: Layer) -> None:
        with trio.move_on_after(LAST_WORD_S, shield=True):
            try:
                await self._asker.ask("DELETE", f"/v1/tools/calls/{id}?layer={layer}")
            except ClientError:
                pass  # Closing the request says the rest.
