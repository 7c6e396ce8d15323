"""A call from beginning to end: its limit, its cancellation, and what is said about both.

Every timeout and every cancellation carries layer, tool, session and configured value: in the text that
the model sees, in the log, and as an event.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import trio

from agentd.agents.calls import Calls, Cancellation, Running
from agentd.contract import Cancelled, Layer, LayeredError, Policy, TimedOut
from agentd.model import Failure
from agentd.tools.registry import Call, Caller, Result, Say, Tool, ToolError

log = logging.getLogger(__name__)

Tell = Callable[[str, Mapping[str, Any]], None]
"""Publishes an event of kind `tool`: the agent, the data."""


class Execution:
    """Runs tools within the server's limit (layer `tool_execution`)."""

    def __init__(self, calls: Calls, policy: Callable[[], Policy], tell: Tell) -> None:
        self.calls = calls
        self._policy = policy
        self._tell = tell

    async def run(
        self,
        tool: Tool,
        caller: Caller,
        arguments: Mapping[str, Any],
        say: Say,
        *,
        id: str,
        use: str | None = None,
        provider_mcp_s: float | None = None,
    ) -> Result:
        """The call's result, whatever it is. `use` is the CLI's own id of this use of the tool,
        `provider_mcp_s` the limit that the CLI was given.

        When this task itself is cancelled, the client closed its request, and nobody is left to answer.
        """
        policy = self._policy()
        limit_s = policy.tool_execution.value_s
        limits = {
            Layer.TOOL_EXECUTION: limit_s,
            Layer.MCPBRIDGE_HTTP: tool.timeout_class.limit_s(policy),
            Layer.PROVIDER_MCP: provider_mcp_s,
        }
        call = Call(id, caller, tool.name, arguments, say)
        running = Running(id, caller.name, tool.name, use)
        self._tell(caller.name, {"tool": tool.name, "call": id, "status": "started"})
        result: Result | None = None
        try:
            with self.calls.running(running):
                with trio.move_on_after(limit_s) as limit, running.scope:
                    result = await self._one(tool, call)
                if result is None and running.cancellation:
                    result = self._ended(call, self._cancelled(call, running.cancellation, limits))
                elif result is None:
                    assert limit.cancelled_caught
                    what = "the server's limit for a tool passed; it was ended, with everything below it"
                    error = TimedOut(
                        Layer.TOOL_EXECUTION, what, session=caller.name, timeout_s=limit_s, tool=tool.name
                    )
                    result = self._ended(call, error)
            if running.cancellation and running.cancellation.hold_s:
                await trio.sleep(running.cancellation.hold_s)
        finally:
            if result is None:
                by = Cancellation(Layer.MCPBRIDGE_HTTP, "by the client, which closed its request")
                self._ended(call, self._cancelled(call, running.cancellation or by, limits))
        return result

    async def _one(self, tool: Tool, call: Call) -> Result:
        try:
            result = await tool.run(call)
        except LayeredError as error:
            return self._ended(call, error)
        except ToolError as error:
            result = Result(f"{tool.name}: {error}", is_error=True)
        except Exception as error:
            log.exception("%s: %s failed", call.caller.name, tool.name)
            result = Result(f"{tool.name} failed: {error!r}; see the daemon's log", is_error=True)
        status = "failed" if result.is_error else "done"
        self._tell(call.caller.name, {"tool": tool.name, "call": call.id, "status": status})
        return result

    def _ended(self, call: Call, error: LayeredError) -> Result:
        """A call that ended before its end: said to the log, as an event, and to the model."""
        log.warning("%s", error)
        status = "timed_out" if isinstance(error, TimedOut) else "cancelled"
        failure = Failure.of(error)
        self._tell(call.caller.name, {"call": call.id, "status": status, **failure.public()})
        so_far = call.so_far().rstrip("\n")
        return Result(f"{error}\n{so_far}" if so_far else str(error), is_error=True)

    @staticmethod
    def _cancelled(call: Call, by: Cancellation, limits: Mapping[Layer, float | None]) -> Cancelled:
        return Cancelled(
            by.layer, by.by, session=call.caller.name, timeout_s=limits.get(by.layer), tool=call.tool
        )
