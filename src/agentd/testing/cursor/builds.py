"""How builds of Cursor's CLI differ, as far as others saw it. Pure.

The look changed in small steps from May to September 2026. A build is named by its day; the rest of its name
is made up.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Build:
    """One build. `name` is what `--version` prints."""

    name: str
    ruled: bool
    """The composer stands between rules of half blocks; before, between blank dark rows."""
    most_rows: int
    """Of a longer draft only the tail is shown."""
    skip: str
    """What the "no" of an approval is called."""
    asks_reason: bool
    """After a "no" it asks why."""
    steers: bool
    """A prompt typed into a running turn joins it at its next safe point; before, it is a turn of its own."""
    says_resume: bool
    """At the end it says how to resume."""
    verbs: tuple[str, str]
    """What the spinner says before and after the first output."""
    aborted: tuple[str, str]
    """The status and error of an interrupted turn's last row."""
    chat_folder: bool
    """The transcript has a folder of its own."""
    tip: str
    flags: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Build {self.name}>"


def build(name: str) -> Build:
    """The build of a day (`2026.09.26`), or of a full name.

    Raises:
        ValueError: it isn't a day.
    """
    found = re.match(r"(\d{4})\.(\d\d)\.(\d\d)(-\S+)?$", name)
    if not found:
        raise ValueError(f"{name!r} is no build: write YYYY.MM.DD")
    day = (int(found[1]), int(found[2]), int(found[3]))
    return Build(
        name=name if found[4] else _full_name(name, day),
        ruled=day >= (2026, 6, 20),
        most_rows=6 if day >= (2026, 7, 1) else 12,
        skip="Skip & tell the agent what to do instead" if day >= (2026, 7, 1) else "Skip",
        asks_reason=day >= (2026, 7, 1),
        steers=day >= (2026, 8, 1),
        says_resume=(2026, 7, 1) <= day < (2026, 8, 1) or day >= (2026, 9, 1),
        verbs=("Thinking", "Running") if day >= (2026, 9, 1) else _older_verbs(day),
        aborted=("aborted", "User aborted the request manually.")
        if day >= (2026, 8, 1)
        else ("error", "User aborted request"),
        chat_folder=day >= (2026, 6, 20),
        tip="Type / for commands, @ for files." if day >= (2026, 9, 1) else "Try a smaller prompt first.",
        flags=_flags(day),
    )


def _full_name(name: str, day: tuple[int, int, int]) -> str:
    mark = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()[:7]
    return f"{name}-{mark}" if day >= (2026, 6, 20) else f"{name}-01-02-03-{mark}"


def _older_verbs(day: tuple[int, int, int]) -> tuple[str, str]:
    return ("Working", "Working") if day >= (2026, 7, 1) else ("Generating", "Composing")


def _flags(day: tuple[int, int, int]) -> tuple[str, ...]:
    """The lines of `--help`. That June doesn't list `--workspace` is made up: some build may not."""
    lines = [
        "-v, --version                output the version number",
        "--api-key <key>              API key for authentication",
        "-H, --header <header>        add a header to requests",
        "-p, --print                  print the answer (for scripts)",
        "--output-format <format>     text | json | stream-json, with --print",
        "--mode <mode>                plan | ask",
        "--resume [chatId]            resume a chat",
        "--continue                   continue the newest chat",
        "--model <model>              model to use",
        "--list-models                list the models",
        "-f, --force                  allow commands unless denied",
        "--approve-mcps               approve all MCP servers",
        "-h, --help                   display help",
    ]
    if day >= (2026, 7, 1):
        lines.append("--workspace <path>           workspace directory (default: the current one)")
        lines.append("--sandbox <mode>             enabled | disabled")
    if day >= (2026, 7, 20):
        lines.append("--trust                      trust the workspace without asking")
    return tuple(lines)
