"""`[tools.custom.NAME]` with real commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from agentd.config import CustomTool
from agentd.tools.custom import ERRORS_SHOWN, execute
from agentd.tools.registry import Result, ToolError
from tests.unit.tool_calls import Progress, call, living, pids_in


def python(code: str) -> CustomTool:
    return CustomTool("mine", (sys.executable, "-c", code), "", {})


async def test_arguments_are_json_on_standard_input(tmp_path: Path) -> None:
    tool = python("import sys, json; print(json.dumps(json.load(sys.stdin)), end='')")
    arguments: dict[str, Any] = {"text": "é\n'\"", "list": [1, None, {"a": True}]}
    result = await execute(tool, call(tmp_path, "mine", **arguments))
    assert (json.loads(result.text), result.is_error) == (arguments, False)


async def test_standard_error_is_progress_and_not_the_result(tmp_path: Path) -> None:
    say = Progress()
    tool = python(
        "import sys, time; print('at it', file=sys.stderr, flush=True); time.sleep(.3); print('made')"
    )
    assert await execute(tool, call(tmp_path, "mine", say)) == Result("made\n")
    assert say.text == "at it\n"


async def test_a_failure_says_everything(tmp_path: Path) -> None:
    tool = python("import sys; print('half'); print('no space', file=sys.stderr); sys.exit(3)")
    result = await execute(tool, call(tmp_path, "mine"))
    assert result == Result("half\nno space\n[exit status 3]", is_error=True)


async def test_errors_that_are_no_text_are_shown_in_no_more_bytes(tmp_path: Path) -> None:
    tool = python("import os, sys; os.write(2, b'\\xff' * 100_000); sys.exit(3)")
    text = (await execute(tool, call(tmp_path, "mine"))).text
    assert text == "\N{REPLACEMENT CHARACTER}" * (ERRORS_SHOWN // 3) + "\n[exit status 3]"


async def test_arguments_need_not_be_read(tmp_path: Path) -> None:
    result = await execute(python("print('done')"), call(tmp_path, "mine", much="x" * 1_000_000))
    assert result == Result("done\n")


async def test_the_program_is_found_on_the_agents_path(tmp_path: Path) -> None:
    assert (
        await execute(CustomTool("pwd", ("pwd",), "", {}), call(tmp_path, "pwd"))
    ).text == f"{tmp_path}/work\n"
    with pytest.raises(ToolError, match="no-such-program"):
        await execute(CustomTool("x", ("no-such-program",), "", {}), call(tmp_path, "x"))


async def test_cancelling_ends_it(tmp_path: Path) -> None:
    tool = CustomTool("sh", ("sh", "-c", "sleep 1000 & echo $! $$ > p; wait"), "", {})
    with trio.move_on_after(1) as scope:
        await execute(tool, call(tmp_path, "sh"))
    assert scope.cancelled_caught
    pids = pids_in(tmp_path / "work" / "p")
    assert len(pids) == 2 and not living(pids)
