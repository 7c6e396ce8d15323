"""What the installed Pi says of itself: its release, its flags, and whether its Node.js can run it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd.adapter import Program, Unsupported

_NODE = re.compile(r"\bNode\.js (v\d+[\d.]*)")
_TOO_OLD = ("SyntaxError", "ERR_UNKNOWN", "ERR_REQUIRE_ESM", "is not a function", "Unsupported engine")


def examine(program: Program) -> Mapping[str, Any]:
    """Raises Unsupported for another program's `pi`, for one that its Node.js can't run, and for a release
    that can't be told which session to go on with."""
    if node := _NODE.search(program.version):
        raise Unsupported(_other_node(program.argv, node[1], program.version))
    found = re.match(r"v?(\d+)\.(\d+)\.(\d+)", program.version.strip())
    if not found or not program.knows("--extension"):
        raise Unsupported(
            f"{' '.join(program.argv)} isn't the Pi coding agent: `--version` says {program.version[:80]!r}, "
            "and `--help` must name --extension"
        )
    if not program.knows("--session"):
        raise Unsupported(f"Pi {found[0]} doesn't know --session: install a newer release")
    return {"release": [int(part) for part in found.groups()], "mcp": program.knows("--no-mcp")}


def _other_node(argv: Sequence[str], node: str, said: str) -> str:
    """Node.js prints its own release below an error that it couldn't handle."""
    wanted = _engines(argv)
    if not wanted and not any(sign in said for sign in _TOO_OLD):
        return f"{' '.join(argv)} crashes under Node.js {node}: {said.strip()[-300:]}"
    need = f"Node.js {wanted}" if wanted else "a newer Node.js"
    return (
        f"this Pi needs {need}, and was run by {node}: put a newer one first on the PATH of your login "
        'shell, or name both in the config: [adapters.pi] command = ["/path/to/node", "/path/to/pi"]'
    )


def _engines(argv: Sequence[str]) -> str | None:
    """Which Node.js the program's package asks for, where the package can be found beside the program."""
    for word in reversed(argv):
        path = Path(word).resolve()
        if not path.is_file():
            continue
        for folder in path.parents[:4]:
            try:
                package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            engines = package.get("engines") if isinstance(package, dict) else None
            if isinstance(engines, dict) and isinstance(engines.get("node"), str):
                return str(engines["node"])
    return None
