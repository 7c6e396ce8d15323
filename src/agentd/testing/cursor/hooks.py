"""Hooks as Cursor runs them: those of `~/.cursor/hooks.json` and the workspace's; the turn waits for all.

A file counts as a whole or not at all: without `"version": 1`, with a name of an event that isn't known or a
matcher that is no text, all of it is dropped without a word. `//` begins a comment, even inside of a text.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from tempfile import TemporaryFile
from typing import Any, NamedTuple

EVENTS = frozenset((
    "sessionStart", "sessionEnd", "beforeSubmitPrompt", "preToolUse", "postToolUse", "postToolUseFailure",
    "beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution",
    "beforeReadFile", "afterFileEdit", "beforeTabFileRead", "afterTabFileEdit", "afterAgentResponse",
    "afterAgentThought", "preCompact", "subagentStart", "subagentStop", "stop", "workspaceOpen",
))  # fmt: skip
DEFAULT_S = 60.0


class Answer(NamedTuple):
    """What the hooks said: a reason to block, a prompt to go on with."""

    blocked: str | None = None
    followup: str | None = None


class Hooks:
    """Reads the files again whenever one has changed. `project` is None until the workspace is trusted.
    `off`: an organisation's policy allows none."""

    def __init__(self, home: Path, *, off: bool = False) -> None:
        self.home = home
        self.off = off
        self.project: Path | None = None

    def __repr__(self) -> str:
        return f"<Hooks of {self.home}{f' and {self.project}' if self.project else ''}>"

    def fire(self, event: str, payload: Mapping[str, Any]) -> Answer:
        """Run what is registered for the event and wait for all of it."""
        data = json.dumps({**payload, "hook_event_name": event}).encode()
        running = [(self._start(str(entry["command"]), data), entry) for entry in self._entries(event)]
        blocked = followup = None
        for process, entry in running:
            try:
                output, problem = process.communicate(timeout=float(entry.get("timeout", DEFAULT_S)))
            except TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                continue
            if process.returncode == 2:
                blocked = problem.decode(errors="replace").strip() or "no reason given"
            try:
                said = json.loads(output)
            except ValueError:
                if event in ("preToolUse", "beforeShellExecution", "beforeMCPExecution") and output.strip():
                    blocked = "the hook's answer is no JSON"
                continue
            if isinstance(said, dict) and isinstance(said.get("followup_message"), str):
                followup = said["followup_message"]
        return Answer(blocked, followup)

    def _start(self, command: str, data: bytes) -> Popen[bytes]:
        folder = self.project or self.home
        with TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            return Popen(
                ["/bin/sh", "-c", command], stdin=file, stdout=PIPE, stderr=PIPE, cwd=folder, process_group=0
            )

    def _entries(self, event: str) -> list[Mapping[str, Any]]:
        if self.off:
            return []
        folders = [self.home, *([self.project] if self.project and self.project != self.home else [])]
        return [
            entry for folder in folders for entry in load(folder / ".cursor" / "hooks.json").get(event, [])
        ]


def load(path: Path) -> dict[str, list[Mapping[str, Any]]]:
    """The file's entries by event; empty where the file is missing or is dropped."""
    try:
        data = json.loads(re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict) or data.get("version") != 1 or not isinstance(data.get("hooks"), dict):
        return {}
    hooks: dict[str, list[Mapping[str, Any]]] = data["hooks"]
    for event, entries in hooks.items():
        if event not in EVENTS or not isinstance(entries, list):
            return {}
        for entry in entries:
            if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
                return {}
            if not isinstance(entry.get("matcher", ""), str):
                return {}
    return hooks
