"""Following a turn to its end: what `send` and `wait` share."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from agentd.api.client import ApiError, ClientError, NoDaemon
from agentd.api.reconnecting import Ask, Away, Line
from agentd.cli.face import Face, complain, out, plain
from agentd.cli.failures import FAILED, INTERRUPTED, OUTCOMES
from agentd.cli.progress import Progress

KEYS = (
    "agent", "provider", "turn", "receipt", "outcome", "reply", "error",
    "session_id", "started_at", "ended_at", "duration_s",
)  # fmt: skip
"""The public JSON of `send` and `wait`."""


class Follower:
    """Shows a turn's progress and prints its result. `left_behind` says what becomes of it where its caller
    leaves while the daemon is away."""

    def __init__(self, face: Face, target: str, *, quiet: bool, left_behind: str) -> None:
        self.face = face
        self.target = target
        self.left_behind = left_behind
        self.progress = Progress(quiet=quiet)
        self.line = Line(face.client(), self.progress.show)
        self.agent: str | None = None
        """The agent's name, once the daemon has said it."""
        self.awaits: Mapping[str, str | None] = {}
        """What a `wait` waits for, by the daemon's word."""
        self.receipt: str | None = None
        self.interrupted = False
        self.over = False
        self._attention: Any = None
        face.frame = self._framed

    def follow(self, ask: Callable[[], Ask]) -> int:
        """Read the events up to the result, print it, and return the exit code. `ask` is asked again after a
        daemon that went away.

        Raises:
            ApiError: the daemon refused, at once or later.
            ClientError: as `Line.events` says.
            KeyboardInterrupt: Ctrl-C; it says so where the daemon is away.
        """
        events = self.line.events(ask, ("result", "error"))
        try:
            for name, data in events:
                if name == "progress":
                    self._show(data)
                elif name == "error":
                    raise ApiError.of(200, data)
                elif name == "result":
                    self.over = True
                    self.progress.clear()
                    return self._finish(data)
            raise AssertionError("the events end with a result or an error")
        except KeyboardInterrupt:
            if self.line.away:
                raise KeyboardInterrupt(f"interrupted while the daemon is away; {self.left_behind}") from None
            raise
        except Away as error:
            raise Away(f"{error}; {self.left_behind}") from error
        finally:
            events.close()
            self.progress.clear()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], Mapping[str, Any]]) -> Iterator[None]:
        """The first Ctrl-C interrupts the turn and reads on; the second one leaves at once."""

        def on_ctrl_c(number: int, frame: FrameType | None) -> None:
            if self.interrupted or self.over or self.line.away or self.receipt == "queued":
                # Leaving takes a queued message back. To interrupt would hit another caller's turn,
                # and so it would when ours is over.
                raise KeyboardInterrupt
            self.interrupted = True
            self.progress.say("interrupting the turn; Ctrl-C again leaves at once")
            try:
                done = interrupt().get("interrupted")
            except NoDaemon:
                self.line.away = True
                raise KeyboardInterrupt from None
            except ClientError as error:
                complain(f"the turn could not be interrupted: {error}")
            else:
                if not done:
                    self.progress.say("no turn runs yet; Ctrl-C again leaves and takes the message back")

        before = signal.getsignal(signal.SIGINT)
        if before is signal.SIG_IGN:  # A shell's background job: it is none of our business.
            yield
            return
        signal.signal(signal.SIGINT, on_ctrl_c)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _show(self, data: Mapping[str, Any]) -> None:
        self.receipt = data.get("receipt") or self.receipt
        self.agent = data.get("agent") or self.agent
        self.awaits = data.get("awaits") or self.awaits
        attention = data.get("attention")
        if attention and attention != self._attention:
            self.progress.say(self._wanted(self.target, attention))
        self._attention = attention
        if text := data.get("text"):
            self.progress.show(text)

    def _finish(self, result: Mapping[str, Any]) -> int:
        outcome = str(result.get("outcome"))
        if self.face.json:
            self.face.emit({key: result.get(key) for key in KEYS})
        elif reply := result.get("reply"):
            out(reply)
        if outcome == "attention":
            complain(self._wanted(result.get("agent") or self.target, result.get("attention") or {}))
        elif outcome == "submitted":
            self._submitted(result)
        elif outcome != "completed":
            complain(_why(outcome, result.get("error") or {}))
        return INTERRUPTED if self.interrupted else OUTCOMES.get(outcome, FAILED)

    def _submitted(self, result: Mapping[str, Any]) -> None:
        if not self.progress.quiet:
            self.progress.say(f"{result.get('agent') or self.target}: {result.get('receipt') or 'submitted'}")

    def _wanted(self, agent: str, attention: Mapping[str, Any]) -> str:
        """Who needs a person and why, and the command that answers."""
        about = attention.get("text") or "it waits for a person"
        lines = [f"{agent} needs you ({attention.get('reason') or 'attention'}): {plain(about)}"]
        options = enumerate(attention.get("options") or [], 1)
        lines += [f"  {number}. {plain(option)}" for number, option in options]
        how = plain(attention.get("how") or "")
        if "agentd answer" not in how:
            how = f"`agentd answer {agent} approve`, `deny`, or an option's number" + (
                f"; {how}" if how else ""
            )
        lines.append(f"answer with {how}" if how.startswith("`") else f"answer: {how}")
        return "\n".join(lines)

    def _framed(self, error: Mapping[str, Any]) -> Mapping[str, Any]:
        """An error as the object of `send` and `wait`: the same keys, whatever happened."""
        unknown = ("provider", "turn", "session_id", "started_at", "ended_at", "duration_s")
        outcome = {
            "daemon_gone": "lost",
            "lost": "lost",
            "interrupted": "interrupted",
            "timeout": "timed_out",
        }
        return {
            **dict.fromkeys(unknown),
            "agent": self.target,
            "receipt": self.receipt,
            "outcome": outcome.get(str(error["code"]).lower(), "failed"),
            "reply": None,
            "error": error,
        }


def _why(outcome: str, error: Mapping[str, Any]) -> str:
    message, layer = error.get("message"), error.get("layer")
    if not message:
        message = {"interrupted": "the turn was interrupted", "lost": "the agent was lost"}.get(
            outcome, f"the turn ended as {outcome}"
        )
    return message if not layer or f"layer={layer}" in message else f"{message} (layer={layer})"
