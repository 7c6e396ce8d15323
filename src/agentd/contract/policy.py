"""The values in force, where each came from, and how each CLI's own unit is written.

The numbers are those of the timeout contract; nothing else in the project repeats them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agentd.contract.durations import DurationError, format_duration, parse_duration
from agentd.contract.layers import Layer

MINUTE = 60.0
HOUR = 60 * MINUTE

MCP_TOOL_TIMEOUT = 90 * MINUTE
"""Row `provider_mcp`: the last backstop for a silent or stuck call."""
TOOL_EXECUTION_TIMEOUT = 90 * MINUTE
"""Row `tool_execution`."""
BRIDGE_ORDINARY = 5 * MINUTE
BRIDGE_LONG_RUNNING = 90 * MINUTE
"""Row `mcpbridge_http`."""
IDLE_RETENTION = 3 * HOUR
"""Row `idle_retention`."""
LONGEST_TOOL_TIMEOUT = (2**31 - 1) / 1000
"""The longest delay of a timer of Node, which several of the CLIs are written for: 24.8 days. Node documents
that a longer one fires after 1 ms, and does so (measured with 2**31 ms); what a CLI itself makes of a longer
limit, nobody measured."""

MCP_TOOL_TIMEOUT_VARIABLE = "CODING_AGENT_MCP_TOOL_TIMEOUT"
TOOL_EXECUTION_VARIABLE = "TOOL_EXECUTION_TIMEOUT"


@dataclass(frozen=True)
class Readiness:
    """How long a CLI may take until it is ready for a prompt; None means no such limit. In seconds.

    `inactivity` is re-armed by every sign of life, `absolute` by nothing. Both stand still while
    the agent waits for a person.
    """

    inactivity: float | None = None
    absolute: float | None = None


READINESS: Mapping[str, Readiness] = {
    "claude-code": Readiness(inactivity=5 * MINUTE),
    "codex": Readiness(inactivity=10 * MINUTE, absolute=90 * MINUTE),
    "cursor": Readiness(absolute=5 * MINUTE),
    "pi": Readiness(absolute=5 * MINUTE),
}
"""Row `prompt_readiness`."""
DEFAULT_READINESS = Readiness(inactivity=5 * MINUTE)
"""For a provider that the contract doesn't know."""


@dataclass(frozen=True)
class ToolTimeout:
    """A value read from the environment: seconds, its source, and a warning if it was unusable."""

    value_s: float
    source: str
    warning: str | None = None


def tool_timeout(environment: Mapping[str, str], variable: str, default_s: float) -> ToolTimeout:
    """Read one duration variable. Invalid, zero, negative or longer than a CLI's timer falls back to the
    default, with a warning: the final guard against a stuck call can't be switched off by accident (contract,
    `provider_mcp`)."""
    text = environment.get(variable)
    if text is None:
        return ToolTimeout(default_s, "default")
    try:
        value = parse_duration(text)
        problem = None if value > 0 else "must be more than zero"
        if value > LONGEST_TOOL_TIMEOUT:
            problem = (
                f"must be at most {format_duration(int(LONGEST_TOOL_TIMEOUT))}, the longest timer of Node"
            )
    except DurationError as error:
        value, problem = 0.0, str(error)
    if problem is None:
        return ToolTimeout(value, f"environment {variable}")
    shown = text if len(text) <= 40 else text[:40] + "…"
    warning = f"{variable}={shown!r}: {problem}; {format_duration(default_s)} is used"
    return ToolTimeout(default_s, f"default ({variable} is unusable)", warning)


@dataclass(frozen=True)
class NativeSetting:
    """The MCP limit that a CLI documents: the setting's name, its unit (`ms` or `s`), for the whole call
    or for its silence, as that CLI defines it."""

    name: str
    unit: str

    def value(self, seconds: float) -> int | float:
        """The contract's seconds in the CLI's own unit; whole numbers stay whole."""
        converted = seconds * 1000 if self.unit == "ms" else seconds
        return int(converted) if converted == int(converted) else converted


@dataclass(frozen=True)
class Entry:
    """One line of the matrix that `agentd timeouts` prints."""

    layer: str
    provider: str
    value_s: float | None
    unit: str | None
    setting: str | None
    owner: str
    source: str


@dataclass(frozen=True)
class Policy:
    """Every limit in force."""

    mcp: ToolTimeout = ToolTimeout(MCP_TOOL_TIMEOUT, "default")
    tool_execution: ToolTimeout = ToolTimeout(TOOL_EXECUTION_TIMEOUT, "default")
    bridge_ordinary_s: float = BRIDGE_ORDINARY
    bridge_long_running_s: float = BRIDGE_LONG_RUNNING
    retention_s: float = IDLE_RETENTION
    retention_source: str = "default"
    readiness: Mapping[str, tuple[Readiness, str]] = field(default_factory=dict)
    """Overrides from the config: provider to (limits, source)."""

    @classmethod
    def from_environment(
        cls,
        environment: Mapping[str, str],
        *,
        retention: tuple[float, str] = (IDLE_RETENTION, "default"),
        readiness: Mapping[str, tuple[Readiness, str]] | None = None,
    ) -> Policy:
        """The policy that the environment and the config ask for."""
        return cls(
            mcp=tool_timeout(environment, MCP_TOOL_TIMEOUT_VARIABLE, MCP_TOOL_TIMEOUT),
            tool_execution=tool_timeout(environment, TOOL_EXECUTION_VARIABLE, TOOL_EXECUTION_TIMEOUT),
            retention_s=retention[0],
            retention_source=retention[1],
            readiness=readiness or {},
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(w for w in (self.mcp.warning, self.tool_execution.warning) if w)

    def readiness_for(self, provider: str) -> Readiness:
        return self._readiness(provider)[0]

    def _readiness(self, provider: str) -> tuple[Readiness, str]:
        return self.readiness.get(provider) or (READINESS.get(provider, DEFAULT_READINESS), "default")

    def matrix(self, providers: Mapping[str, NativeSetting | None]) -> Iterator[Entry]:
        """The whole contract, one entry a rule; `providers` maps each one to its documented MCP setting."""
        for provider, native in providers.items():
            yield Entry(
                Layer.WORKFLOW, provider, None, None, None, "the caller", "none: the caller sets a deadline"
            )
            if native:
                yield Entry(
                    Layer.PROVIDER_MCP,
                    provider,
                    self.mcp.value_s,
                    native.unit,
                    native.name,
                    "the CLI",
                    self.mcp.source,
                )
            else:
                yield Entry(
                    Layer.PROVIDER_MCP, provider, None, None, None, "the CLI", "the CLI documents no setting"
                )
            limits, source = self._readiness(provider)
            for rule, value in (("inactivity", limits.inactivity), ("absolute", limits.absolute)):
                if value is not None:
                    yield Entry(Layer.PROMPT_READINESS, provider, value, "s", rule, "the adapter", source)
        yield Entry(
            Layer.MCPBRIDGE_HTTP, "*", self.bridge_ordinary_s, "s", "ordinary", "agentd bridge", "default"
        )
        yield Entry(
            Layer.MCPBRIDGE_HTTP,
            "*",
            self.bridge_long_running_s,
            "s",
            "long-running",
            "agentd bridge",
            "default",
        )
        yield Entry(
            Layer.TOOL_EXECUTION,
            "*",
            self.tool_execution.value_s,
            "s",
            TOOL_EXECUTION_VARIABLE,
            "the daemon",
            self.tool_execution.source,
        )
        yield Entry(
            Layer.IDLE_RETENTION,
            "*",
            self.retention_s,
            "s",
            "retention.idle",
            "the adapter's owner task",
            self.retention_source,
        )
