"""Finding a chat's transcript where no hook names it: by the id of the chat that the process holds open.

The folder's name below `projects` is made of the path in a way that loses letters, so the id is looked for
in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd_cursor.launch import UUID
from agentd_cursor.record import TRANSCRIPT

FOLDER = "agent-transcripts"


def records(open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
    """The transcript: the one that hooks named, else that of the newest chat among the open files."""
    if named := memory.get("transcript"):
        return {TRANSCRIPT: Path(named)}
    stores = [path for path in open_files if path.name == "store.db" and UUID.fullmatch(path.parent.name)]
    chat = memory.get("chat")
    mine = [path for path in stores if path.parent.name == chat] or sorted(stores, key=_changed)
    if not mine:
        return {}
    # .../.cursor/chats/DIGEST/ID/store.db
    found = _transcript(mine[-1].parents[3], mine[-1].parent.name)
    return {TRANSCRIPT: found} if found else {}


def _transcript(home: Path, chat: str) -> Path | None:
    """`projects/SLUG/agent-transcripts/ID/ID.jsonl`, in older builds without the folder ID."""
    try:
        for pattern in (f"*/{FOLDER}/{chat}/{chat}.jsonl", f"*/{FOLDER}/{chat}.jsonl"):
            if found := next((home / "projects").glob(pattern), None):
                return found
    except OSError:
        # It will be asked again.
        pass
    return None


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
