"""A chat, told as Cursor tells it: hook events and transcript rows.

Every fact goes through one method of `Chat`, so this file is the list of what others can learn. Hooks have
the turn's id (`generation_id`) and no time; rows have neither.
"""

from __future__ import annotations

import json
from typing import Any

from agentd.demo.session import new_session_id
from agentd.testing.cursor.files import Home
from agentd.testing.cursor.hooks import Answer, Hooks
from agentd.testing.cursor.options import Options


class Chat:
    """`turn` is the running turn's id; between turns, the chat's."""

    def __init__(self, options: Options, home: Home, hooks: Hooks) -> None:
        self._options = options
        self._hooks = hooks
        self._home = home
        self.id, self.resumed = self._identity()
        self.turn = self.id
        self.transcript = home.transcript(self.id, options.row_lag)
        self.number = self.transcript.prompts()
        self._named = self.number > 0
        self._prose = ""
        self._store: Any = None

    def __repr__(self) -> str:
        return f"<Chat {self.id}, prompt {self.number}>"

    def _identity(self) -> tuple[str, bool]:
        """A chat of another directory isn't found, and a new one begins without a word."""
        wanted = self._options.resume
        if wanted is None:
            return new_session_id(), False
        elsewhere = self._home.folder.glob(f"projects/*/agent-transcripts/**/{wanted}.jsonl")
        here = self._home.transcript(wanted, 0).path
        return (new_session_id(), False) if any(path != here for path in elsewhere) else (wanted, True)

    def _fire(self, event: str, *, named: bool | None = None, **fields: Any) -> Answer:
        named = self._named if named is None else named
        return self._hooks.fire(
            event,
            {
                "conversation_id": self.id,
                "generation_id": self.turn,
                "model": "default",
                **fields,
                "session_id": self.id,
                "cursor_version": self._options.build.name,
                "workspace_roots": [str(self._home.workspace)],
                "user_email": "somebody@example.com",
                "transcript_path": str(self.transcript.path) if named else None,
            },
        )

    # The session ----------------------------------------------------------------------------------

    def begins(self) -> None:
        """Only a new chat says so."""
        if not self.resumed:
            self._fire("sessionStart", is_background_agent=False, composer_mode="agent")

    def ends(self) -> None:
        self.turn = self.id
        self._fire("sessionEnd", reason="completed", final_status="completed", duration_ms=1000)
        self.transcript.flush(all_of_it=True)
        if self._store:
            self._store.close()

    # Prompts --------------------------------------------------------------------------------------

    def submit(self, text: str, turn: str) -> Answer:
        """Before a prompt is taken in; its turn's id is new."""
        was, self.turn = self.turn, turn
        try:
            return self._fire("beforeSubmitPrompt", prompt=text, attachments=[])
        finally:
            self.turn = was

    def begin(self, text: str, turn: str) -> None:
        """The turn runs."""
        if self._store is None:
            self._store = self._home.open_store(self.id)
        self.turn = turn
        self._prose = ""
        self.joins(text)

    def joins(self, text: str) -> None:
        self.number += 1
        self.transcript.prompt(text)

    def steered(self, turn: str) -> None:
        """A waiting prompt joined the turn; nobody knows which id the turn has from here on."""
        if self._options.steer_id == "new":
            self.turn = turn

    # Within a turn --------------------------------------------------------------------------------

    def tool_starts(self, name: str, given: dict[str, Any], prose: str) -> tuple[str, Answer]:
        """Before anybody was asked."""
        self._prose += prose
        use = new_session_id()
        answer = self._fire("preToolUse", tool_name=name, tool_input=given, tool_use_id=use, cwd="")
        if name == "Shell" and not answer.blocked:
            answer = self._fire("beforeShellExecution", command=given.get("command"), cwd="")
        return use, answer

    def tool_ends(
        self, name: str, use: str, given: dict[str, Any], prose: str, seconds: float, output: str
    ) -> None:
        """`seconds` includes the wait for a person. The row comes only now."""
        self._named = True
        self._fire(
            "postToolUse", tool_name=name, tool_input=given, tool_use_id=use, cwd="",
            tool_output=json.dumps({"output": output, "exitCode": 0}), duration=seconds * 1000,
        )  # fmt: skip
        if name == "Shell":
            self._fire(
                "afterShellExecution", command=given.get("command"), output=output, duration=seconds * 1000
            )
        self.transcript.said(prose, (name, given))

    def tool_fails(
        self, name: str, use: str, given: dict[str, Any], prose: str, why: str, *, interrupt: bool = False
    ) -> None:
        self._named = True
        kind = "aborted" if interrupt else "error"
        self._fire(
            "postToolUseFailure", tool_name=name, tool_input=given, tool_use_id=use, cwd="",
            error_message=why, failure_type=kind, is_interrupt=interrupt, duration=1.0,
        )  # fmt: skip
        self.transcript.said(prose, (name, given))

    # The end --------------------------------------------------------------------------------------

    def done(self, reply: str) -> Answer:
        """All prose of the turn, glued; then the end. The rows come later."""
        self._named = True
        if not self._options.no_response:
            self._fire("afterAgentResponse", text=self._prose + reply)
        answer = self._stop("completed")
        self.transcript.said(reply)
        self.transcript.ended("success")
        return answer

    def failed(self, reply: str, error: str) -> None:
        self._named = True
        self._stop("error")
        self.transcript.said(reply)
        self.transcript.ended("error", error)

    def aborted(self) -> None:
        """Two ends, one after the other, without the transcript's name; its row is very late."""
        for status in ("error", "aborted"):
            if self._options.stops in (status, "both"):
                self._stop(status, named=False)
        status, error = self._options.build.aborted
        self.transcript.ended(status, error, self._options.aborted_lag)

    def _stop(self, status: str, *, named: bool | None = None) -> Answer:
        return self._fire("stop", named=named, status=status, loop_count=0, input_tokens=1, output_tokens=1)
