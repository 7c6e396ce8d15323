"""What the installed Claude Code says of itself: its release, its flags, the hook events it knows."""

from __future__ import annotations

import mmap
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentd.adapter import Program, Unsupported

OLDEST = (2, 1, 112)
"""Before it, an API error ends in a hook that looks like success, and one unknown hook event drops the
whole settings file (measured on 2.0.76 and 2.1.74)."""

ALWAYS_KNOWN = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    "PermissionRequest", "Stop", "StopFailure", "SessionEnd",
)  # fmt: skip
"""The events that are read; every supported release knows them."""

_EVENTS = re.compile(rb'\["PreToolUse","PostToolUse"[A-Za-z",]*\]')
_LARGE = 1 << 20


def examine(program: Program) -> Mapping[str, Any]:
    """Raises Unsupported for another program's `claude`, and for a release that is too old."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", program.version)
    if not found or "Claude Code" not in program.version:
        raise Unsupported(f"{program.argv[0]} isn't Claude Code: `--version` says {program.version[:80]!r}")
    release = (int(found[1]), int(found[2]), int(found[3]))
    if release < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise Unsupported(
            f"Claude Code {found[0]} isn't supported: agentd needs {oldest} or newer "
            "(`claude update` installs one)"
        )
    missing = [flag for flag in ("--settings", "--session-id", "--resume") if not program.knows(flag)]
    if missing:
        raise Unsupported(f"Claude Code {found[0]} doesn't know {', '.join(missing)}")
    known = _hook_events(program)
    return {
        "release": list(release),
        "hooks": [event for event in ALWAYS_KNOWN if not known or event in known],
    }


def _hook_events(program: Program) -> set[str]:
    """The longest list of hook events in the program's file; empty where it can't be found there."""
    best = b""
    for word in program.argv:
        path = Path(word)
        if not path.is_file() or path.stat().st_size < _LARGE:
            continue
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for match in _EVENTS.finditer(data):
                if len(match[0]) > len(best):
                    best = bytes(match[0])
    return set(re.findall("[A-Za-z]+", best.decode()))
