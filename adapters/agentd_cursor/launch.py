"""How Cursor's CLI is started, and what it needs in the workspace meanwhile.

No flag sets a policy: trust, `--force`, `--approve-mcps`, the sandbox and `cli.json` are the user's. No
prompt is given on the command line: some saw it run, others saw it stay unsent.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from agentd.adapter import BridgeCommand, Launch, LaunchRequest
from agentd_cursor import hook
from agentd_cursor.merge import Entry
from agentd_cursor.workspace import Wanted, WorkspaceError

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

EVENTS = (
    "sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "postToolUseFailure",
    "afterAgentResponse", "stop", "sessionEnd",
)  # fmt: skip
"""The hook events that are read, and no more: one name that a build doesn't know drops the whole file."""
HOOK_TIMEOUT_S = 10
"""Seconds. The hook program takes about 15 ms; the CLI's turn waits for it."""
HOOKS_HEAD = {"version": 1}
"""Without it Cursor drops the file."""

BRIDGE = "api-bridge"

OUTER_VARIABLES = (
    "CI", "CI_NAME", "CI_JOB_ID", "CI_PIPELINE_ID", "CI_COMMIT_SHA", "CONTINUOUS_INTEGRATION",
    "BUILD_NUMBER", "GITHUB_ACTIONS", "GITLAB_CI",
    "CURSOR_AGENT", "CURSOR_CONVERSATION_ID", "CURSOR_TRACE_ID", "CURSOR_INVOKED_AS",
    hook.SPOOL,
)  # fmt: skip
"""The first change what the CLI draws, as `TERM=dumb` would (agentd sets TERM itself); the others an outer
Cursor's shell leaves behind."""


def launch(request: LaunchRequest) -> Launch:
    """The start of a new chat, or of an old one's continuation. `--continue` would take whichever chat is
    newest, so it is never used; an id that is no UUID names no chat."""
    argv = [*request.program.argv]
    session = request.resume if request.resume and UUID.fullmatch(request.resume) else None
    if session:
        argv += ["--resume", session]
    if request.model:
        argv += ["--model", request.model]
    if request.program.knows("--workspace"):
        argv += ["--workspace", str(request.cwd)]
    env = {hook.SPOOL: str(request.spool)}
    if request.bridge:
        env.update(request.bridge.env)
    return Launch(
        argv=(*argv, *request.args),
        env=env,
        session_id=session,
        search=True,
        # Others saw it start the project's servers before the first prompt. Should it not, or should a person
        # not allow the server, the prompt goes in a little later, with a warning.
        await_bridge=True,
    )


def wanted(request: LaunchRequest) -> tuple[Wanted, ...]:
    """What the workspace's files are to hold while this agent lives.

    Raises:
        WorkspaceError: the workspace's file is the user's global one.
    """
    command = shlex.join([sys.executable, "-I", "-S", str(Path(hook.__file__)), str(request.folder.parent)])
    entry = {"command": command, "timeout": HOOK_TIMEOUT_S}
    hooks = request.cwd / ".cursor" / "hooks.json"
    files = [Wanted(hooks, tuple(Entry(("hooks", event), None, entry) for event in EVENTS), HOOKS_HEAD)]
    if request.bridge:
        server = Entry(("mcpServers",), BRIDGE, _server(request.bridge))
        files.append(Wanted(mcp_file(request.cwd, request.home), (server,)))
    for file in files:
        if os.path.realpath(file.path) == os.path.realpath(request.home / ".cursor" / file.path.name):
            raise WorkspaceError(
                f"{file.path} is Cursor's own global file, which agentd doesn't edit: "
                "let the agent work in a directory below your home"
            )
    return tuple(files)


def _server(bridge: BridgeCommand) -> dict[str, object]:
    """The server's entry, the same for every agent of the workspace: what differs stands in the environment
    of each CLI. No time limit: Cursor documents no key for one."""
    return {
        "type": "stdio",
        "command": bridge.argv[0],
        "args": list(bridge.argv[1:]),
        "env": {name: f"${{env:{name}}}" for name in bridge.env},
    }


def mcp_file(cwd: Path, home: Path) -> Path:
    """The project's file that Cursor finds from here: the nearest one up to the repository's root, as a new
    one in `cwd` would hide it."""
    here = cwd / ".cursor" / "mcp.json"
    folders: list[Path] = []
    for folder in (cwd, *cwd.parents):
        if folder == home:
            return here
        folders.append(folder)
        if (folder / ".git").exists():
            break
    else:
        return here
    found = (folder / ".cursor" / "mcp.json" for folder in folders)
    return next((path for path in found if path.is_file()), here)
