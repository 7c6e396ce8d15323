"""The timeout contract: its numbers, its durations, its errors."""

from __future__ import annotations

import pytest

from agentd.contract import (
    Cancelled,
    DurationError,
    Layer,
    Policy,
    Readiness,
    TimedOut,
    format_duration,
    parse_duration,
    tool_timeout,
)
from agentd.contract.policy import NativeSetting
from agentd.model import Failure

MINUTES, HOURS = 60.0, 3600.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5400.0),
        ("1h30m", 5400.0),
        ("5400s", 5400.0),
        ("750ms", 0.75),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("1h1m1s", 3661.0),
        ("0", 0.0),
        ("+3s", 3.0),
        ("-3s", -3.0),
        ("100us", 0.0001),
        ("100µs", 0.0001),
        ("5ns", 5e-9),
        (" 3s ", 3.0),
    ],
)
def test_durations_as_go_writes_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "90", "m", "1x", "1h 30m", "--3s", "1e3s", "٣s", "s3", "inf", "1d", "+", "9" * 2_000_000 + "h"],
    ids=lambda text: text[:9],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(DurationError, match="write it like 90m, 1h30m, 45s or 750ms"):
        parse_duration(text)


@pytest.mark.parametrize(
    "text", ["9" * 400 + "h", "-" + "9" * 400 + "h", "9" * 15 + "s", "1ns" + "9" * 20 + "ms"]
)
def test_no_duration_is_without_end(text: str) -> None:
    with pytest.raises(DurationError, match=r"longer than any duration may be \(292 years\)") as caught:
        parse_duration(text)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5400, "1h30m"),
        (0.75, "750ms"),
        (0, "0s"),
        (61.5, "1m1.5s"),
        (-90, "-1m30s"),
        (3600, "1h"),
        (45, "45s"),
    ],
)
def test_durations_are_written_in_the_same_form(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert parse_duration(text) == seconds


def test_every_error_names_layer_tool_session_and_value() -> None:
    error = TimedOut(Layer.TOOL_EXECUTION, "it ran too long", session="a", timeout_s=5400.0, tool="shell")
    assert str(error) == ("TIMEOUT layer=tool_execution tool=shell session=a timeout=1h30m: it ran too long")
    gone = Cancelled(Layer.WORKFLOW, "by a person", session="a", timeout_s=None)
    assert str(gone) == "CANCELLED layer=workflow tool=- session=a timeout=none: by a person"
    assert Failure.of(error).public() == {
        "layer": "tool_execution",
        "code": "timeout",
        "message": str(error),
        "tool": "shell",
        "session": "a",
        "timeout_s": 5400.0,
    }


def test_the_numbers_of_the_contract() -> None:
    policy = Policy()
    assert policy.mcp.value_s == policy.tool_execution.value_s == 90 * MINUTES
    assert (policy.bridge_ordinary_s, policy.bridge_long_running_s) == (5 * MINUTES, 90 * MINUTES)
    assert policy.retention_s == 3 * HOURS
    assert policy.readiness_for("claude-code") == Readiness(inactivity=5 * MINUTES)
    assert policy.readiness_for("codex") == Readiness(inactivity=10 * MINUTES, absolute=90 * MINUTES)
    assert policy.readiness_for("cursor") == policy.readiness_for("pi") == Readiness(absolute=5 * MINUTES)


@pytest.mark.parametrize(
    "text", ["0", "-5m", "soon", "", "90", "9" * 400 + "h", "0." + "0" * 400 + "1s", "2147483648ms", "600h"]
)
def test_the_last_guard_can_not_be_switched_off_by_accident(text: str) -> None:
    found = tool_timeout({"V": text}, "V", 5400.0)
    assert found.value_s == 5400.0
    assert found.warning and "1h30m is used" in found.warning and len(found.warning) < 200


def test_the_longest_limit_fits_every_cli() -> None:
    found = tool_timeout({"V": "2147483647ms"}, "V", 5400.0)
    assert found.warning is None
    assert NativeSetting("X", "ms").value(found.value_s) == 2**31 - 1


def test_variables_set_the_shared_values() -> None:
    policy = Policy.from_environment(
        {"CODING_AGENT_MCP_TOOL_TIMEOUT": "750ms", "TOOL_EXECUTION_TIMEOUT": "x"}
    )
    assert (policy.mcp.value_s, policy.mcp.source) == (0.75, "environment CODING_AGENT_MCP_TOOL_TIMEOUT")
    [warning] = policy.warnings
    assert warning.startswith("TOOL_EXECUTION_TIMEOUT='x': ")


def test_each_cli_gets_its_own_unit() -> None:
    assert NativeSetting("X", "ms").value(5400.0) == 5_400_000
    assert NativeSetting("x", "s").value(5400.0) == 5400
    assert NativeSetting("x", "s").value(0.75) == 0.75


def test_the_matrix_has_every_layer_and_writes_nothing_where_nothing_is_documented() -> None:
    entries = list(Policy().matrix({"claude-code": NativeSetting("IDLE", "ms"), "cursor": None}))
    rows = {(e.layer, e.provider, e.setting): (e.value_s, e.unit) for e in entries}
    assert rows[("workflow", "claude-code", None)] == (None, None)
    assert rows[("provider_mcp", "claude-code", "IDLE")] == (5400.0, "ms")
    assert rows[("provider_mcp", "cursor", None)] == (None, None)
    assert rows[("prompt_readiness", "claude-code", "inactivity")] == (300.0, "s")
    assert rows[("prompt_readiness", "cursor", "absolute")] == (300.0, "s")
    shared = {e.layer for e in entries if e.provider == "*"}
    assert shared == {"mcpbridge_http", "tool_execution", "idle_retention"}


def test_the_config_overrides_readiness() -> None:
    policy = Policy.from_environment({}, readiness={"pi": (Readiness(inactivity=7.0), "config")})
    assert policy.readiness_for("pi") == Readiness(inactivity=7.0)
    [entry] = [e for e in policy.matrix({"pi": None}) if e.layer == "prompt_readiness"]
    assert (entry.value_s, entry.source) == (7.0, "config")
