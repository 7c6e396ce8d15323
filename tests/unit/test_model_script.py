"""The script language: prompts in, answers out. No sockets."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.testing.model.anthropic import Anthropic
from agentd.testing.model.script import (
    Call,
    Conversation,
    Directive,
    Failure,
    Item,
    Text,
    Tool,
    answer,
    directives,
    find_tool,
    locate,
    shell_call,
)

BASH = Tool("Bash", parameters={"properties": {"command": {"type": "string"}}})


def user(text: str) -> Item:
    return Item("user", text)


def said(*items: Item, failures: int = 0, tools: tuple[Tool, ...] = (BASH,)) -> str:
    """What the model answers, as one readable line."""
    conversation = Conversation(items, tools)
    reply = answer(locate(conversation, lambda key: failures), conversation)
    match reply:
        case Text():
            return reply.whole
        case Call():
            return f"{reply.tool.full_name}({reply.wire})"
        case Failure():
            return f"HTTP {reply.status}"


ASSISTANT = Item("assistant")


def test_directives_stand_anywhere_one_a_line() -> None:
    text = "please\n  @say hello  \nmail me@say.example\n> @cut\n@sayings no\n@bash ls -l | wc\n"
    assert [str(directive) for directive in directives(text)] == ["@say hello", "@cut", "@bash ls -l | wc"]


def test_each_assistant_message_is_a_step() -> None:
    prompt = user("@say one\n@say two")
    assert said(prompt) == "one"
    assert said(prompt, ASSISTANT) == "two"
    assert said(prompt, ASSISTANT, ASSISTANT) == "done"


def test_done_tells_the_last_tool_result_and_the_steering() -> None:
    turn = [user("@bash x"), ASSISTANT, Item("tool", " out \n"), user("hurry"), user("please")]
    assert said(*turn) == "done tool-result=<<out>> steered=<<hurry | please>>"
    assert said(user("@bash x"), ASSISTANT, Item("tool", "y" * 400)) == f"done tool-result=<<{'y' * 300}>>"


def test_the_newest_scripted_text_counts() -> None:
    assert said(user("@say old"), ASSISTANT, user("@say new")) == "new"
    turn = [user("@bash x"), ASSISTANT, Item("tool", "out"), user("@say instead"), ASSISTANT]
    assert said(*turn) == "done"


def test_without_a_directive_the_answer_holds_the_first_line() -> None:
    assert "tell me a joke" in said(user("an older text"), ASSISTANT, user("tell me a joke\nand more"))


def test_what_a_cli_wraps_around_a_text_is_no_part_of_it() -> None:
    reminder = "<system-reminder>\n@say never\n</system-reminder>"
    assert said(user(reminder), user("hello"), user(reminder)).endswith(": hello")
    assert said(user('<pasted_content id="1">@say pasted</pasted_content>')) == "pasted"
    assert said(user("@say x"), ASSISTANT, user(f"later {reminder}"), user(reminder)) == (
        "done steered=<<later>>"
    )


def test_a_request_without_tools_is_an_aside() -> None:
    assert said(user("@bash rm"), tools=()) == '{"title": "Scripted title"}'


def test_an_error_is_given_n_times_and_takes_no_step() -> None:
    prompt = user("@err 529 2\n@say at last")
    assert [said(prompt, failures=given) for given in range(4)] == [
        "HTTP 529",
        "HTTP 529",
        "at last",
        "at last",
    ]
    assert said(prompt, ASSISTANT, failures=2) == "done"


def test_an_error_without_a_number_is_given_always() -> None:
    assert said(user("@err 400"), failures=99) == "HTTP 400"
    assert said(user("@say x\n@err 500"), ASSISTANT, failures=9) == "HTTP 500"


def test_the_same_prompt_said_twice_is_counted_twice() -> None:
    once = Conversation((user("@err 500 1"),), (BASH,))
    twice = Conversation((*once.items, ASSISTANT, *once.items), (BASH,))
    assert locate(once).key != locate(twice).key


def test_waits_are_chunks_and_delays() -> None:
    def reply(prompt: str) -> Text:
        conversation = Conversation((user(prompt),), (BASH,))
        text = answer(locate(conversation), conversation)
        assert isinstance(text, Text)
        return text

    slow = reply("@slow 2 end")
    assert [(chunk.text, chunk.after) for chunk in slow.chunks] == [
        ("chunk1 ", 1.0),
        ("chunk2 ", 1.0),
        ("end", 0.0),
    ]
    assert (reply("@delay 1.5 late").delay, reply("@delay 1.5 late").whole) == (1.5, "late")
    assert reply("@cut").cut


@pytest.mark.parametrize("line", ["@slow", "@delay soon x", "@err", "@err 500 x", "@tool x {", "@tool x [1]"])
def test_a_directive_that_makes_no_sense_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=line.split()[0]):
        said(user(line))


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (BASH, {"command": "ls", "description": "A scripted command"}),
        (Tool("bash"), {"command": "ls"}),
        (Tool("exec_command"), {"cmd": "ls"}),
        (
            Tool("shell_command", parameters={"properties": {"command": {"type": "string"}}}),
            {"command": "ls"},
        ),
        (
            Tool("shell", parameters={"properties": {"command": {"type": "array"}}}),
            {"command": ["bash", "-lc", "ls"]},
        ),
        (
            Tool("exec", freeform=True),
            'const r = await tools.exec_command({cmd: "ls"}); text(r.output);',
        ),
    ],
)
def test_the_shell_tool_is_called_as_it_wants(tool: Tool, expected: object) -> None:
    call = shell_call((Tool("Read"), tool), "ls")
    assert (call.tool, call.arguments) == (tool, expected)


def test_a_bare_name_finds_an_mcp_server_s_tool() -> None:
    prefixed, spaced = Tool("mcp__api-bridge__wait"), Tool("run", "mcp__api_bridge")
    tools = (Tool("exec_wait"), prefixed, spaced)
    assert find_tool(tools, "wait") is prefixed
    assert find_tool(tools, "run") is spaced
    assert find_tool(tools, "mcp__api-bridge__run") is spaced
    assert find_tool((prefixed, Tool("wait")), "wait") == Tool("wait")
    assert find_tool(tools, "nobody") == Tool("nobody")


def test_a_tool_s_arguments_are_json() -> None:
    assert said(user('@tool Bash {"command": "a b"}')) == 'Bash({"command": "a b"})'
    assert said(user("@tool Bash")) == "Bash({})"


@pytest.mark.parametrize("inside", ["block", "result", "system"])
def test_claude_code_s_steering_is_a_user_s_text(inside: str) -> None:
    """It comes as a text block of its own, as a reminder inside a tool's result, or as a system text."""
    sent = "The user sent a new message while you were working:\nhurry\n\n"
    block, result = {"type": "text", "text": f"{sent}This is how Claude Code surfaces messages"}, "out"
    if inside == "result":
        block = {"type": "text", "text": "<system-reminder>noise</system-reminder>"}
        result = f"out\n\n<system-reminder>\n{sent}IMPORTANT: address it.\n</system-reminder>"
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "@bash x"},
        {"role": "assistant", "content": [{"type": "tool_use"}]},
        {"role": "user", "content": [{"type": "tool_result", "content": result}, block]},
    ]
    if inside == "system":
        messages[2]["content"] = [{"type": "tool_result", "content": result}]
        messages.append({"role": "system", "content": f"{sent}IMPORTANT: address it."})
    conversation = Anthropic().read({"messages": messages, "tools": [{"name": "Bash"}]})
    assert said(*conversation.items) == "done tool-result=<<out>> steered=<<hurry>>"


def test_a_directive_reads_as_it_was_written() -> None:
    assert (str(Directive("cut")), str(Directive("say", "hi"))) == ("@cut", "@say hi")
