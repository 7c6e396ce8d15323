"""The layers of the contract, and the errors that name them.

Every timeout and every cancellation names the layer that fired, the tool, the session and the
configured value, in the same one-line form wherever it is shown: to a person, a model or a log.
"""

from __future__ import annotations

from enum import StrEnum

from agentd.contract.durations import format_duration


class Layer(StrEnum):
    """Who owns a limit. The values are the ids of the timeout contract."""

    WORKFLOW = "workflow"
    PROVIDER_MCP = "provider_mcp"
    MCPBRIDGE_HTTP = "mcpbridge_http"
    TOOL_EXECUTION = "tool_execution"
    IDLE_RETENTION = "idle_retention"
    PROMPT_READINESS = "prompt_readiness"
    SUBAGENT_IDLE = "subagent_idle"
    SUBAGENT_DURATION = "subagent_duration"


class LayeredError(Exception):
    """A limit or a cancellation of one layer.

    Attributes:
        layer: whose limit it is.
        what: what happened (a timeout) or by whom (a cancellation), in plain words.
        tool: the tool's name, or None where there is none.
        session: the agent's name.
        timeout_s: the configured value in seconds, or None where the layer has no limit.
    """

    code = "ERROR"

    def __init__(
        self, layer: Layer, what: str, *, session: str, timeout_s: float | None, tool: str | None = None
    ) -> None:
        super().__init__(what)
        self.layer = layer
        self.what = what
        self.tool = tool
        self.session = session
        self.timeout_s = timeout_s

    def __str__(self) -> str:
        timeout = "none" if self.timeout_s is None else format_duration(self.timeout_s)
        return (
            f"{self.code} layer={self.layer} tool={self.tool or '-'} "
            f"session={self.session} timeout={timeout}: {self.what}"
        )


class TimedOut(LayeredError):
    """A layer's limit fired."""

    code = "TIMEOUT"


class Cancelled(LayeredError):
    """Somebody ended the work before its limit; `what` says who."""

    code = "CANCELLED"
