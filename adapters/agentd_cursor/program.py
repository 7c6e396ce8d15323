"""What the installed Cursor CLI says of itself: that it is one, its build, its flags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentd.adapter import Program, Unsupported

OLDEST = (2026, 5, 20)
"""Since this build hooks get their payload on standard input (seen by others); before it they run blind."""
GOOD = (2026, 7, 16)
"""Others saw hooks work in full from here on."""
NEEDED = ("--resume", "--model")

_BUILD = re.compile(r"(\d{4})\.(\d{2})\.(\d{2})-\S+")


def examine(program: Program) -> Mapping[str, Any]:
    """Raises Unsupported for another program (several tools are called `agent`) and for a build that is too
    old."""
    found = _BUILD.match(program.version)
    if not found:
        raise Unsupported(
            f"{program.argv[0]} isn't the Cursor CLI: `--version` says {program.version[:80]!r}, "
            "not a build such as 2026.09.26-0123abc"
        )
    build = (int(found[1]), int(found[2]), int(found[3]))
    if build < OLDEST:
        raise Unsupported(
            f"Cursor CLI {found[0]} isn't supported: agentd needs {_name(OLDEST)} or newer, "
            f"better {_name(GOOD)} (`{program.argv[0]} update` installs the newest)"
        )
    missing = [flag for flag in NEEDED if not program.knows(flag)]
    if missing:
        raise Unsupported(f"Cursor CLI {found[0]} doesn't list {', '.join(missing)} in its --help")
    facts: dict[str, Any] = {"build": list(build)}
    if build < GOOD:
        facts["advice"] = f"hooks were seen to work in full from {_name(GOOD)} on; update it"
    return facts


def _name(build: tuple[int, int, int]) -> str:
    return "{}.{:02}.{:02}".format(*build)
