"""The turns of a session: the one that runs, the texts that wait for it, the tasks it left behind."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from typing import NamedTuple

from agentd.demo.record import Facts
from agentd.demo.script import Step
from agentd.demo.shell import Job
from agentd.demo.turn import (
    NOTIFICATION,
    Answer,
    Crash,
    Finished,
    Forever,
    Pause,
    Question,
    Request,
    Shell,
    Show,
    Task,
    Turn,
    Waiting,
    new_id,
)


class Running(NamedTuple):
    """The turn that runs, and since when."""

    turn: Turn
    flow: Generator[Request, Answer, None]
    since: float


class Turns:
    """Drives one turn at a time. `ask` puts a question to a person, `answer` brings the answer back;
    `crash` ends the program; `give_back` gets a prompt that was interrupted before any output."""

    def __init__(
        self,
        facts: Facts,
        show: Show,
        tick: float,
        *,
        ask: Callable[[str], None],
        crash: Callable[[int], None],
        give_back: Callable[[str], None],
    ) -> None:
        self.running: Running | None = None
        self.waiting: deque[Waiting] = deque()
        self.asking = False
        self.job: Job | None = None
        self._facts = facts
        self._show = show
        self._tick = tick
        self._ask = ask
        self._crash = crash
        self._give_back = give_back
        self._tasks: list[tuple[float, Task]] = []
        self._wake_at: float | None = None
        self._frozen_at: float | None = None

    def __repr__(self) -> str:
        return f"<Turns: {self.running.turn if self.running else 'idle'}, {len(self.waiting)} waiting>"

    @property
    def seconds(self) -> int:
        """How long the turn has been running, as the spinner shows it: a frozen one stands still."""
        if self.running is None:
            return 0
        return int((self._frozen_at or time.monotonic()) - self.running.since)

    def deadlines(self) -> list[float]:
        """When something is due; empty while nothing is."""
        if self.running is None:
            return [at for at, _ in self._tasks]
        due = [] if self._wake_at is None else [self._wake_at]
        if self._frozen_at is None and not self.asking:
            now = time.monotonic()
            due.append(self.running.since + int(now - self.running.since) + 1)  # the spinner's clock
        return due

    def submit(self, text: str) -> None:
        """A prompt: it begins a turn, or waits for the one that runs."""
        if self.running is None:
            self._begin(text)
            return
        waiting = Waiting(new_id(), text)
        self.waiting.append(waiting)
        self._facts.steer("enqueue", text, waiting.id)

    def answer(self, allowed: bool) -> None:
        """What a person said to the question."""
        self.asking = False
        self._advance(allowed)

    def interrupt(self) -> None:
        """End the running turn. What waits runs next; without any output the prompt is given back."""
        if self.running is None:
            return
        turn = self.running.turn
        self.close()
        turn.interrupted()
        if not turn.said and not self.waiting and turn.origin == "human":
            self._give_back(turn.prompt)

    def close(self) -> None:
        """End the running turn without a word."""
        if self.running:
            self.running.flow.close()
        if self.job:
            self.job.close()
        self.running = self.job = self._wake_at = self._frozen_at = None
        self.asking = False

    def child_ended(self) -> None:
        """Some child has ended: if it was the turn's command, the turn goes on."""
        job = self.job
        if job and job.ended:
            self.job = None
            job.read()
            finished = Finished(job.status, job.output())
            job.close()
            self._advance(finished)

    def go_on(self) -> None:
        """Do what is due: wake the turn, begin what waits, then what went on in the background."""
        if self._wake_at is not None and time.monotonic() >= self._wake_at:
            self._advance(None)
        while self.running is None:
            if self.waiting:
                waiting = self.waiting.popleft()
                self._facts.steer("own_turn", waiting.text, waiting.id)
                self._begin(waiting.text)
                continue
            due = next((entry for entry in self._tasks if entry[0] <= time.monotonic()), None)
            if due is None:
                return
            self._tasks.remove(due)
            notice = f"{NOTIFICATION}\ntask {due[1].id} is done\n</task-notification>"
            self._begin(notice, [Step("say", due[1].text)])

    def _begin(self, prompt: str, steps: list[Step] | None = None) -> None:
        human = steps is None
        self._show("prompt" if human else "notice", prompt)
        still = [task.id for _, task in self._tasks]
        turn = Turn(
            prompt, self._facts, self._show, self.waiting, origin="human" if human else "system", still=still
        )
        self.running = Running(turn, turn.run(steps), time.monotonic())
        self._advance(None)

    def _advance(self, answer: Answer) -> None:
        """Let the turn go on until it asks for something that takes time."""
        self._wake_at = None
        if self.running is None:
            return
        try:
            request = self.running.flow.send(answer)
        except StopIteration:
            now = time.monotonic()
            self._tasks += [(now + task.ticks * self._tick, task) for task in self.running.turn.background]
            self.running = None
            return
        match request:
            case Pause(ticks):
                self._wake_at = time.monotonic() + ticks * self._tick
            case Shell(command):
                self.job = Job(command)
            case Question(text):
                self.asking = True
                self._ask(text)
            case Forever():
                self._frozen_at = time.monotonic()
            case Crash(status):
                self._crash(status)
