"""Claude Code at a release, run against the scripted model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from agentd.testing.conformance import Backstop, Subject

from .install import install


def setup(release: str, url: str, root: Path) -> str:
    """What the user's own first run and settings would have written, and the config."""
    home = root / "home"
    repository(root / "work")
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}))
    permissions = {"allow": ["Bash(python3:*)", "Bash(echo:*)"]}
    (home / ".claude" / "settings.json").write_text(json.dumps({"permissions": permissions}))
    return f"""
[adapters.claude-code]
command = [{json.dumps(str(install(release).path))}]
args = ["--permission-mode", "default"]

[adapters.claude-code.env]
ANTHROPIC_BASE_URL = "{url}"
ANTHROPIC_AUTH_TOKEN = "dummy"
CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"
DISABLE_AUTOUPDATER = "1"
CLAUDE_CODE_MAX_RETRIES = "2"

[trust]
workspaces = ["{root}/work"]
"""


def repository(place: Path) -> None:
    """Trust is given to a repository's root: each folder here is one, whatever lies above it."""
    subprocess.run(["git", "init", "-q", str(place)], check=True)


def subject(release: str) -> Subject:
    return Subject(
        provider="claude-code",
        setup=lambda url, root: setup(release, url, root),
        cli_writes=frozenset({".claude.json"}),
        asking_tool=lambda path: f"@bash touch {path}",
        trust_dialog=repository,
        allow=lambda root, tool: allow(root, f"mcp__api-bridge__{tool}"),
        add_server=add_server,
        backstop=Backstop("no response or progress", every_s=30),
    )


def allow(root: Path, tool: str) -> None:
    path = root / "home" / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    settings["permissions"]["allow"].append(tool)
    path.write_text(json.dumps(settings))


def add_server(root: Path, command: Sequence[str]) -> str:
    path = root / "home" / ".claude.json"
    server = {"type": "stdio", "command": command[0], "args": command[1:], "alwaysLoad": True}
    path.write_text(json.dumps({**json.loads(path.read_text()), "mcpServers": {"mine": server}}))
    allow(root, "mcp__mine__ping")
    return "mcp__mine__ping"
