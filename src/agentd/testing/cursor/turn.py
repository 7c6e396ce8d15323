"""A turn as it runs: a generator that asks for what takes time, and is told what came of it.

The one who drives it owns the clock, the shell and the person. Closing the generator interrupts the turn.
"""

from __future__ import annotations

import shlex
import time
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

from agentd.demo.turn import Crash, Finished, Forever, Pause, Shell
from agentd.testing.cursor.chat import Chat
from agentd.testing.cursor.dialogs import Question, delete, fetch, mcp_tool, mode, shell, write
from agentd.testing.cursor.script import Step, parse, pieces, small_talk

LIMIT = "You've hit your usage limit"


class Rejected(NamedTuple):
    """A person said no; the reason may be empty."""

    reason: str


class Waiting(NamedTuple):
    """A prompt typed into the running turn. `hooked`: its hook has fired."""

    text: str
    id: str
    hooked: bool


Request = Pause | Shell | Question | Forever | Crash
Answer = Finished | Rejected | bool | None
Show = Callable[[str, str], None]


class Turn:
    """One prompt and what is made of it. `limited`: it ended at the usage limit."""

    def __init__(
        self, prompt: str, id: str, chat: Chat, show: Show, waiting: deque[Waiting], *, steers: bool
    ) -> None:
        self.prompt = prompt
        self.id = id
        self.said = False
        self.limited = False
        self.followup: str | None = None
        self._chat = chat
        self._show = show
        self._waiting = waiting
        self._steers = steers
        self._text: list[str] = []
        self._partial = ""
        self._joined: list[str] = []
        self._tool: tuple[str, str, dict[str, Any], str] | None = None

    def __repr__(self) -> str:
        return f"<Turn {self.id}: {'tool' if self._tool else 'text'}, {len(self._joined)} joined>"

    @property
    def streamed(self) -> str:
        """The text so far, since the last tool."""
        return "\n".join([*self._text, self._partial] if self._partial else self._text)

    def run(self) -> Generator[Request, Answer, None]:
        """Everything that happens, in order. Ends with the turn."""
        self._chat.begin(self.prompt, self.id)
        steps = parse(self.prompt)
        if not steps:
            self._say(small_talk(self.prompt, self._chat.number))
        for step in steps:
            match step.name:
                case "say":
                    self._say(step.text)
                case "slow":
                    for piece in pieces(step.text, round(step.ticks)):
                        yield Pause(1)
                        self.said = True
                        self._partial += piece
                    self._partial = ""
                    self._say(step.text)
                case "delay":
                    yield Pause(step.ticks)
                    self._say(step.text)
                case "bash" | "write" | "delete" | "ask" | "fetch" | "mode":
                    yield from self._use(step)
                case "err" | "limit" | "cut":
                    self._fail(step)
                    return
                case "silence":
                    yield Forever()
                case "crash":
                    yield Crash(int(step.text) if step.text.isdigit() else 1)
        self._end()

    def interrupted(self) -> None:
        """Escape was pressed."""
        if self._tool:
            name, use, given, prose = self._tool
            self._chat.tool_fails(name, use, given, prose, "interrupted", interrupt=True)
        if self.streamed:
            self._show("reply", self.streamed)
        self._show("notice", "Cancelled")
        self._chat.aborted()

    # What a turn does -----------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.said = True
        self._text.append(text)

    def _use(self, step: Step) -> Generator[Request, Answer, None]:
        """A tool: its start is told, a person is asked, it runs, its end is told."""
        name, given, question = _tool(step)
        prose, self._text = "\n".join(self._text), []
        if prose:
            self._show("reply", prose)
        self.said = True
        began = time.monotonic()
        use, said = self._chat.tool_starts(name, given, prose)
        if said.blocked:
            self._show("notice", f"Hook blocked with message: {said.blocked}")
            self._chat.tool_fails(name, use, given, prose, said.blocked)
            return
        self._tool = (name, use, given, prose)
        allowed = yield question
        if isinstance(allowed, Rejected):
            self._tool = None
            self._show("notice", f"{question.what} skipped")
            self._chat.tool_fails(name, use, given, prose, allowed.reason or "rejected by the user")
            self._text.append(f"skipped ({allowed.reason})" if allowed.reason else "skipped")
            return
        output = yield from self._work(step)
        self._tool = None
        seconds = time.monotonic() - began
        self._show("tool", f"{question.what} {round(seconds * 1000)}ms\n{output}".rstrip())
        self._chat.tool_ends(name, use, given, prose, seconds, output)
        self._safe_point()

    def _work(self, step: Step) -> Generator[Request, Answer, str]:
        if step.name == "bash":
            finished = yield Shell(step.text)
            assert isinstance(finished, Finished)
            return finished.output
        if step.name in ("write", "delete"):
            path, _, text = step.text.partition(" ")
            if step.name == "write":
                Path(path).write_text(text + "\n", encoding="utf-8")
            else:
                Path(path).unlink(missing_ok=True)
        return f"{step.name} done"

    def _safe_point(self) -> None:
        """Where waiting prompts join, in the builds that steer."""
        while self._steers and self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.hooked:
                self._chat.submit(waiting.text, waiting.id)
            self._show("prompt", waiting.text)
            self._chat.joins(waiting.text)
            self._joined.append(waiting.text)
            self._chat.steered(waiting.id)

    # How it ends ----------------------------------------------------------------------------------

    def _end(self) -> None:
        reply = "\n".join(self._text)
        for text in self._joined:
            reply = f"{reply} (also: {text})".lstrip()
        if reply:
            self._show("reply", reply)
        self.followup = self._chat.done(reply).followup

    def _fail(self, step: Step) -> None:
        if step.name == "cut":
            self._say("This answer breaks off in the mid")
        reply = "\n".join(self._text)
        if reply:
            self._show("reply", reply)
        what = {"cut": "the connection was lost", "limit": LIMIT}.get(
            step.name, step.text or "internal error"
        )
        self.limited = step.name == "limit"
        self._show(
            "error",
            f"Error: {what}" + ("\nspendLimitHit: true\nIt resets on October 1." if self.limited else ""),
        )
        self._chat.failed(reply, what)


def _tool(step: Step) -> tuple[str, dict[str, Any], Question]:
    """The tool's name, what it is given, and the question about it."""
    path = step.text.partition(" ")[0]
    match step.name:
        case "bash":
            program = (shlex.split(step.text) or [""])[0]
            return "Shell", {"command": step.text, "cwd": "", "timeout": 30000}, shell(step.text, program)
        case "write":
            return "Write", {"path": path}, write(path)
        case "delete":
            return "Delete", {"path": path}, delete(path)
        case "ask":
            return "MCP:ask", {"text": step.text}, mcp_tool("api-bridge", "ask", step.text)
        case "fetch":
            return "WebFetch", {"url": step.text}, fetch(step.text)
    return "SwitchMode", {"explanation": step.text}, mode(step.text)
