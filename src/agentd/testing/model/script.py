"""The script language: which directive is to be played for a given conversation. Pure.

The script is in the prompt, one directive a line, anywhere in the newest user text that has one:

    @say TEXT         answer TEXT
    @slow N TEXT      stream N chunks, one a second, then TEXT
    @delay N TEXT     wait N seconds before the first byte, then answer TEXT
    @bash CMD         call the CLI's shell tool, whatever it is called
    @tool NAME JSON   call any tool; a bare name also finds an MCP server's tool
    @err CODE [N]     answer HTTP CODE, N times for this prompt, then go on; without N always
    @cut              break the stream in the middle (an answer that isn't streamed comes whole)

Step k is played when k assistant messages follow that text. Past the last step the answer is `done`,
with the last tool result and the texts that the user sent meanwhile. An error is no assistant
message, so it takes no step: the directive behind `@err 529 2` is played on the third attempt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

_DIRECTIVE = re.compile(r"^\W*@(say|slow|delay|bash|tool|err|cut)\b[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
_NUMBER_AND_TEXT = re.compile(r"(\d+(?:\.\d+)?)\s*(.*)")
_REMINDER = re.compile(r"\s*<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_WRAPPER = re.compile(r"</?pasted_content\b[^>]*>")

TITLE = json.dumps({"title": "Scripted title"})


@dataclass(frozen=True)
class Item:
    """One thing that was said, as every dialect can express it."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""


@dataclass(frozen=True)
class Tool:
    """A tool that a request offers. `freeform` tools take text instead of JSON."""

    name: str
    namespace: str = ""
    freeform: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


@dataclass(frozen=True)
class Conversation:
    """A request, translated. Without tools it is an aside (a title, a summary) and not scripted."""

    items: tuple[Item, ...]
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True)
class Directive:
    name: str
    argument: str = ""

    def __str__(self) -> str:
        return f"@{self.name} {self.argument}".rstrip()


@dataclass(frozen=True)
class Position:
    """Where a conversation stands in its script. `directive` is None past the end or without a script."""

    prompt: str = ""
    occurrence: int = 0
    index: int = 0
    step: int = 0
    directive: Directive | None = None
    scripted: bool = False
    tool_result: str | None = None
    later: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, int, int]:
        """Names this directive of this prompt: what errors are counted by."""
        return (self.prompt, self.occurrence, self.index)


@dataclass(frozen=True)
class Chunk:
    """A piece of a streamed text, sent `after` seconds."""

    text: str
    after: float = 0.0


@dataclass(frozen=True)
class Text:
    """An answer in words, begun after `delay` seconds; `cut` breaks the stream after the last chunk."""

    chunks: tuple[Chunk, ...]
    delay: float = 0.0
    cut: bool = False

    @property
    def whole(self) -> str:
        return "".join(chunk.text for chunk in self.chunks)


@dataclass(frozen=True)
class Call:
    tool: Tool
    arguments: Mapping[str, Any] | str

    @property
    def wire(self) -> str:
        """The arguments as they go over the wire: JSON, or a freeform tool's text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Failure:
    status: int
    message: str = ""


Answer = Text | Call | Failure


def directives(text: str) -> tuple[Directive, ...]:
    return tuple(Directive(name, argument) for name, argument in _DIRECTIVE.findall(text))


def clean(text: str) -> str:
    """A text without what a CLI wraps around it."""
    return _WRAPPER.sub("", _REMINDER.sub("", text)).strip()


def locate(
    conversation: Conversation, failures: Callable[[tuple[str, int, int]], int] = lambda key: 0
) -> Position:
    """The directive that is due; `failures` says how often an `@err` was answered already."""
    if not conversation.tools:
        return Position()
    prompt, occurrence, answers = "", 0, 0
    script: tuple[Directive, ...] = ()
    tool_result: str | None = None
    later: list[str] = []
    seen: list[str] = []
    for item in conversation.items:
        text = clean(item.text)
        if item.role == "assistant":
            answers += 1
        elif item.role == "tool":
            tool_result = text
        elif found := directives(text):
            occurrence = seen.count(text)
            seen.append(text)
            prompt, script, answers, tool_result, later = text, found, 0, None, []
        elif text and script:
            later.append(text)
        elif text:
            prompt = text
    step = answers
    for index, directive in enumerate(script):
        if directive.name == "err":
            _, times = _error(directive)
            given = failures((prompt, occurrence, index))
            due = times is None or (given < times and not answers)
        else:
            due = not answers
            answers -= 1
        if due:
            return Position(prompt, occurrence, index, step, directive, True, tool_result, tuple(later))
    return Position(prompt, occurrence, len(script), step, None, bool(script), tool_result, tuple(later))


def answer(position: Position, conversation: Conversation) -> Answer:
    """What the model says or does at this position. Raises ValueError for a malformed directive."""
    directive = position.directive
    if not conversation.tools:
        return _say(TITLE)
    if directive is None:
        return _say(_done(position) if position.scripted else _echo(position))
    argument = directive.argument
    match directive.name:
        case "slow":
            count, text = _number_and_text(directive)
            ticks = tuple(Chunk(f"chunk{number} ", 1.0) for number in range(1, int(count) + 1))
            return Text((*ticks, Chunk(text)))
        case "delay":
            seconds, text = _number_and_text(directive)
            return Text(_say(text).chunks, delay=seconds)
        case "cut":
            return Text((Chunk("partial "), Chunk("text ", 0.2)), cut=True)
        case "bash":
            return shell_call(conversation.tools, argument)
        case "tool":
            name, _, arguments = argument.partition(" ")
            return Call(find_tool(conversation.tools, name), _arguments(directive, arguments))
        case "err":
            return Failure(_error(directive)[0])
        case _:
            return _say(argument)


def find_tool(tools: Sequence[Tool], name: str) -> Tool:
    """The tool of that name. A bare name also finds an MCP server's tool; dashes and underscores are
    alike, since CLIs differ in them. A name that nothing offers is called all the same: what a CLI
    makes of it is worth a test."""
    wanted = name.replace("-", "_")
    full = [(tool.full_name.replace("-", "_"), tool) for tool in tools]
    for exact in (True, False):
        for candidate, tool in full:
            if candidate == wanted if exact else candidate.endswith(f"__{wanted}"):
                return tool
    return Tool(name)


def shell_call(tools: Sequence[Tool], command: str) -> Call:
    """A call of the shell tool, in the shape that this CLI's tool wants."""
    for name in ("Bash", "bash", "exec_command", "shell_command", "shell", "exec"):
        for tool in tools:
            if tool.name == name and not tool.namespace:
                return Call(tool, _shell_arguments(tool, command))
    return Call(Tool("bash"), {"command": command})


def _shell_arguments(tool: Tool, command: str) -> Mapping[str, Any] | str:
    if tool.freeform:
        return f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(r.output);"
    properties: Mapping[str, Any] = tool.parameters.get("properties") or {}
    if "cmd" in properties or tool.name == "exec_command":
        return {"cmd": command}
    if properties.get("command", {}).get("type") == "array":
        return {"command": ["bash", "-lc", command]}
    described = {"description": "A scripted command"} if tool.name == "Bash" else {}
    return {"command": command, **described}


def _say(text: str) -> Text:
    return Text(tuple(Chunk(text[start : start + 40]) for start in range(0, len(text), 40)) or (Chunk(""),))


def _done(position: Position) -> str:
    result = "" if position.tool_result is None else f" tool-result=<<{position.tool_result[:300]}>>"
    steered = f" steered=<<{' | '.join(position.later)}>>" if position.later else ""
    return f"done{result}{steered}"


def _echo(position: Position) -> str:
    return f"The scripted model was told: {position.prompt.partition(chr(10))[0]}"


def _number_and_text(directive: Directive) -> tuple[float, str]:
    if not (match := _NUMBER_AND_TEXT.fullmatch(directive.argument)):
        raise ValueError(f"{directive}: wanted a number of seconds and a text")
    return float(match[1]), match[2]


def _error(directive: Directive) -> tuple[int, int | None]:
    try:
        code, *times = (int(word) for word in directive.argument.split())
    except ValueError:
        raise ValueError(f"{directive}: wanted an HTTP status and, perhaps, how often") from None
    return code, times[0] if times else None


def _arguments(directive: Directive, text: str) -> Mapping[str, Any]:
    try:
        arguments = json.loads(text or "{}")
    except ValueError as error:
        raise ValueError(f"{directive}: its arguments are no JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise ValueError(f"{directive}: its arguments are no JSON object")
    return arguments
