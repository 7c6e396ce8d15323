"""The tool calls that run at the moment, by agent: so that what ends an agent's work ends its tools too.

Cancelling is authoritative: it ends the call's scope, and the tool takes everything below it along.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import trio

from agentd.contract import Layer


@dataclass(frozen=True)
class Cancellation:
    """Who ended a call before its end: the layer, and in plain words. `hold_s` is how long the answer is
    kept back (the work is not): the CLI shall hear its own key first."""

    layer: Layer
    by: str
    hold_s: float = 0.0


@dataclass(eq=False)
class Running:
    """One call."""

    id: str
    agent: str
    tool: str
    use: str | None = None
    """The CLI's own id of this use of the tool, where it told one."""
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    cancellation: Cancellation | None = None
    ended: trio.Event = field(default_factory=trio.Event)

    def __repr__(self) -> str:
        how = f"cancelled {self.cancellation.by}" if self.cancellation else "runs"
        return f"<Running {self.tool} of {self.agent}: {how}>"

    def cancel(self, cancellation: Cancellation) -> None:
        """End it; the first one counts."""
        if self.cancellation is None:
            self.cancellation = cancellation
            self.scope.cancel(reason=cancellation.by)


class Calls:
    """All calls of this daemon."""

    def __init__(self) -> None:
        self._running: set[Running] = set()

    def __repr__(self) -> str:
        return f"<Calls: {len(self._running)} running>"

    @contextmanager
    def running(self, call: Running) -> Iterator[None]:
        """The call runs until the block is left: then nothing of the tool is there any more."""
        self._running.add(call)
        try:
            yield
        finally:
            self._running.discard(call)
            call.ended.set()

    def of(self, agent: str | None = None) -> list[Running]:
        """The calls of one agent, or of all."""
        return [call for call in self._running if agent is None or call.agent == agent]

    def cancel(
        self,
        agent: str | None,
        by: str,
        *,
        layer: Layer = Layer.TOOL_EXECUTION,
        call: str | None = None,
        hold_s: float = 0.0,
    ) -> int:
        """End the calls of an agent (of all without one), or one of them by its id. Returns how many."""
        found = [each for each in self.of(agent) if call is None or each.id == call]
        for each in found:
            each.cancel(Cancellation(layer, by, hold_s))
        return len(found)

    def given_up(self, agent: str, use: str) -> None:
        """The CLI's record says that this use of a tool is over. A call that still runs was given up by a CLI
        that doesn't say so to its server, as Claude Code does when its own limit passes."""
        for each in self.of(agent):
            if each.use == use:
                each.cancel(Cancellation(Layer.PROVIDER_MCP, "by the CLI, which gave the call up"))

    async def gone(self, agent: str | None = None) -> None:
        """Wait until none of these calls runs any more."""
        for call in self.of(agent):
            await call.ended.wait()
