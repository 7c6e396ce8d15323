"""The timeout contract as data: durations, layers, layered errors, the values in force.

Several independent timeout layers, each with its own owner and its own recovery. They are never
folded into one "agent timeout". Everything here is pure: no clock, no files, no network.
"""

from agentd.contract.durations import DurationError, format_duration, parse_duration
from agentd.contract.layers import Cancelled, Layer, LayeredError, TimedOut
from agentd.contract.policy import Entry, Policy, Readiness, ToolTimeout, tool_timeout

__all__ = [
    "Cancelled",
    "DurationError",
    "Entry",
    "Layer",
    "LayeredError",
    "Policy",
    "Readiness",
    "TimedOut",
    "ToolTimeout",
    "format_duration",
    "parse_duration",
    "tool_timeout",
]
