"""Which tools there are, and who may call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentd.config import DEFAULT_TOOLS, Config, CustomTool
from agentd.contract import Policy
from agentd.tools import custom, shell
from agentd.tools.registry import Registry
from agentd.tools.schema import wrong

DEPLOY = CustomTool("deploy", ("deploy",), "Deploys.", {"properties": {"where": {"type": "string"}}}, True)
CHECK = CustomTool("check", ("check",), "Checks.", {})


def registry(*enabled: str) -> Registry:
    config = Config(bridge_tools=enabled, custom_tools={"deploy": DEPLOY, "check": CHECK})
    return Registry(lambda: config, (shell.TOOL,), custom.tools)


def test_by_default_nothing_is_offered() -> None:
    assert registry(*DEFAULT_TOOLS).offered("a") == []


def test_the_config_says_what_is_offered_and_in_which_order() -> None:
    tools = registry("check", "call_sub_agent", "execute_shell_command", "check")
    assert [tool.name for tool in tools.offered("a")] == ["check", "execute_shell_command"]
    assert repr(tools) == "<Registry: deploy, check, execute_shell_command>"


def test_a_tool_that_is_known_need_not_be_enabled() -> None:
    tools = registry("check")
    deploy, check = tools.find("deploy", "custom"), tools.find("check", "custom")
    assert deploy and check
    assert (tools.enabled(deploy, "a"), tools.enabled(check, "a")) == (False, True)


def test_a_tool_is_found_on_its_own_route() -> None:
    assert registry("check").find("check", "virtual") is None
    assert registry("check").find("nothing", "custom") is None


def test_what_the_bridge_is_told() -> None:
    long, ordinary = (tool.public(Policy()) for tool in registry("deploy", "check").offered("a"))
    assert long == {
        "name": "deploy",
        "route": "custom",
        "timeout_class": "long-running",
        "timeout_s": 5400.0,
        "description": "Deploys.",
        "input_schema": {"type": "object", "properties": {"where": {"type": "string"}}},
    }
    assert (ordinary["timeout_class"], ordinary["timeout_s"]) == ("ordinary", 300.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"command": "ls"}, None),
        ({"command": "ls", "cwd": "x", "timeout_s": 1.5}, None),
        ({}, "'command' is a required property"),
        ({"command": 1}, "command: 1 is not of type 'string'"),
        ({"command": ""}, "command: '' should be non-empty"),
        ({"command": "ls", "timeout_s": 0}, "timeout_s: 0 is less than or equal to the minimum of 0"),
        ({"command": "ls", "timeout_s": True}, "timeout_s: True is not of type 'number'"),
        ({"cmd": "ls", "command": "ls"}, "Additional properties are not allowed ('cmd' was unexpected)"),
        ([], "[] is not of type 'object'"),
    ],
)
def test_arguments_of_the_shell_tool(arguments: Any, said: str | None) -> None:
    assert wrong(shell.SCHEMA, arguments) == said


def test_many_mistakes_are_told_in_a_few_words() -> None:
    schema = {"items": {"type": "string"}}
    said = wrong(schema, list(range(9)))
    assert said and said.endswith("; and more") and said.startswith("0: 0 is not")
    long = wrong({"type": "string"}, ["x" * 1000])
    assert long and len(long) < 310


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/x"}, {"$ref": "#/nothing"}]
)
def test_a_schema_that_is_none_is_told_and_nothing_is_fetched(schema: Mapping[str, Any]) -> None:
    said = wrong(schema, {})
    assert said and said.startswith("the tool's own input schema can't be used: ")
