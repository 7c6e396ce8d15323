"""A turn as it runs: a generator that asks for what takes time, and is told what came of it.

The one who drives it (`app.py`) owns the clock, the shell and the person; so a turn can be tested
without any of them. Closing the generator interrupts the turn.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from agentd.demo.record import Facts
from agentd.demo.script import Step, parse, pieces, small_talk

NOTIFICATION = "<task-notification>"


class Pause(NamedTuple):
    """Wait this many ticks."""

    ticks: float


class Shell(NamedTuple):
    """Run this command; the answer is a `Finished`."""

    command: str


class Finished(NamedTuple):
    """How a command ended."""

    status: int
    output: str


class Question(NamedTuple):
    """Ask a person; the answer is true or false."""

    text: str


class Forever(NamedTuple):
    """Nothing will ever come."""


class Crash(NamedTuple):
    """The program is to exit at once."""

    status: int


class Waiting(NamedTuple):
    """A text submitted while a turn ran."""

    id: str
    text: str


class Task(NamedTuple):
    """Work in the background of a turn that has ended."""

    id: str
    ticks: float
    text: str


Request = Pause | Shell | Question | Forever | Crash
Answer = Finished | bool | None
Show = Callable[[str, str], None]
"""Adds an entry to the transcript: its kind, its text."""


def new_id() -> str:
    return os.urandom(6).hex()


class Turn:
    """One prompt and what is made of it. `tool` is set while a tool runs; `said` tells whether there was
    any output."""

    def __init__(
        self,
        prompt: str,
        facts: Facts,
        show: Show,
        waiting: deque[Waiting],
        *,
        origin: str = "human",
        still: Sequence[str] = (),
    ) -> None:
        self.id = new_id()
        self.prompt = prompt
        self.origin = origin
        self.tool: str | None = None
        self.said = False
        self.background: list[Task] = []
        self._facts = facts
        self._show = show
        self._waiting = waiting
        self._still = still  # the ids of tasks that earlier turns left running
        self._text: list[str] = []
        self._partial = ""
        self._joined: list[str] = []
        self._conclusion = ""

    def __repr__(self) -> str:
        doing = f"tool {self.tool}" if self.tool else "text" if self.said else "thinking"
        return f"<Turn {self.id}: {doing}, {len(self._joined)} joined>"

    def run(self, steps: list[Step] | None = None) -> Generator[Request, Answer, None]:
        """Everything that happens, in order. Ends with the turn."""
        self._facts.prompt(self.prompt, self.id, self.origin)
        steps = parse(self.prompt) if steps is None else steps
        if not steps:
            self._say(small_talk(self.prompt))
        for step in steps:
            match step.name:
                case "say":
                    self._say(step.text)
                case "slow":
                    yield from self._stream(step)
                case "delay":
                    yield Pause(step.ticks)
                    self._say(step.text)
                case "tool":
                    yield from self._silent_tool(step)
                case "bash":
                    yield from self._bash(step.text)
                case "ask":
                    if not (yield from self._ask(step.text)):
                        self._conclusion = ""
                        self._text = ["denied"]
                        break
                case "error":
                    self._fail(step.text or "the demo was told to fail")
                    return
                case "cut":
                    self._say("This answer breaks off in the mid")
                    self._fail("the stream was cut off")
                    return
                case "silence":
                    yield Forever()
                case "crash":
                    yield Crash(int(step.text) if step.text.isdigit() else 1)
                case "background":
                    task = Task(new_id(), step.ticks, step.text)
                    self.background.append(task)
                    self._show("tool", f"Background(task {task.id})")
        self._end()

    @property
    def streamed(self) -> str:
        """The text so far, since the last tool."""
        return "\n".join([*self._text, self._partial] if self._partial else self._text)

    def interrupted(self) -> None:
        """Escape was pressed: what is there stays, and the record alone tells of it."""
        if self.streamed:
            self._show("reply", self.streamed)
            self._facts.said(self.streamed, self.id, final=False)
        self._show("interrupted", "Interrupted · What should the demo agent do instead?")
        self._facts.interrupted(self.id)

    # What a turn does.

    def _say(self, text: str) -> None:
        self.said = True
        self._text.append(text)

    def _stream(self, step: Step) -> Generator[Request, Answer, None]:
        for piece in pieces(step.text, round(step.ticks)):
            yield Pause(1)
            self.said = True
            self._partial += piece
        self._partial = ""
        self._say(step.text)

    def _silent_tool(self, step: Step) -> Generator[Request, Answer, None]:
        name = step.text or "Tool"
        use = self._tool_starts(name, "")
        yield Pause(step.ticks)
        self._tool_ends(name, use, Finished(0, ""))

    def _bash(self, command: str) -> Generator[Request, Answer, None]:
        use = self._tool_starts("Bash", command)
        finished = yield Shell(command)
        assert isinstance(finished, Finished)
        self._tool_ends("Bash", use, finished)
        self._conclusion = finished.output

    def _ask(self, question: str) -> Generator[Request, Answer, bool]:
        use = self._tool_starts("Approval", question)
        self._facts.approval("Approval", question)
        allowed = bool((yield Question(question)))
        self._tool_ends("Approval", use, Finished(0 if allowed else 1, "approved" if allowed else "denied"))
        self._conclusion = "approved"
        return allowed

    # How it goes on.

    def _tool_starts(self, name: str, given: str) -> str:
        self._comment()
        self._conclusion = ""
        self.said = True
        self.tool = name
        use = new_id()
        self._show("tool", f"{name}({given})" if given else name)
        self._facts.tool_started(name, use, given)
        return use

    def _tool_ends(self, name: str, use: str, finished: Finished) -> None:
        self.tool = None
        text = finished.output or "(no output)"
        if finished.status:
            text = f"{text} (exit {finished.status})" if name == "Bash" else text
        self._show("result", text)
        self._facts.tool_ended(name, use, finished.status != 0, finished.output)
        while self._waiting:  # the boundary where waiting texts join
            text = self._joins(self._waiting.popleft())
            self._show("prompt", text)

    def _joins(self, waiting: Waiting) -> str:
        self._facts.steer("join", waiting.text, waiting.id)
        self._joined.append(waiting.text)
        return waiting.text

    def _comment(self) -> None:
        """Text before a tool is no answer yet."""
        if self._text:
            text = "\n".join(self._text)
            self._text.clear()
            self._show("reply", text)
            self._facts.said(text, self.id, final=False)

    def _end(self) -> None:
        reply = "\n".join(self._text) if self._text else self._conclusion
        for text in self._joined:
            reply = f"{reply} (also: {text})".lstrip()
        if reply:
            self._show("reply", reply)
        self._facts.said(reply, self.id, final=True)
        self._facts.done(reply, self.id, [*self._still, *(task.id for task in self.background)])

    def _fail(self, message: str) -> None:
        reply = "\n".join(self._text)
        if reply:
            self._show("reply", reply)
            self._facts.said(reply, self.id, final=False)
        self._show("error", f"API Error: {message}")
        self._facts.failed(message, self.id, reply)
