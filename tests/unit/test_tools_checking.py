"""Arguments are checked against schemas that may cost anything, while the daemon goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import psutil
import pytest
import trio

from agentd.config import Config, CustomTool
from agentd.tools import checking, custom, shell
from agentd.tools.checking import FEW, problem
from agentd.tools.registry import Tool

MANY = [{"a": number} for number in range(4000)]
BOTH = {"$ref": "#/$defs/n"}
COSTLY: list[tuple[Mapping[str, Any], Any]] = [
    ({"properties": {"d": {"uniqueItems": True}}}, {"d": MANY}),
    ({"properties": {"d": {"pattern": "^(a+)+$"}}}, {"d": "a" * 60 + "!"}),
    ({"patternProperties": {"^(a+)+$": True}}, {"a" * 60 + "!": 1}),
    (
        {"$defs": {"n": {"properties": {"n": {"anyOf": [BOTH, BOTH]}, "x": False}}}, **BOTH},
        json.loads('{"n":' * 40 + '{"x":1}' + "}" * 40),
    ),
]
KINDS = ["uniqueItems", "pattern", "patternProperties", "a tree of references"]


def of_the_user(schema: Mapping[str, Any]) -> Tool:
    [tool] = custom.tools(Config(custom_tools={"x": CustomTool("x", ("x",), "", schema)}))
    return tool


async def check(tool: Tool, arguments: Any) -> str | None:
    return await problem(tool, arguments, len(json.dumps(arguments)))


@pytest.mark.parametrize(("schema", "arguments"), COSTLY, ids=KINDS)
async def test_a_check_that_takes_too_long_is_ended(
    monkeypatch: pytest.MonkeyPatch, schema: Mapping[str, Any], arguments: Any
) -> None:
    monkeypatch.setattr(checking, "LIMIT_S", 1.0)
    said = await check(of_the_user(schema), arguments)
    assert said == "they could not be checked against the tool's input schema within 1 s"
    assert psutil.Process().children() == []


@pytest.mark.parametrize(("schema", "arguments"), COSTLY, ids=KINDS)
async def test_a_check_can_be_cancelled_at_any_time(schema: Mapping[str, Any], arguments: Any) -> None:
    with trio.fail_after(20), trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(check, of_the_user(schema), arguments)
            while not psutil.Process().children():
                await trio.sleep(0.01)
            scope.cancel()
    assert psutil.Process().children() == []


def test_a_check_ends_by_itself_when_nobody_ends_it() -> None:
    program = "from agentd.tools import schema; schema.LIMIT_S = 0; schema.main()"
    schema, arguments = COSTLY[1]
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program], input=json.dumps([schema, arguments]).encode(), timeout=20
    )
    assert ended.returncode == -signal.SIGALRM


async def test_the_users_schema_says_what_is_wrong() -> None:
    tool = of_the_user({"properties": {"whom": {"type": "string"}}, "required": ["whom"]})
    assert await check(tool, {"whom": "me"}) is None
    assert await check(tool, {}) == "'whom' is a required property"
    assert await check(tool, {"whom": "x", "ä": 1}) is None


async def test_a_schema_that_refers_to_itself() -> None:
    said = await check(of_the_user({"$ref": "#"}), {})
    assert said and "refers to itself without end" in said


async def test_a_check_that_can_not_start_or_fails_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for argv, why in (("/nowhere",), "No such file"), ((sys.executable, "-c", "1/0"), "ZeroDivisionError"):
        monkeypatch.setattr(checking, "CHECKER", argv)
        said = await check(of_the_user({}), {})
        assert said and "could not be checked" in said and why in said


async def test_our_own_schemas_are_checked_at_once_unless_there_is_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await check(shell.TOOL, {"command": "x" * FEW}) is None
    said = await check(shell.TOOL, {"command": MANY})
    assert said and said.startswith("command: [{") and len(said) < 400
    monkeypatch.setattr(checking, "CHECKER", ("/nowhere",))
    assert await check(shell.TOOL, {"command": "ls"}) is None
    assert await check(shell.TOOL, {"command": 1}) == "command: 1 is not of type 'string'"
