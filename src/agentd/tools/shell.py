"""`execute_shell_command`: a command line in the agent's workspace."""

from __future__ import annotations

import math
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from agentd.contract import Layer, TimedOut
from agentd.tools.command import Telling, run
from agentd.tools.output import Output
from agentd.tools.registry import Call, Result, Route, TimeoutClass, Tool, ToolError

NAME = "execute_shell_command"
DESCRIPTION = (
    "Run a shell command in the workspace and return its output (standard output and standard error as they "
    "come) and its exit status. Of more than 128 KiB the first and the last part are shown, and the whole is "
    "kept in a file. The command has no terminal and no input; what it leaves running in the background ends "
    "with it. There is no time limit of its own unless you give one (timeout_s)."
)
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "minLength": 1, "description": "The command line."},
        "cwd": {
            "type": "string",
            "description": "Where to run it; relative to the workspace, which is the default.",
        },
        "timeout_s": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "End it after so many seconds. Without it, it may take as long as it takes.",
        },
    },
    "required": ["command"],
    "additionalProperties": False,
}

PATH_SHOWN = 300
"""How much of a path an error shows."""


async def execute(call: Call) -> Result:
    """Raises ToolError for arguments that nothing can be run with, TimedOut when the caller's own
    `timeout_s` has passed."""
    command = _passable("command", call.arguments["command"])
    cwd = _directory(call.caller.workspace / _passable("cwd", call.arguments.get("cwd", "")))
    timeout = call.arguments.get("timeout_s")
    limit_s = _seconds(timeout)
    environment = {**call.caller.environment, "TERM": "dumb", "PAGER": "cat"}
    shell = shutil.which("bash", path=environment.get("PATH")) or "/bin/sh"
    output = Output(output_file(call))
    call.so_far = output.text
    telling = Telling(call.say)

    def heard(data: bytes) -> None:
        output.add(data)
        telling.hear(data)

    try:
        with trio.move_on_after(limit_s):
            argv = [shell, "-c", command]
            ended = await telling.while_running(
                run(argv, cwd=cwd, env=environment, mark=mark(call), out=heard)
            )
            text = output.text()
            line = "\n" if text and not text.endswith("\n") else ""
            return Result(f"{text}{line}[{ended}]")
    finally:
        output.close()
    what = "the caller's own timeout_s passed; the command was ended, with everything below it"
    raise TimedOut(Layer.WORKFLOW, what, session=call.caller.name, timeout_s=timeout, tool=call.tool)


def _passable(name: str, text: str) -> str:
    """What the system takes as an argument or a path."""
    if "\0" in text:
        raise ToolError(f"`{name}` has a NUL character; nothing was run")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"`{name}` is no Unicode text ({error.reason}); nothing was run") from error
    return text


def _directory(path: Path) -> Path:
    try:
        found = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        raise ToolError(f"{_short(path)} can't be used: {error.strerror}; nothing was run") from error
    if not found:
        raise ToolError(f"{_short(path)} is no directory; nothing was run")
    return path


def _short(path: Path) -> str:
    return text if len(text := str(path)) < PATH_SHOWN else f"{text[:PATH_SHOWN]}…"


def _seconds(timeout: float | None) -> float:
    try:
        return math.inf if timeout is None else float(timeout)
    except OverflowError as error:
        raise ToolError("`timeout_s` is too large; leave it out for no limit. Nothing was run") from error


def output_file(call: Call) -> Path:
    """Where the whole of a long output is kept."""
    return call.caller.folder / "tools" / f"{call.id}.out"


def mark(call: Call) -> Path:
    """What tells the next daemon of a command that this one left running."""
    return output_file(call).with_suffix(".pid")


TOOL = Tool(NAME, Route.CUSTOM, TimeoutClass.LONG_RUNNING, DESCRIPTION, SCHEMA, execute)
