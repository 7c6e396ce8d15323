"""What Cursor keeps below `~/.cursor`: the transcript, the chat's database, trust, the allowlist."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import time
from collections import deque
from pathlib import Path
from typing import Any

from agentd.testing.cursor.builds import Build


class Transcript:
    """Rows reach the file late, in order; the file is made with the first one."""

    def __init__(self, path: Path, lag: float) -> None:
        self.path = path
        self.lag = lag
        self._late: deque[tuple[float, dict[str, Any]]] = deque()

    @property
    def exists(self) -> bool:
        return self.path.exists()

    @property
    def due(self) -> float | None:
        """When the next row is to be written, by the monotonic clock."""
        return self._late[0][0] if self._late else None

    def add(self, row: dict[str, Any], lag: float | None = None) -> None:
        at = time.monotonic() + (self.lag if lag is None else lag)
        self._late.append((at, row))

    def prompt(self, text: str) -> None:
        when = time.strftime("%A, %b %d, %Y, %H:%M")
        shown = f"<timestamp>{when}</timestamp>\n<user_query>\n{text}\n</user_query>"
        self.add({"role": "user", "message": {"content": [{"type": "text", "text": shown}]}})

    def said(self, text: str, tool: tuple[str, dict[str, Any]] | None = None) -> None:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if tool:
            content.append({"type": "tool_use", "name": tool[0], "input": tool[1]})
        if content:
            self.add({"role": "assistant", "message": {"content": content}})

    def ended(self, status: str, error: str = "", lag: float | None = None) -> None:
        self.add({"type": "turn_ended", "status": status, **({"error": error} if error else {})}, lag)

    def flush(self, *, all_of_it: bool = False) -> None:
        """Write what is due."""
        while self._late and (all_of_it or self._late[0][0] <= time.monotonic()):
            _, row = self._late.popleft()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def prompts(self) -> int:
        """How many prompts the chat has had."""
        try:
            rows = [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
        except OSError:
            return 0
        return sum(row.get("role") == "user" for row in rows)


class Home:
    """`~/.cursor`, for one workspace."""

    def __init__(self, home: Path, workspace: Path, build: Build) -> None:
        self.folder = home / ".cursor"
        self.workspace = workspace
        self.build = build
        slug = re.sub(r"[^A-Za-z0-9]+", "-", str(workspace)).strip("-")[-60:]
        self.project = self.folder / "projects" / slug

    def transcript(self, chat: str, lag: float) -> Transcript:
        folder = self.project / "agent-transcripts"
        return Transcript((folder / chat if self.build.chat_folder else folder) / f"{chat}.jsonl", lag)

    def open_store(self, chat: str) -> sqlite3.Connection:
        """The chat's database, which the program holds open."""
        digest = hashlib.md5(os.path.realpath(self.workspace).encode(), usedforsecurity=False).hexdigest()
        folder = self.folder / "chats" / digest / chat
        folder.mkdir(parents=True, exist_ok=True)
        store = sqlite3.connect(folder / "store.db")
        store.execute("PRAGMA journal_mode=WAL")
        store.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)")
        store.execute("CREATE TABLE IF NOT EXISTS blobs (id TEXT PRIMARY KEY, data BLOB)")
        store.commit()
        return store

    @property
    def trusted(self) -> bool:
        return (self.project / ".workspace-trusted").exists()

    def trust(self) -> None:
        self.project.mkdir(parents=True, exist_ok=True)
        data = {
            "trustedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "workspacePath": str(self.workspace),
        }
        (self.project / ".workspace-trusted").write_text(json.dumps(data), encoding="utf-8")

    @property
    def servers(self) -> dict[str, Any]:
        """The project's MCP servers, by name."""
        try:
            data = json.loads((self.workspace / ".cursor" / "mcp.json").read_text(encoding="utf-8"))
            return dict(data["mcpServers"])
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def allowed(self, permission: str) -> bool:
        """Whether the user's configuration allows it without asking."""
        return permission in self._config().get("permissions", {}).get("allow", [])

    def allow(self, permission: str) -> None:
        """A person has widened the allowlist."""
        config = self._config()
        config.setdefault("permissions", {}).setdefault("allow", []).append(permission)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "cli-config.json").write_text(json.dumps(config), encoding="utf-8")

    def _config(self) -> dict[str, Any]:
        try:
            config = json.loads((self.folder / "cli-config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return config if isinstance(config, dict) else {}
