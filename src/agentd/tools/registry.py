"""The tools by name: what each one is, and whether an agent may call it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from agentd.config import Config
from agentd.contract import Policy


class Route(StrEnum):
    """Where a tool is called: what runs something, and what asks about it."""

    CUSTOM = "custom"
    VIRTUAL = "virtual"


class TimeoutClass(StrEnum):
    """How long the bridge waits for an answer."""

    ORDINARY = "ordinary"
    LONG_RUNNING = "long-running"

    def limit_s(self, policy: Policy) -> float:
        """The bridge's limit (layer `mcpbridge_http`)."""
        return policy.bridge_ordinary_s if self is TimeoutClass.ORDINARY else policy.bridge_long_running_s


@dataclass(frozen=True)
class Caller:
    """The agent that calls."""

    name: str
    workspace: Path
    folder: Path
    """The agent's own 0700 folder."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What a command of a tool is started with."""


Say = Callable[[float, str], Awaitable[None]]
"""Tells real progress: a number that grows, and what the tool said."""


@dataclass
class Call:
    """One call while it runs. `so_far` is what a call that ends before its end has to show for it."""

    id: str
    caller: Caller
    tool: str
    arguments: Mapping[str, Any]
    say: Say
    so_far: Callable[[], str] = lambda: ""


@dataclass(frozen=True)
class Result:
    """What the model is told."""

    text: str
    is_error: bool = False


class ToolError(Exception):
    """The tool can't do it; the text is for the model."""


@dataclass(frozen=True)
class Tool:
    """One tool. `run` raises ToolError, or TimedOut for a limit of the caller's own; it ends what it
    started when it is cancelled."""

    name: str
    route: Route
    timeout_class: TimeoutClass
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[[Call], Awaitable[Result]] = field(repr=False)
    of_the_user: bool = False
    """Whether it is of the config: nobody knows what its schema may cost."""

    def public(self, policy: Policy) -> dict[str, Any]:
        """As `GET /v1/tools` shows it."""
        return {
            "name": self.name,
            "route": self.route,
            "timeout_class": self.timeout_class,
            "timeout_s": self.timeout_class.limit_s(policy),
            "description": self.description,
            "input_schema": dict(self.input_schema),
        }


class Registry:
    """The built-in tools and those of the config, which is asked each time: a change counts at once.

    A name in `[bridge] tools` that nothing implements is not offered.
    """

    def __init__(
        self,
        config: Callable[[], Config],
        built_in: Iterable[Tool],
        custom: Callable[[Config], Iterable[Tool]] = lambda _: (),
    ) -> None:
        self._config = config
        self._built_in = {tool.name: tool for tool in built_in}
        self._custom = custom

    def __repr__(self) -> str:
        return f"<Registry: {', '.join(self._known())}>"

    def _known(self) -> dict[str, Tool]:
        return {**{tool.name: tool for tool in self._custom(self._config())}, **self._built_in}

    def find(self, name: str, route: str) -> Tool | None:
        """The tool of that name on that route."""
        tool = self._known().get(name)
        return tool if tool and tool.route == route else None

    def enabled(self, tool: Tool, agent: str) -> bool:
        """Whether the agent may call it."""
        return tool.name in self._config().bridge_tools

    def offered(self, agent: str) -> list[Tool]:
        """The tools of one agent, in the config's order."""
        known = self._known()
        return [known[name] for name in dict.fromkeys(self._config().bridge_tools) if name in known]
