"""The running turn, and the prompts that wait for it. It owns the clock; the screen is somebody else's."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator

from agentd.demo.session import new_session_id
from agentd.demo.shell import Job
from agentd.demo.turn import Crash, Finished, Forever, Pause, Shell
from agentd.testing.cursor.chat import Chat
from agentd.testing.cursor.dialogs import Question
from agentd.testing.cursor.options import Options
from agentd.testing.cursor.turn import Answer, Rejected, Request, Show, Turn, Waiting


class Turns:
    """Drives one turn at a time. `allowed` tells whether a question needn't be asked; `crash` ends the
    program."""

    def __init__(
        self,
        options: Options,
        chat: Chat,
        show: Show,
        *,
        allowed: Callable[[str], bool],
        crash: Callable[[int], None],
    ) -> None:
        self.turn: Turn | None = None
        self.asked: Question | None = None
        self.waiting: deque[Waiting] = deque()
        self.job: Job | None = None
        self.limited = False
        self._options = options
        self._chat = chat
        self._show = show
        self._allowed = allowed
        self._crash = crash
        self._flow: Generator[Request, Answer, None] | None = None
        self._wake_at: float | None = None

    def __repr__(self) -> str:
        return f"<Turns: {self.turn or 'idle'}, {len(self.waiting)} waiting>"

    @property
    def due(self) -> float | None:
        return self._wake_at

    def submit(self, text: str) -> None:
        """A prompt: it begins a turn, or waits for the one that runs."""
        id = new_session_id()
        if self.turn is None:
            self._begin(Waiting(text, id, False))
            return
        hooked = self._options.prompt_hook == "enter"
        if hooked and self._blocked(text, id):
            return
        self.waiting.append(Waiting(text, id, hooked))

    def answer(self, said: bool | Rejected) -> None:
        """What a person said to the question."""
        self.asked = None
        self._advance(said)

    def interrupt(self) -> str | None:
        """End the running turn; its prompt, if it is given back."""
        turn = self.turn
        if turn is None:
            return None
        self.close()
        turn.interrupted()
        return turn.prompt if self._options.restore and not turn.said else None

    def send_now(self) -> None:
        """What waits doesn't wait for the running turn any longer."""
        self.interrupt()

    def close(self) -> None:
        """End the running turn without a word."""
        if self._flow:
            self._flow.close()
        if self.job:
            self.job.close()
        self.turn = self._flow = self.job = self._wake_at = self.asked = None

    def child_ended(self) -> None:
        job = self.job
        if job and job.ended:
            self.job = None
            job.read()
            finished = Finished(job.status, job.output())
            job.close()
            self._advance(finished)

    def go_on(self) -> None:
        """Do what is due."""
        if self._wake_at is not None and time.monotonic() >= self._wake_at:
            self._advance(None)
        while self.turn is None and self.waiting and not self.limited:
            self._begin(self.waiting.popleft())

    def _blocked(self, text: str, id: str) -> bool:
        said = self._chat.submit(text, id)
        if said.blocked:
            self._show("notice", f"Hook blocked with message: {said.blocked}")
        return bool(said.blocked)

    def _begin(self, waiting: Waiting) -> None:
        self._show("prompt", waiting.text)
        if not waiting.hooked and self._blocked(waiting.text, waiting.id):
            return
        steers = self._options.build.steers
        self.turn = Turn(waiting.text, waiting.id, self._chat, self._show, self.waiting, steers=steers)
        self._flow = self.turn.run()
        self._advance(None)

    def _advance(self, said: Answer) -> None:
        """Let the turn go on until it asks for something that takes time."""
        self._wake_at = None
        while self._flow and self.turn:
            try:
                request = self._flow.send(said)
            except StopIteration:
                self._over(self.turn)
                return
            match request:
                case Question(permission=permission) if permission and self._allowed(permission):
                    said = True
                    continue
                case Question():
                    self.asked = request
                case Pause(ticks):
                    self._wake_at = time.monotonic() + ticks * self._options.tick
                case Shell(command):
                    self.job = Job(command)
                case Crash(status):
                    self._crash(status)
                case Forever():
                    pass
            return

    def _over(self, turn: Turn) -> None:
        self.turn = self._flow = None
        self.limited = turn.limited
        if turn.followup:
            self.waiting.appendleft(Waiting(turn.followup, new_session_id(), False))
