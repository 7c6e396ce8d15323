"""Codex at a release, run against the scripted model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from agentd.testing.conformance import Backstop, Subject

from .install import install

PROVIDER = """
model = "scripted"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "workspace-write"

# A session that is killed in a command leaves empty folders (.git, .codex) where it could write.
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[model_providers.scripted]
name = "scripted"
base_url = "MODEL/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 1
"""


def setup(release: str, url: str, root: Path) -> str:
    """The user's own configuration, and agentd's."""
    (root / "home" / ".codex").mkdir(exist_ok=True)
    (root / "home" / ".codex" / "config.toml").write_text(PROVIDER.replace("MODEL", url))
    return f"""
[adapters.codex]
command = [{json.dumps(str(install(release).path))}]

[adapters.codex.env]
SCRIPTED_KEY = "dummy"

[trust]
workspaces = ["{root}/work"]
"""


def asking(path: Path) -> str:
    call = {"cmd": f"touch {path}", "sandbox_permissions": "require_escalated", "justification": "a test"}
    return f"@tool exec_command {json.dumps(call)}"


def repository(place: Path) -> None:
    subprocess.run(["git", "init", "-q", str(place)], check=True)


def subject(release: str) -> Subject:
    return Subject(
        provider="codex",
        setup=lambda url, root: setup(release, url, root),
        asking_tool=asking,
        trust_dialog=repository,
        leave="/quit",
        cli_writes=frozenset({"config.toml"}),
        longest=900_000,
        steers_text=frozenset({"joined"}),
        allow=allow,
        add_server=add_server,
        backstop=Backstop("timed out awaiting tools/call after", progress=False),
    )


def allow(root: Path, tool: str) -> None:
    """In agentd's config: in Codex's own this would be a server without a command, where agentd adds none."""
    config = root / "config.toml"
    args = json.dumps(["-c", 'mcp_servers.api-bridge.default_tools_approval_mode="approve"'])
    table = "[adapters.codex]\n"
    config.write_text(config.read_text().replace(table, f"{table}args = {args}\n"))


def configure(root: Path, more: str) -> None:
    with (root / "home" / ".codex" / "config.toml").open("a") as file:
        file.write(more)


def add_server(root: Path, command: Sequence[str]) -> str:
    argv = f"command = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}\n"
    configure(root, f'\n[mcp_servers.mine]\n{argv}default_tools_approval_mode = "approve"\n')
    return "mcp__mine__ping"
