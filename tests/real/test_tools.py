"""Tools through the actual bridge, called by each real CLI that has MCP, with the native timeouts."""

from __future__ import annotations

import pytest

from agentd.testing.conformance import Bench, ToolConformance
from agentd.testing.conformance.tools import call
from agentd.testing.scenario import TOOL

from . import claude_code, codex, pi


@pytest.mark.xdist_group("claude-code-tools")
class TestClaudeCode(ToolConformance):
    subject = claude_code.subject("claude-code")

    def test_the_tool_is_offered_directly(self, bench: Bench) -> None:
        bench.say(call("echo up"))
        asked = next(r for r in bench.model.requests if r.body.get("tools"))
        assert f"mcp__api-bridge__{TOOL}" in [tool["name"] for tool in asked.body["tools"]]


@pytest.mark.xdist_group("claude-code-tools")
class TestClaudeCode2x1x160(ToolConformance):
    subject = claude_code.subject("claude-code-2.1.160")
    test_a_tiny_backstop_is_the_clis_own = None  # a minute long, and the same in the newest


@pytest.mark.xdist_group("codex-tools")
class TestCodex(ToolConformance):
    subject = codex.subject("codex")


@pytest.mark.xdist_group("pi-tools")
class TestPi(ToolConformance):
    subject = pi.subject("pi")
