"""The CLI that is held to the suite: how it is run, and what it can't do, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Backstop:
    """How a CLI itself ends a silent MCP call. `says` stands in what it tells the model, `{ms}` for the
    limit; it looks every `every_s` seconds, so that it may be late by that; `progress` tells whether a tool
    that speaks goes on."""

    says: str
    every_s: float = 0.0
    progress: bool = True


@dataclass(frozen=True)
class Subject:
    """One CLI at one release, and how it is run against the scripted model.

    `setup(model_url, root)` writes what the user's own first run would have written below `root/"home"`
    and returns the config; `root/"work"` is the workspace. `silent_tool` and `asking_tool` make a prompt
    line that runs a silent tool for so many seconds, and one that needs an approval and then writes the
    file.
    """

    provider: str
    setup: Callable[[str, Path], str]
    silent_tool: Callable[[float], str] = lambda seconds: (
        f"@bash python3 -c 'import time; time.sleep({seconds})'"
    )
    asking_tool: Callable[[Path], str] | None = None
    refused: tuple[str, ...] = ("@err 401", "@err 400")
    """Prompts that end in a failed turn at once."""
    exhausted: str | None = "@err 529"
    """A prompt that fails after retries."""
    recovers: str | None = "@err 529 1\n@say recovered"
    cut_outcomes: frozenset[str] = frozenset({"completed", "failed"})
    """How a stream that breaks in the middle may truthfully end."""
    steers_text: frozenset[str] = frozenset({"joined", "own"})
    """What a prompt steered into a turn of text alone becomes."""
    trust_dialog: Callable[[Path], None] | None = None
    """Makes a folder about which the CLI asks whether it is trusted."""
    leave: str = "/exit"
    resumes: bool = True
    scripted_by_model: bool = True
    """False for a simulator, which plays the script in the prompt by itself and asks no model."""
    cli_writes: frozenset[str] = frozenset()
    """Files below HOME that the CLI itself rewrites, by name; all others must stay as they were."""
    longest: int = 1_000_000
    """The longest prompt in bytes that is tried."""
    allow: Callable[[Path, str], None] | None = None
    """Writes what a user writes, below `root/"home"` or into `root/"config.toml"`, who lets the model call a
    tool of the bridge without being asked. None: the CLI never asks."""
    add_server: Callable[[Path, Sequence[str]], str] | None = None
    """Adds an MCP server called `mine` to the user's own, with this command, and lets the model call its tool
    `ping`; the tool's name for the model."""
    backstop: Backstop | None = None


def leave_out(suite: type, needs: Mapping[str, Sequence[str]], subject: Subject) -> None:
    """Take those tests out of a suite that need a part which the subject lacks."""
    for part, tests in needs.items():
        if not getattr(subject, part):
            for test in tests:
                setattr(suite, test, None)
