"""The project's MCP servers: started with the session, asked for their tools, ended with it.

Nobody could see when the real program starts them; others found them among its children, and saw it ask about
them before the first prompt.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

_CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "cursor", "version": "1"},
}
_HELLO = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _CLIENT},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
_VARIABLE = re.compile(r"\$\{env:(\w+)\}")


class Servers:
    """Those that run."""

    def __init__(self) -> None:
        self._running: list[Popen[bytes]] = []

    def __repr__(self) -> str:
        return f"<Servers: {len(self._running)} run>"

    def start(self, entries: Mapping[str, Any], workspace: Path) -> None:
        for entry in entries.values():
            env = {name: _VARIABLE.sub(_value, text) for name, text in entry.get("env", {}).items()}
            try:
                server = Popen(
                    [entry["command"], *entry.get("args", [])],
                    env={**os.environ, **env},
                    cwd=workspace,
                    stdin=PIPE,
                    stdout=DEVNULL,
                    stderr=DEVNULL,
                )
            except OSError:
                continue  # its tools are absent, and the session goes on
            assert server.stdin is not None
            server.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in _HELLO))
            server.stdin.flush()
            self._running.append(server)

    def close(self) -> None:
        """The end of its input ends a server."""
        for server in self._running:
            assert server.stdin is not None
            server.stdin.close()


def _value(found: re.Match[str]) -> str:
    return os.environ.get(found[1], "")
