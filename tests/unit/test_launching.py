"""What an agent's CLI was given at its start is known as long as it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentd.adapter import Program
from agentd.agents.launching import CliLauncher
from agentd.agents.life import Life, Records
from agentd.config import Config
from agentd.contract import Policy
from agentd.contract.policy import NativeSetting
from agentd.environment import Programs
from agentd.store import AgentRow
from agentd.testing.terminal import FakeTerminal
from tests.unit.story import Tiny
from tests.unit.test_owner import StillWatcher

VARIABLE = "CODING_AGENT_MCP_TOOL_TIMEOUT"


class Limited(Tiny):
    """An adapter whose CLI documents a limit, in the releases that have MCP."""

    def __init__(self, native: NativeSetting | None, facts: Mapping[str, Any]) -> None:
        super().__init__()
        self.native_timeout = native
        self._facts = facts

    def examine(self, program: Program) -> Mapping[str, Any]:
        return self._facts


@pytest.mark.parametrize(
    ("native", "facts", "limit"),
    [
        (NativeSetting("timeout", "s"), {}, 2700.0),
        (NativeSetting("timeout", "s"), {"mcp": True}, 2700.0),
        (NativeSetting("timeout", "s"), {"mcp": False}, None),
        (None, {}, None),
    ],
    ids=["documented", "in this release", "not in this release", "not documented"],
)
async def test_the_limit_that_a_cli_was_given(
    tmp_path: Path, native: NativeSetting | None, facts: Mapping[str, Any], limit: float | None
) -> None:
    program = tmp_path / "tiny"
    program.write_text("#!/bin/sh\necho 1.0\n")
    program.chmod(0o755)
    adapter = Limited(native, facts)
    launcher = CliLauncher(
        {"tiny": adapter},
        FakeTerminal(),
        Programs(tmp_path / "programs.json", {"PATH": f"{tmp_path}:/usr/bin:/bin"}),
        Config,
        lambda: Policy.from_environment({VARIABLE: "45m"}),
        tmp_path / "agentd.sock",
        lambda agent: ("greet",),
    )
    life = Life(AgentRow("a", "tag", "tiny", str(tmp_path), None, 0.0), tmp_path / "a")
    await launcher.launch(life, Records(life, adapter, StillWatcher(), print), None)
    assert life.mcp_timeout_s == limit
    stored = json.loads(json.dumps(life.to_json()))
    assert Life.load(replace(life.row, life=stored), life.folder).mcp_timeout_s == limit, (
        "a next daemon knows"
    )
