"""How Codex is started: with overrides on the command line, so that nothing of the user's is edited.

Any `-c` keeps Codex in a process of its own. Without one, releases from 0.157 start a daemon that
outlives them and holds the rollout, outside the pane. Approval policy, sandbox and trust are the user's:
none of them is set here. Hooks would need `--dangerously-bypass-hook-trust`, which lets the user's and
the project's unreviewed hooks run too, so there are none; the rollout, `notify` and the raw output need
no trust.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from agentd.adapter import BridgeCommand, Launch, LaunchRequest
from agentd.contract.policy import NativeSetting

SERVER = "mcp_servers.api-bridge"
TOOL_TIMEOUT = f"{SERVER}.tool_timeout_sec"
"""Seconds; the whole call, whatever progress it reports. Codex's default is 300."""
STARTUP_S = 60
"""The bridge is up within a second. A required server that isn't up in time ends Codex with status 1."""

OUTER_VARIABLES = (
    "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_SESSION_ID",
    "CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_BY_BUN", "CODEX_MANAGED_PACKAGE_ROOT",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE", "CODEX_TUI_RECORD_SESSION", "CODEX_TUI_SESSION_LOG_PATH",
)  # fmt: skip
"""What an outer Codex leaves behind in the commands that it runs."""


def launch(request: LaunchRequest, native: NativeSetting | None) -> Launch:
    """The start of a new session, or of an old one's continuation (in the same rollout file)."""
    argv = [*request.program.argv]
    if request.resume:
        argv += ["resume", request.resume]
    argv += [flag for flag in ("--no-daemon", "--no-alt-screen") if request.program.knows(flag)]
    notify = (sys.executable, "-I", "-S", str(Path(__file__).with_name("notify.py")), *request.hook)
    settings: dict[str, Any] = {"check_for_update_on_startup": False, "notify": notify}
    if request.bridge:
        settings[SERVER] = _server(request.bridge, request, native)
    for name, value in settings.items():
        argv += ["-c", f"{name}={toml(value)}"]
    if request.model:
        argv += ["--model", request.model]
    return Launch(
        argv=(*argv, *request.args),
        session_id=request.resume,
        output=True,
        search=True,
    )


def _server(bridge: BridgeCommand, request: LaunchRequest, native: NativeSetting | None) -> dict[str, Any]:
    """The MCP server's table. Codex hands it no other environment than the one named here."""
    table: dict[str, Any] = {
        "command": bridge.argv[0],
        "args": bridge.argv[1:],
        "env": bridge.env,
        # The first prompt waits for it, instead of finding its tools missing.
        "required": True,
        "startup_timeout_sec": STARTUP_S,
    }
    if native:
        table[native.name.rpartition(".")[2]] = native.value(request.policy.mcp.value_s)
    return table


def toml(value: Any) -> str:
    """A value as inline TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str():
            return '"' + "".join(_escaped(character) for character in value) + '"'
        case list() | tuple():
            return "[" + ",".join(map(toml, value)) + "]"
        case _:
            return "{" + ",".join(f"{toml(str(k))}={toml(v)}" for k, v in value.items()) + "}"


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\u{ord(character):04x}" if character < " " or character == "\x7f" else character
