"""How Claude Code is started: settings with our hooks beside the user's own, and a clean environment.

Nothing of the user's is edited: `--settings` adds a layer of settings, whose hooks run beside the
user's and the project's.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from agentd.adapter import BridgeCommand, Launch, LaunchRequest
from agentd.contract.policy import NativeSetting

SERVER = "api-bridge"
IDLE_TIMEOUT = "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"
"""Milliseconds; from 2.1.191. Checked every 30 s."""
AUTO_BACKGROUND = "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS"
"""0 keeps a call in its turn; by default it leaves the turn, and ends it, after two minutes."""

OUTER_VARIABLES = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_PID",
)  # fmt: skip
"""What an outer Claude Code leaves behind; some of it switches transcripts off."""

HOOK_TIMEOUT_S = 10
"""The hook program takes about 15 ms; the CLI's turn waits for it."""


def launch(request: LaunchRequest, native: NativeSetting | None) -> Launch:
    """The start of a new session, or of an old one's continuation."""
    settings = request.folder / "claude-settings.json"
    files = {settings: json.dumps(_settings(request), indent=1)}
    argv = [*request.program.argv]
    if request.bridge:
        # Beside the user's own servers. The flag takes words until the next flag comes.
        servers = request.folder / "claude-mcp.json"
        files[servers] = json.dumps({"mcpServers": {SERVER: _server(request.bridge)}}, indent=1)
        argv += ["--mcp-config", str(servers)]
    argv += ["--settings", str(settings)]
    session = request.resume or request.new_session
    if request.resume:
        argv += ["--resume", request.resume]
    elif request.new_session:
        argv += ["--session-id", request.new_session]
    if request.model:
        argv += ["--model", request.model]
    env = {AUTO_BACKGROUND: "0"}
    if native:
        env[native.name] = str(native.value(request.policy.mcp.value_s))
    follow = {"transcript": transcript(request, session)} if session else {}
    return Launch(
        argv=(*argv, *request.args),
        env=env,
        files=files,
        follow=follow,
        session_id=session,
        await_bridge=True,
    )


def _settings(request: LaunchRequest) -> dict[str, Any]:
    hook = {"type": "command", "command": shlex.join(request.hook), "timeout": HOOK_TIMEOUT_S}
    return {
        # Inline, with scrollback to look back in; older releases ignore the key.
        "tui": "default",
        "hooks": {event: [{"hooks": [hook]}] for event in request.program.facts.get("hooks", ())},
    }


def _server(bridge: BridgeCommand) -> dict[str, Any]:
    return {
        "type": "stdio",
        "command": bridge.argv[0],
        "args": list(bridge.argv[1:]),
        "env": dict(bridge.env),
        # By default the model finds a server's tools by a search only.
        "alwaysLoad": True,
    }


def transcript(request: LaunchRequest, session: str) -> Path:
    """Where the session's transcript will be; the first hook names it, and wins."""
    base = request.environment.get("CLAUDE_CONFIG_DIR")
    folder = Path(base) if base else request.home / ".claude"
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(request.cwd))
    return folder / "projects" / slug / f"{session}.jsonl"
