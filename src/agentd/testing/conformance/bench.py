"""What a test of the suite works with: a daemon, a scripted model, and the CLI's agent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentd.testing.conformance.subject import Subject
from agentd.testing.daemon import Completed, Daemon, Running
from agentd.testing.model import ScriptedModel
from agentd.testing.until import until

PATIENCE = 90.0


@dataclass
class Bench:
    """A daemon, a model and the CLI's agent."""

    subject: Subject
    daemon: Daemon
    model: ScriptedModel

    def send(self, text: str, *options: str, timeout: float = PATIENCE) -> Completed:
        return self.daemon.run(
            "send", self.subject.provider, "-q", *options, given=text.encode(), timeout=timeout
        )

    def begin(self, text: str, *options: str) -> Running:
        return self.daemon.begin("send", self.subject.provider, "-q", *options, given=text.encode())

    def say(self, text: str, *options: str) -> str:
        """Send a prompt that must succeed; its reply."""
        done = self.send(text, *options)
        assert done.code == 0, f"{text!r}: {done}\n{self.explain()}"
        return done.stdout.rstrip("\n")

    @property
    def name(self) -> str:
        return f"{self.subject.provider}-work"

    def agent(self) -> dict[str, Any]:
        return self.daemon.agent(self.name)

    def explain(self) -> str:
        return self.daemon.run("explain", self.name).stdout

    def heard(self, text: str, since: int) -> bool:
        """Whether the model was told this text, in one piece, in a request since then; of a simulator,
        whether its record has it."""
        wanted = visible(text)
        if not self.subject.scripted_by_model:
            return any(wanted in visible(str(event["data"].get("text"))) for event in events(self))
        return any(
            wanted in visible(piece)
            for request in self.model.requests[since:]
            for piece in strings(request.body)
        )

    def works(self) -> dict[str, Any]:
        return self.daemon.reaches("working", self.name)

    def asked(self, count: int) -> None:
        """Wait until the model has been asked so many times."""
        until(f"{count} requests", lambda: len(self.model.requests) >= count)

    def streaming(self, text: str) -> Running:
        """A turn whose text is on its way."""
        before = len(self.model.requests)
        running = self.begin(text)
        if self.subject.scripted_by_model:
            self.asked(before + 1)
        self.works()
        return running

    def in_tool(self, text: str, *options: str) -> Running:
        """A turn that is in its first tool."""
        running = self.begin(text, *options)

        def tool() -> bool:
            if not self.daemon.has(self.name):
                return False
            return "(in " in (self.daemon.explained(self.name)["waiting_for"] or "")

        until("the turn is in its tool", tool)
        return running


def events(bench: Bench) -> list[dict[str, Any]]:
    """The agent's events so far."""
    lines = bench.daemon.run("events", bench.name).stdout.splitlines()
    return [json.loads(line) for line in lines]


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


_HIDDEN = re.compile("[\\s\u2800\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe0f\ufeff\x00-\x1f\x7f]")


def visible(text: str) -> str:
    """What a person sees of a text, without its blanks."""
    return _HIDDEN.sub("", text.replace("\x1b", ""))


def snapshot(*folders: Path) -> Mapping[Path, bytes]:
    """Every file there, with its bytes."""
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def unchanged(before: Mapping[Path, bytes]) -> list[str]:
    """The files of a snapshot that are gone or have other bytes."""
    return [
        str(path) for path, content in before.items() if not path.is_file() or path.read_bytes() != content
    ]
