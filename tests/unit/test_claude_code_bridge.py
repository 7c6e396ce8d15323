"""How Claude Code is told of the bridge."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from agentd.adapter import BridgeCommand, LaunchRequest, Program
from agentd.contract import Policy
from agentd_claude_code import ClaudeCode

BRIDGE = BridgeCommand(
    ("python", "-m", "agentd.bridge"), {"AGENTD_TOKEN_FILE": "/f/token", "AGENTD_AGENT": "a"}
)
REQUEST = LaunchRequest(
    agent="a",
    program=Program(("claude",), "2.1.332 (Claude Code)", ""),
    cwd=Path("/w"),
    folder=Path("/f"),
    hook=("hook",),
    spool=Path("spool"),
    policy=Policy(),
    home=Path("/h"),
    environment={},
    new_session="s1",
    args=("--permission-mode", "default"),
    bridge=BRIDGE,
)


def test_a_file_names_it_beside_the_users_own_servers() -> None:
    launch = ClaudeCode().launch(REQUEST)
    file = Path("/f/claude-mcp.json")
    at = launch.argv.index("--mcp-config")
    assert launch.argv[at + 1] == str(file)
    assert launch.argv[at + 2].startswith("--"), "the flag would take the next word too"
    assert "--strict-mcp-config" not in launch.argv
    assert json.loads(launch.files[file]) == {
        "mcpServers": {
            "api-bridge": {
                "type": "stdio",
                "command": "python",
                "args": ["-m", "agentd.bridge"],
                "env": dict(BRIDGE.env),
                "alwaysLoad": True,
            }
        }
    }


def test_the_first_prompt_waits_for_it_and_a_call_stays_in_its_turn() -> None:
    launch = ClaudeCode().launch(REQUEST)
    assert launch.await_bridge
    assert launch.env["CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"] == "5400000"
    assert launch.env["CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS"] == "0"


def test_without_a_bridge_nothing_is_said() -> None:
    launch = ClaudeCode().launch(replace(REQUEST, bridge=None))
    assert "--mcp-config" not in launch.argv
    assert [path.name for path in launch.files] == ["claude-settings.json"]
