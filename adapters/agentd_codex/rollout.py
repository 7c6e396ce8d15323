"""Which of the files that Codex holds open is the rollout of the conversation on its screen.

None is at the start; it is made 35-65 ms after the first Enter, or opened by `codex resume`. One process
holds several: those of its sub-agents, of commands that the model ran (`codex exec`), and, after `/new`
or `/fork`, the former conversation's. A new process also reads old ones for a moment. So what counts is
that it was written to since the process began.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SOURCE = "rollout:"
"""The name of a rollout as a source of rows is this and the conversation's id."""
SLACK_S = 1.0
"""How much earlier than the word of it a turn's first row may have been written."""
FIRST_ROW = 4 << 20
"""The longest first row that is read, in bytes: it holds the instructions of the user's project."""
_NAME = re.compile(r"rollout-.*\.jsonl")


def find(open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
    """The person's conversation that was written to last; nothing while Codex works on a prompt that is
    in none of them yet."""
    found: list[tuple[float, str, Path]] = []
    for path in open_files:
        if _NAME.fullmatch(path.name) and (conversation := _conversation(path)):
            try:
                found.append((path.stat().st_mtime, conversation, path))
            except OSError:
                continue
    if not found:
        return {}
    written, conversation, path = max(found)
    if written < max(born(memory), memory.get("working_since", 0.0) - SLACK_S):
        return {}
    return {SOURCE + conversation: path}


def born(memory: Mapping[str, Any]) -> float:
    """When the process began, by the wall clock; 0 where that was set back to before it and tells nothing."""
    at = float(memory.get("born", 0.0))
    return at if at <= time.time() else 0.0


def _conversation(path: Path) -> str | None:
    """The conversation's id, if a person leads it in this program's own terminal."""
    try:
        with path.open("rb") as file:
            row = json.loads(file.readline(FIRST_ROW))
        meta = row["payload"]
        if meta["source"] == "cli" and meta.get("thread_source") in (None, "user"):
            return str(meta["id"])
    except (OSError, ValueError, LookupError, TypeError):
        # Half written, gone again, or not what its name says.
        pass
    return None
