"""Checking a call's arguments, never for long in the daemon's own loop.

A schema of the user's may cost anything (`uniqueItems` of thousands of objects, a `pattern` that backtracks
for ever, a `$ref` to itself), and no thread can be ended in the middle of it. So a process of its own does
it, which is ended when its time is over. The built-in tools' schemas are cheap where the arguments are few,
and are used at once.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import trio

from agentd.tools.registry import Tool
from agentd.tools.schema import LIMIT_S, wrong

FEW = 16 * 1024
"""Bytes of arguments that are checked in the daemon against a schema of ours: 0.1 s at the worst."""
CHECKER = (sys.executable, "-P", "-m", "agentd.tools.schema")
UNCHECKED = "they could not be checked against the tool's input schema"


async def problem(tool: Tool, arguments: Any, size: int) -> str | None:
    """What is wrong with the arguments, in words; None where nothing is. `size` is theirs, in bytes."""
    if size <= FEW and not tool.of_the_user:
        return wrong(tool.input_schema, arguments)
    question = json.dumps([dict(tool.input_schema), arguments]).encode()
    with trio.move_on_after(LIMIT_S):
        try:
            ended = await trio.run_process(
                CHECKER, stdin=question, capture_stdout=True, capture_stderr=True, check=False
            )
        except OSError as error:
            return f"{UNCHECKED}: {error}"
        if ended.returncode != 0:
            said = ended.stderr.decode("utf-8", "replace").split()
            return f"{UNCHECKED}: status {ended.returncode} {' '.join(said)[-300:]}"
        found: str | None = json.loads(ended.stdout)
        return found
    return f"{UNCHECKED} within {LIMIT_S:g} s"
