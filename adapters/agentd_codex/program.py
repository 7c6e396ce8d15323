"""What the installed Codex says of itself: its release and its flags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentd.adapter import Program, Unsupported

OLDEST = (0, 147, 0)
"""Before it (0.133-0.144.6), a turn that failed can't be told from one without a text by the rollout."""


def examine(program: Program) -> Mapping[str, Any]:
    """Raises Unsupported for another program's `codex`, and for a release that is too old."""
    found = re.match(r"codex-cli (\d+)\.(\d+)\.(\d+)", program.version)
    if not found:
        raise Unsupported(f"{program.argv[0]} isn't Codex: `--version` says {program.version[:80]!r}")
    release = (int(found[1]), int(found[2]), int(found[3]))
    if release < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise Unsupported(
            f"Codex {found[0].split()[1]} isn't supported: agentd needs {oldest} or newer "
            "(`npm install -g @openai/codex` installs one)"
        )
    if not program.knows("--config"):
        raise Unsupported(f"Codex {found[0].split()[1]} doesn't know --config")
    return {"release": list(release)}
