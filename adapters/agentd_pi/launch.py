"""How Pi is started: with our extension, in its inline screen, and with the session to go on with.

Nothing of the user's is edited: the extension is named on the command line, and the MCP server is
registered by it for this process alone.
"""

from __future__ import annotations

import json
from pathlib import Path

from agentd.adapter import BridgeCommand, Launch, LaunchRequest
from agentd.contract.policy import NativeSetting

EXTENSION = Path(__file__).with_name("extension.ts")
SERVER = "api-bridge"
SPOOL, MCP, HANDLE = "AGENTD_PI_SPOOL", "AGENTD_PI_MCP", "AGENTD_PI_HANDLE"

OUTER_VARIABLES = (
    "PI_CODING_AGENT", "AI_AGENT", "PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL",
    "PI_REASONING_LEVEL", SPOOL, MCP, HANDLE,
)  # fmt: skip
"""What an outer Pi leaves behind; none of it is this one's."""


def launch(request: LaunchRequest, native: NativeSetting | None) -> Launch:
    """The start of a new session, or of an old one's continuation."""
    program = request.program
    argv = [*program.argv, "--extension", str(EXTENSION)]
    env = {SPOOL: str(request.spool)}
    session = request.resume
    if not program.knows("--session-id"):
        # Such a release (before 0.76) goes on with a file even if no answer has come to write in it yet,
        # but not with the id: so the file is the session's handle.
        env[HANDLE] = "file"
    elif session is None:
        session = request.new_session
    if session and program.knows("--session-id") and "/" not in session:
        argv += ["--session-id", session]
    elif session:
        argv += ["--session", session]
    if request.model:
        argv += ["--model", request.model]
    if program.knows("--tui-mode"):
        # Inline, with scrollback to look back in.
        argv += ["--tui-mode", "regular"]
    if request.bridge:
        env[MCP] = json.dumps(
            {"name": SERVER, "config": _server(request.bridge, request, program.documented(native))}
        )
    return Launch(
        argv=(*argv, *request.args),
        env=env,
        session_id=session,
        # It waits for a server with direct tools by itself, but no longer than 10 s.
        await_bridge=program.knows("--no-mcp"),
    )


def _server(bridge: BridgeCommand, request: LaunchRequest, native: NativeSetting | None) -> dict[str, object]:
    config: dict[str, object] = {
        "command": bridge.argv[0],
        "args": list(bridge.argv[1:]),
        "env": dict(bridge.env),
        # By default the model reaches a server's tools through scripts only.
        "exposure": "direct",
    }
    if native:
        config[native.name] = native.value(request.policy.mcp.value_s)
    return config
