"""The whole way of one tool call: a prompt, the CLI, its bridge, the daemon, a silent command; what is said
to the agent meanwhile; the answer that knows of both; and the end, which leaves nothing.

The same scenario is played with a scripted model and with a CLI's real service: only the wording differs.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentd.testing.daemon import Completed, Daemon, Running
from agentd.testing.until import until

TOOL = "execute_shell_command"
CONFIG = f'\n[bridge]\ntools = ["{TOOL}"]\n'
"""What the daemon's config must have."""
SILENT_S = 150
"""Longer than every short default in a CLI: 60 s in Pi, 120 s until Claude Code moves a call aside."""
START_S = 120.0
"""How long the CLI and its model may take until the command runs, and again until the turn is over."""


@dataclass(frozen=True)
class Wording:
    """How the model is asked: `prompt(command)` for the call, `live(word)` for the input meanwhile."""

    prompt: Callable[[str], str]
    live: Callable[[str], str]


SCRIPTED = Wording(
    prompt=lambda command: f"@tool {TOOL} {json.dumps({'command': command})}",
    live=lambda word: f"please also say {word}",
)
NATURAL = Wording(
    prompt=lambda command: (
        f"Call the MCP tool `{TOOL}` of the server `api-bridge` once, with exactly this command and no "
        f"time limit, and use no other tool:\n\n{command}\n\nThen answer with what it printed. If I tell "
        "you another word meanwhile, put that word into your answer as well."
    ),
    live=lambda word: f"The other word is {word}.",
)


class NeedsPerson(Exception):
    """The CLI asks for something that only its user can give, such as a login."""


@dataclass(frozen=True)
class Played:
    """What came of it: the command's and the whole turn's seconds, and how the live input arrived."""

    command_s: float
    turn_s: float
    receipt: str
    reply: str


def play(daemon: Daemon, provider: str, wording: Wording, *, seconds: int = SILENT_S) -> Played:
    """Play it on a daemon whose config has `CONFIG`, up to the agent's stop.

    Raises:
        NeedsPerson: it can't be played without its user.
        AssertionError: something isn't as it must be.
    """
    name, printed, live = f"{provider}-work", f"fig-{uuid.uuid4().hex[:8]}", f"kiwi-{uuid.uuid4().hex[:8]}"
    started = daemon.work / "started"
    command = f"date > {started.name}; sleep {seconds}; echo {printed}"
    waits = ("--json", "--on-attention", "wait")
    asking = daemon.begin("send", provider, "-q", *waits, wording.prompt(command))
    until("the command runs", lambda: _let(daemon, name, asking, command) and started.exists(), START_S)
    began = time.monotonic()
    telling = daemon.begin("send", name, "-q", "--steer", *waits, wording.live(live))
    asked, told = asking.finish(seconds + START_S), telling.finish(START_S)
    played = _played(asked, told, _call(daemon, name))
    assert time.monotonic() - began > seconds - 1, f"the turn ended before the command: {asked}"
    assert printed in played.reply, f"the command's output is missing: {asked}"
    assert live in played.reply, f"what was said meanwhile is missing: {asked}; {told}"
    assert played.command_s >= seconds, f"the command was cut: {played}"
    stopped = daemon.run("stop", name)
    assert (stopped.code, daemon.agent(name)["state"]) == (0, "stopped"), stopped
    return played


def _let(daemon: Daemon, name: str, asking: Running, command: str) -> bool:
    """The command is what whoever plays this wants: its approval is given, and nothing else is."""
    assert asking.process.poll() is None, f"the turn is over already: {asking.finish()}"
    agent = daemon.has(name)
    if agent and agent["attention"] and (dialog := agent["dialog"]):
        if agent["attention"] != "approval" or command not in dialog["text"]:
            raise NeedsPerson(f"{agent['attention']}: {dialog['text']}")
        daemon.run("answer", name, "approve")
    return True


def _played(asked: Completed, told: Completed, call: tuple[float, dict[str, Any]]) -> Played:
    for done in (asked, told):
        assert (done.code, done.json["outcome"]) == (0, "completed"), done
    seconds, end = call
    assert end["status"] == "done", end
    return Played(seconds, asked.json["duration_s"], told.json["receipt"], asked.json["reply"])


def _call(daemon: Daemon, name: str) -> tuple[float, dict[str, Any]]:
    """How long the tool took as the daemon tells it, and how it ended."""
    lines = map(json.loads, daemon.run("events", name).stdout.splitlines())
    told = [event for event in lines if event["kind"] == "tool" and event["data"]["tool"] == TOOL]
    assert [event["data"]["status"] for event in told][:1] == ["started"], told
    assert len(told) == 2, f"it wasn't called just once: {told}"
    began, ended = (datetime.fromisoformat(event["time"]) for event in told)
    return (ended - began).total_seconds(), told[1]["data"]
