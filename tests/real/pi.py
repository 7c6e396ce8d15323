"""Pi at a release (the newest runs on a newer Node.js), run against the scripted model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from agentd.testing.conformance import Backstop, Subject

from .install import install


def config(release: str) -> str:
    # The script itself, since the program's first line would take whatever `node` is on the PATH.
    command = [str(install("node").path), str(install(release).path.resolve())]
    return f"""
[adapters.pi]
command = {json.dumps(command)}
args = ["--model", "scripted/mock-1"]
env = {{ PI_OFFLINE = "1" }}

[trust]
workspaces = ["ROOT/work"]
"""


def subject(release: str) -> Subject:
    def setup(url: str, root: Path) -> str:
        agent = root / "home" / ".pi" / "agent"
        agent.mkdir(parents=True, exist_ok=True)
        provider = {
            "baseUrl": f"{url}/v1",
            "api": "openai-completions",
            "apiKey": "dummy",
            "models": [{"id": "mock-1"}],
        }
        (agent / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
        (agent / "settings.json").write_text(json.dumps({"retry": {"maxRetries": 1, "baseDelayMs": 1000}}))
        return config(release).replace("ROOT", str(root))

    def ask_for_trust(place: Path) -> None:
        (place / ".pi").mkdir(exist_ok=True)
        (place / ".pi" / "settings.json").write_text("{}")

    return Subject(
        provider="pi",
        setup=setup,
        cli_writes=frozenset({"settings.json", "auth.json"}),
        cut_outcomes=frozenset({"failed"}),
        steers_text=frozenset({"joined"}),
        trust_dialog=None if release == "pi-0.73.1" else ask_for_trust,
        leave="/quit",
        add_server=add_server,
        backstop=Backstop("MCP request timed out after {ms}ms"),
    )


def add_server(root: Path, command: Sequence[str]) -> str:
    server = {"command": command[0], "args": list(command[1:]), "exposure": "direct"}
    servers = json.dumps({"mcpServers": {"mine": server}})
    (root / "home" / ".pi" / "agent" / "mcp.json").write_text(servers)
    return "mcp__mine__ping"
