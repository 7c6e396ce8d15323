"""What the demo agent writes about itself: its record, and the hook events that say the same.

Every fact goes through one method of `Facts`, so this file is the list of what others can learn:
which rows the record has and which hook events are fired. An interruption fires no hook.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

from agentd.demo.hooks import Hooks

Row = dict[str, object]


class Record:
    """A file of JSON lines, appended to, one write a row."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._file: int | None = None

    def write(self, row: Row) -> None:
        if self.path is None:
            return
        if self._file is None:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)  # noqa: PTH103, PTH100, PTH120
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        data = memoryview(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        while data:
            data = data[os.write(self._file, data) :]

    def rows(self) -> Iterator[Row]:
        """What the file holds already; a broken line is passed over."""
        if self.path is None:
            return
        try:
            with open(self.path, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
                for line in lines:
                    try:
                        row = json.loads(line)
                    except ValueError:
                        continue
                    if isinstance(row, dict):
                        yield row
        except OSError:
            return


class Facts:
    """Says each fact twice: as a row of the record and as a hook event."""

    def __init__(self, record: Record, hooks: Hooks, session_id: str) -> None:
        self._record = record
        self._hooks = hooks
        self.session_id = session_id

    def _row(self, kind: str, **values: object) -> None:
        self._record.write({"time": time.time(), "type": kind, **values})

    def _hook(self, event: str, **values: object) -> None:
        self._hooks.fire(
            {"hook_event_name": event, "time": time.time(), "session_id": self.session_id, **values}
        )

    def session(self, source: str, model: str) -> None:
        self._row("session", session_id=self.session_id, source=source, model=model, cwd=os.getcwd())  # noqa: PTH109
        self._hook("SessionStart", record=self._record.path, source=source, model=model, cwd=os.getcwd())  # noqa: PTH109

    def prompt(self, text: str, prompt_id: str, origin: str) -> None:
        self._row("user", text=text, prompt_id=prompt_id, origin=origin)
        self._hook("UserPromptSubmit", prompt=text, prompt_id=prompt_id, origin=origin)

    def steer(self, operation: str, text: str, steer_id: str) -> None:
        """`enqueue`, then `join` or `own_turn`."""
        self._row("steer", operation=operation, text=text, steer_id=steer_id)
        event = {"enqueue": "SteerQueued", "join": "SteerJoined", "own_turn": "SteerOwnTurn"}[operation]
        self._hook(event, text=text, steer_id=steer_id)

    def tool_started(self, tool: str, use_id: str, given: str) -> None:
        self._row("tool_use", tool_name=tool, tool_use_id=use_id, input=given)
        self._hook("PreToolUse", tool_name=tool, tool_use_id=use_id, input=given)

    def tool_ended(self, tool: str, use_id: str, failed: bool, output: str) -> None:
        self._row("tool_result", tool_name=tool, tool_use_id=use_id, failed=failed, output=output)
        self._hook("PostToolUse", tool_name=tool, tool_use_id=use_id, failed=failed)

    def approval(self, tool: str, text: str) -> None:
        self._hook("PermissionRequest", tool_name=tool, text=text)

    def said(self, text: str, prompt_id: str, *, final: bool) -> None:
        self._row("assistant", text=text, prompt_id=prompt_id, final=final)

    def done(self, reply: str, prompt_id: str, background: list[str]) -> None:
        self._row("turn_end", prompt_id=prompt_id, background=background)
        tasks = [{"id": task, "type": "task", "status": "running"} for task in background]
        self._hook("Stop", last_assistant_message=reply, prompt_id=prompt_id, background_tasks=tasks)

    def failed(self, message: str, prompt_id: str, reply: str) -> None:
        self._row("error", message=message, prompt_id=prompt_id, reply=reply)
        self._hook("StopFailure", error=message, prompt_id=prompt_id, last_assistant_message=reply)

    def interrupted(self, prompt_id: str) -> None:
        self._row("interrupted", prompt_id=prompt_id)

    def shell(self, command: str, output: str) -> None:
        self._row("shell", command=command, output=output)

    def child(self, pid: int) -> None:
        self._row("child", pid=pid)

    def goodbye(self, reason: str) -> None:
        self._hook("SessionEnd", reason=reason)
