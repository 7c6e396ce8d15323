"""`[tools.custom.NAME]`: a command of the user's as a tool. Its arguments are JSON on standard input, its
result is standard output; what it says on standard error is progress, and the reason if it fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial

from agentd.config import Config, CustomTool
from agentd.tools.command import Telling, run
from agentd.tools.output import Output, last
from agentd.tools.registry import Call, Result, Route, TimeoutClass, Tool
from agentd.tools.shell import mark, output_file

ERRORS_SHOWN = 8 * 1024


async def execute(custom: CustomTool, call: Call) -> Result:
    """Run it. A status that isn't zero makes the result an error."""
    environment = call.caller.environment
    program = shutil.which(custom.command[0], path=environment.get("PATH")) or custom.command[0]
    output = Output(output_file(call))
    errors = bytearray()
    call.so_far = output.text
    telling = Telling(call.say)

    def complains(data: bytes) -> None:
        errors.extend(data)
        del errors[:-ERRORS_SHOWN]
        telling.hear(data)

    try:
        command = run(
            [program, *custom.command[1:]],
            cwd=call.caller.workspace,
            env=environment,
            mark=mark(call),
            out=output.add,
            errors=complains,
            given=json.dumps(call.arguments).encode(),
        )
        ended = await telling.while_running(command)
        if ended.status == 0:
            return Result(output.text())
        parts = [output.text().rstrip("\n"), last(errors, ERRORS_SHOWN).rstrip("\n"), f"[{ended}]"]
        return Result("\n".join(part for part in parts if part), is_error=True)
    finally:
        output.close()


def tools(config: Config) -> Iterator[Tool]:
    """The tools that the config defines."""
    for custom in config.custom_tools.values():
        yield Tool(
            custom.name,
            Route.CUSTOM,
            TimeoutClass.LONG_RUNNING if custom.long_running else TimeoutClass.ORDINARY,
            custom.description,
            # MCP asks for an object.
            {"type": "object", **custom.input_schema},
            partial(execute, custom),
            of_the_user=True,
        )
