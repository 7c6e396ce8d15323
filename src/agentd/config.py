"""The user's configuration: read, checked key by key, with errors that name file, line and key."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError

from agentd.contract import DurationError, Readiness, format_duration, parse_duration
from agentd.contract.policy import IDLE_RETENTION


class ConfigError(Exception):
    """The file can't be used; the text is `FILE:LINE: KEY: what is wrong`."""


@dataclass(frozen=True)
class AdapterConfig:
    """One `[adapters.PROVIDER]` table."""

    command: tuple[str, ...] | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    readiness: Readiness | None = None


DEFAULT_TOOLS = (
    "call_sub_agent",
    "call_generic_agent",
    "query_sub_agent",
    "wait_sub_agents",
    "list_sub_agents",
    "stop_sub_agent",
)

BUILT_IN_TOOLS = ("execute_shell_command", *DEFAULT_TOOLS)
_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
"""What every CLI's model service takes, with the server's name before it."""


@dataclass(frozen=True)
class CustomTool:
    """One `[tools.custom.NAME]` table: a command as a tool."""

    name: str
    command: tuple[str, ...]
    description: str
    input_schema: Mapping[str, Any]
    long_running: bool = False


@dataclass(frozen=True)
class History:
    """The `[history]` table: how long turns, messages and events are kept, and how many of the events."""

    keep_s: float = 30 * 24 * 3600.0
    events: int = 100_000


SHORTEST_HISTORY_S = 3600.0
"""Whoever waits for a message must still find its end."""
FEWEST_EVENTS = 1000


@dataclass(frozen=True)
class Config:
    """The whole file; every field has its default without one."""

    path: Path | None = None
    adapters: Mapping[str, AdapterConfig] = field(default_factory=dict)
    retention_s: float = IDLE_RETENTION
    retention_set: bool = False
    trusted: tuple[str, ...] = ()
    bridge_tools: tuple[str, ...] = DEFAULT_TOOLS
    custom_tools: Mapping[str, CustomTool] = field(default_factory=dict)
    history: History = History()

    def adapter(self, provider: str) -> AdapterConfig:
        return self.adapters.get(provider, AdapterConfig())

    def trusts(self, workspace: Path, home: Path) -> bool:
        """Whether `[trust] workspaces` lets agentd answer a trust dialog "yes" there."""
        for pattern in self.trusted:
            expanded = str(home) + pattern[1:] if pattern == "~" or pattern.startswith("~/") else pattern
            # A `*` is one folder's name: trusting ~/src/* isn't trusting ~/src/a/b.
            parts, wanted = workspace.parts, Path(expanded).parts
            if len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted)):
                return True
        return False


def load(path: Path, providers: Collection[str] | None = None) -> Config:
    """Read the file; a missing one is an empty one. `providers` are those that may have a table, if not all.

    Raises:
        ConfigError: it can't be read, isn't TOML, or has an unknown key or a bad value.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: can't be read: {error}") from error
    try:
        data = tomlkit.parse(text).unwrap()
    except ParseError as error:
        raise ConfigError(f"{path}:{error.line}: {error}") from error
    return _Check(path, text, providers).config(data)


class _Check:
    def __init__(self, path: Path, text: str, providers: Collection[str] | None) -> None:
        self.path = path
        self.providers = set(providers) if providers is not None else None
        self.lines = text.splitlines()

    def fail(self, keys: tuple[str, ...], what: str) -> ConfigError:
        return ConfigError(f"{self.path}:{self._line(keys)}: {'.'.join(keys)}: {what}")

    def _line(self, keys: tuple[str, ...]) -> int:
        """The line that names the last key, or the deepest table on the way to it."""
        best = 1
        table: tuple[str, ...] = ()
        for number, line in enumerate(self.lines, 1):
            if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
                table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
                if table == keys[: len(table)]:
                    best = number
                if table == keys:
                    return number
            elif table == keys[: len(table)]:
                rest = keys[len(table) :]
                for end in range(len(rest), 0, -1):
                    dotted = r"\s*\.\s*".join(f"[\"']?{re.escape(part)}[\"']?" for part in rest[:end])
                    if re.match(rf"\s*{dotted}\s*[=.]", line):
                        return number
        return best

    def table(self, data: Any, keys: tuple[str, ...], known: set[str] | None = None) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise self.fail(keys, "must be a table")
        for key in data:
            if known is not None and key not in known:
                raise self.fail((*keys, key), f"unknown key; known here: {', '.join(sorted(known))}")
        return data

    def strings(self, data: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(data, list) or not all(isinstance(item, str) for item in data):
            raise self.fail(keys, "must be a list of strings")
        return tuple(data)

    def duration(self, data: Any, keys: tuple[str, ...]) -> float:
        if not isinstance(data, str):
            raise self.fail(keys, 'must be a duration in quotes, like "10m"')
        try:
            value = parse_duration(data)
        except DurationError as error:
            raise self.fail(keys, str(error)) from error
        if value <= 0:
            raise self.fail(keys, "must be more than zero")
        return value

    def config(self, data: dict[str, Any]) -> Config:
        self.table(data, (), {"adapters", "retention", "trust", "bridge", "tools", "history"})
        retention = self.table(data.get("retention", {}), ("retention",), {"idle"})
        trust = self.table(data.get("trust", {}), ("trust",), {"workspaces"})
        bridge = self.table(data.get("bridge", {}), ("bridge",), {"tools"})
        tools = self.table(data.get("tools", {}), ("tools",), {"custom"})
        idle = retention.get("idle")
        custom_tools = {
            name: self.custom(name, table, ("tools", "custom", name))
            for name, table in self.table(tools.get("custom", {}), ("tools", "custom")).items()
        }
        enabled = self.strings(bridge.get("tools", list(DEFAULT_TOOLS)), ("bridge", "tools"))
        for name in enabled:
            if name not in (known := (*BUILT_IN_TOOLS, *custom_tools)):
                raise self.fail(
                    ("bridge", "tools"), f"no tool is called {name!r}; there are: {', '.join(known)}"
                )
        return Config(
            path=self.path,
            adapters={
                name: self.adapter(table, ("adapters", name))
                for name, table in self.table(data.get("adapters", {}), ("adapters",), self.providers).items()
            },
            retention_s=IDLE_RETENTION if idle is None else self.duration(idle, ("retention", "idle")),
            retention_set=idle is not None,
            trusted=self.strings(trust.get("workspaces", []), ("trust", "workspaces")),
            bridge_tools=enabled,
            custom_tools=custom_tools,
            history=self.history(data.get("history", {}), ("history",)),
        )

    def adapter(self, data: Any, keys: tuple[str, ...]) -> AdapterConfig:
        table = self.table(data, keys, {"command", "args", "env", "readiness"})
        command = table.get("command")
        if command is not None and not self.strings(command, (*keys, "command")):
            raise self.fail((*keys, "command"), "must name a program")
        env = self.table(table.get("env", {}), (*keys, "env"))
        for name, value in env.items():
            if not isinstance(value, str):
                raise self.fail((*keys, "env", name), "must be a string")
        return AdapterConfig(
            command=None if command is None else self.strings(command, (*keys, "command")),
            args=self.strings(table.get("args", []), (*keys, "args")),
            env=env,
            readiness=self.readiness(table["readiness"], (*keys, "readiness"))
            if "readiness" in table
            else None,
        )

    def readiness(self, data: Any, keys: tuple[str, ...]) -> Readiness:
        table = self.table(data, keys, {"inactivity", "absolute"})
        values = {name: self.duration(value, (*keys, name)) for name, value in table.items()}
        return Readiness(values.get("inactivity"), values.get("absolute"))

    def history(self, data: Any, keys: tuple[str, ...]) -> History:
        table = self.table(data, keys, {"keep", "events"})
        keep_s, events = History.keep_s, table.get("events", History.events)
        if "keep" in table:
            keep_s = self.duration(table["keep"], (*keys, "keep"))
        if keep_s < SHORTEST_HISTORY_S:
            raise self.fail((*keys, "keep"), f"must be at least {format_duration(SHORTEST_HISTORY_S)}")
        if type(events) is not int or events < FEWEST_EVENTS:
            raise self.fail((*keys, "events"), f"must be a whole number from {FEWEST_EVENTS} on")
        return History(keep_s, events)

    def custom(self, name: str, data: Any, keys: tuple[str, ...]) -> CustomTool:
        table = self.table(data, keys, {"command", "description", "input_schema", "long_running"})
        if not _TOOL_NAME.fullmatch(name):
            raise self.fail(keys, "a tool's name is a letter, then up to 39 of a-z, A-Z, 0-9, _ and -")
        if name in BUILT_IN_TOOLS:
            raise self.fail(keys, "agentd has a tool of that name")
        if not self.strings(table.get("command", []), (*keys, "command")):
            raise self.fail(keys, "needs a command")
        if not isinstance(table.get("description", ""), str):
            raise self.fail((*keys, "description"), "must be a string")
        if not isinstance(table.get("long_running", False), bool):
            raise self.fail((*keys, "long_running"), "must be true or false")
        return CustomTool(
            name,
            self.strings(table["command"], (*keys, "command")),
            table.get("description", ""),
            self.schema(table.get("input_schema", {}), (*keys, "input_schema")),
            table.get("long_running", False),
        )

    def schema(self, data: Any, keys: tuple[str, ...]) -> Mapping[str, Any]:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError

        table = self.table(data, keys)
        if table.get("type", "object") != "object":
            raise self.fail(keys, 'a tool\'s arguments are an object: `type` must be "object"')
        self.plain(table, keys)
        try:
            Draft202012Validator.check_schema(table)
        except SchemaError as error:
            place = ".".join(map(str, error.path))
            raise self.fail(keys, f"is no JSON schema: {place}{': ' * bool(place)}{error.message}") from error
        return table

    def plain(self, data: Any, keys: tuple[str, ...]) -> None:
        """What JSON has no word for can't be told to a model: TOML's times, infinity and NaN."""
        match data:
            case dict():
                for key, value in data.items():
                    self.plain(value, (*keys, key))
            case list():
                for number, value in enumerate(data):
                    self.plain(value, (*keys, str(number)))
            case str() | bool() | int():
                pass
            case float() if math.isfinite(data):
                pass
            case _:
                raise self.fail(keys, f"JSON has no value {data}; write it as a string, or leave it out")
