"""The program: one loop that waits for keys, children and deadlines. Idle, nothing wakes it."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from agentd.demo import dialogs, view
from agentd.demo.composer import Composer
from agentd.demo.hooks import Hooks, child_in_its_own_session
from agentd.demo.keys import Decoder, Key, Paste, Press, Typed
from agentd.demo.options import Options
from agentd.demo.record import Facts, Record
from agentd.demo.session import new_session_id, recall
from agentd.demo.shell import Job
from agentd.demo.terminal import BRACKETED_PASTE, HIDE_CURSOR, Painter, Terminal
from agentd.demo.transcript import Transcript
from agentd.demo.turns import Turns

ESCAPE_WAIT = 0.05
"""How long a lone escape byte may be the start of a sequence."""
HOOKS_AT_EXIT = 2.0
"""How long running hooks may take at exit."""

HELP = """Enter sends · Esc interrupts · Ctrl-U clears · Ctrl-D or /exit quits · !CMD runs a command
A script is one directive a line:
  @say TEXT · @slow N TEXT · @delay N TEXT · @tool N [NAME] · @bash CMD · @ask QUESTION
  @error TEXT · @cut · @silence · @crash [STATUS] · @background N TEXT"""


class App:
    """A session from its first screen to its goodbye."""

    def __init__(self, options: Options, terminal: Terminal) -> None:
        self.options = options
        self.terminal = terminal
        self.painter = Painter(terminal)
        self.transcript = Transcript(self.painter, options.model)
        self.decoder = Decoder()
        self.composer = Composer()
        self.record = Record(None if options.no_record else options.record)
        self.hooks = Hooks(() if options.no_hooks else options.hook)
        session_id = options.resume or options.session_id or new_session_id()
        self.facts = Facts(self.record, self.hooks, session_id)
        self.turns = Turns(
            self.facts,
            self.transcript.show,
            options.tick,
            ask=self._ask,
            crash=self._crash,
            give_back=self._give_back,
        )
        self.shells: list[Job] = []
        self.dialog: dialogs.Dialog | None = None
        self.startup: list[dialogs.Dialog] = []
        self.begun = False
        self.leaving: int | None = None
        self.reason = "other"
        self.farewell: list[str] = []
        self.resized = False
        self.armed = False
        """Ctrl-C was pressed once."""
        self.deaf = False
        """The terminal is gone, and we were told to stay."""
        self.escape_at: float | None = None
        self.swallow = 0
        self.pasted_at = float("-inf")

    def __repr__(self) -> str:
        return f"<App {self.facts.session_id}: {self.dialog or self.turns}>"

    # From start to end.

    def run(self) -> int:
        """Returns the exit status."""
        wake = self._signals()
        if not self._greet():
            print(f"No conversation found with session ID: {self.options.resume}\r", file=sys.stderr)
            return 1
        if self.options.child:
            self.facts.child(child_in_its_own_session())
        self.terminal.write(BRACKETED_PASTE + HIDE_CURSOR)
        self.startup = self._startup_dialogs()
        self._next_startup()
        while self.leaving is None:
            self.turns.go_on()
            self._draw()
            if not self.begun and self.dialog is None:
                self.begun = True
                self.facts.session("resume" if self.options.resume else "startup", self.options.model)
            self._wait(wake)
        self._close()
        return self.leaving

    def _signals(self) -> int:
        """Signals wake the loop through a pipe; what they mean is decided there."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        for number in (signal.SIGWINCH, signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        return read

    def _greet(self) -> bool:
        """The first entries of the transcript. False where there is no such session."""
        show = self.transcript.show
        show("banner", "")
        if self.options.resume is None or self.record.path is None:
            return True
        earlier = recall(self.record, self.options.resume)
        if earlier is None:
            return False
        prompts = f"{earlier.turns} prompt{'' if earlier.turns == 1 else 's'}"
        show("notice", f"Welcome back! This session has seen {prompts} so far.")
        if earlier.turns:
            show("prompt", earlier.prompt)
        if earlier.reply:
            show("reply", earlier.reply)
        return True

    def _startup_dialogs(self) -> list[dialogs.Dialog]:
        found = []
        if self.options.login:
            found.append(dialogs.login())
        if self.options.update:
            found.append(dialogs.update(self._update_answered))
        if self.options.trust:
            found.append(dialogs.trust(os.getcwd(), self._trust_answered))  # noqa: PTH109
        return found

    def _next_startup(self) -> None:
        self.dialog = self.startup.pop(0) if self.startup else None

    def _update_answered(self, choice: int | None) -> None:
        if choice == 0:
            self._leave(1, "other", "Update failed: the installer found no network.")
        else:
            self._next_startup()

    def _trust_answered(self, choice: int | None) -> None:
        if choice == 1:
            self._next_startup()
        else:
            self._leave(1, "other", "The demo agent didn't start because this folder isn't trusted.")

    def _leave(self, status: int, reason: str, *farewell: str) -> None:
        if self.leaving is None:
            self.leaving, self.reason = status, reason
            self.farewell = list(farewell)

    def _close(self) -> None:
        """End what runs, say goodbye, let the hooks end."""
        self.turns.close()
        for job in self.shells:
            job.close()
        if self.begun:
            self.facts.goodbye(self.reason)
            where = f" --record {self.record.path}" if self.record.path else ""
            self.farewell += [
                "Resume this session with:",
                f"  python -m agentd.demo --resume {self.facts.session_id}{where}",
            ]
        self.painter.finish(["", *self.farewell])
        self.hooks.wait(HOOKS_AT_EXIT)

    def _crash(self, status: int) -> None:
        """At once: no goodbye, no waiting."""
        self.terminal.restore()
        print(f"\r\ndemo: crashed as told (status {status})", file=sys.stderr, flush=True)
        os._exit(status)

    # Waiting.

    def _wait(self, wake: int) -> None:
        sources = [wake] if self.deaf else [wake, self.terminal.fd_in]
        jobs = [job for job in (self.turns.job, *self.shells) if job and job.readable]
        due = min(self._deadlines(), default=None)
        timeout = None if due is None else max(0.0, due - time.monotonic())
        ready = select.select([*sources, *(job.fileno() for job in jobs)], [], [], timeout)[0]
        for job in jobs:
            if job.fileno() in ready:
                job.read()
        if wake in ready:
            self._signalled(os.read(wake, 4096))
        if self.terminal.fd_in in ready:
            self._read()
        if self.escape_at is not None and time.monotonic() >= self.escape_at:
            self.escape_at = None
            for press in self.decoder.flush():
                self._press(press)

    def _deadlines(self) -> list[float]:
        due = self.turns.deadlines()
        if self.escape_at is not None:
            due.append(self.escape_at)
        if self.options.fidget:
            due.append(time.monotonic() + 1 - time.time() % 1)
        return due

    def _signalled(self, numbers: bytes) -> None:
        if signal.SIGWINCH in numbers:
            self.resized = True
        if signal.SIGCHLD in numbers:
            self.hooks.reap()
            self.turns.child_ended()
            self._shells_ended()
        if signal.SIGINT in numbers:
            self._press(Key("ctrl-c"))
        for number in (signal.SIGTERM, signal.SIGHUP):
            if number in numbers and not self.options.ignore_term:
                self._leave(128 + number, "other")

    def _read(self) -> None:
        data = self.terminal.read()
        if not data:
            self.deaf = True
            if not self.options.ignore_term:
                self._leave(128 + signal.SIGHUP, "other")
            return
        for press in self.decoder.feed(data):
            if self.leaving is None:
                self._press(press)
        self.escape_at = time.monotonic() + ESCAPE_WAIT if self.decoder.pending else None

    def _shells_ended(self) -> None:
        for job in [job for job in self.shells if job.ended]:
            self.shells.remove(job)
            job.read()
            output = job.output()
            job.close()
            self.facts.shell(job.command, output)
            self.transcript.show("result", output or "(no output)")

    # Keys.

    def _press(self, press: Press) -> None:
        armed, self.armed = self.armed, False
        if self.dialog:
            self._press_dialog(self.dialog, press)
        elif isinstance(press, Key):
            self._press_key(press.name, armed)
        elif isinstance(press, Paste):
            self.composer.paste(press.text)
            self.swallow = self.options.swallow_enter
            self.pasted_at = time.monotonic()
        elif press == Typed("?") and not self.composer:
            self.transcript.show("notice", HELP)
        else:
            self.composer.type(press.text)

    def _press_dialog(self, dialog: dialogs.Dialog, press: Press) -> None:
        if press == Key("ctrl-c") and not dialog.options:
            self._leave(130, "other")
        else:
            dialog.press(Key("escape") if press == Key("ctrl-c") else press)

    def _press_key(self, name: str, armed: bool) -> None:
        match name:
            case "enter":
                self._enter()
            case "newline":
                self.composer.type("\n")
            case "backspace":
                self.composer.backspace()
            case "ctrl-u":
                self.composer.clear()
            case "escape":
                self._interrupt()
            case "ctrl-d" if not self.composer:
                self._leave(0, "prompt_input_exit")
            case "ctrl-c" if self.turns.running:
                self._interrupt()
            case "ctrl-c" if armed:
                self._leave(0, "prompt_input_exit")
            case "ctrl-c":
                self.composer.clear()
                self.armed = True

    def _enter(self) -> None:
        if self.swallow:
            self.swallow -= 1
        elif time.monotonic() - self.pasted_at < self.options.burst / 1000:
            self.composer.type("\n")
        else:
            text = self.composer.text
            self.composer.clear()
            if text.strip():
                self._submit(text)

    def _submit(self, text: str) -> None:
        """The traps first: they look at the very first character."""
        word = text.rstrip()
        if word in ("exit", "quit", "/exit", "/quit"):
            self._leave(0, "prompt_input_exit")
        elif word == "/help":
            self.transcript.show("notice", HELP)
        elif text.startswith("/"):
            self.transcript.show("notice", f"Unknown command: {view.clip(word, 60)}")
        elif text.startswith("#"):
            self.transcript.show("notice", "Noted.")
        elif text.startswith("!"):
            command = text[1:].strip()
            self.transcript.show("tool", f"! {command}")
            self.shells.append(Job(command))
        else:
            self.turns.submit(text)

    def _interrupt(self) -> None:
        for job in self.shells:
            job.close()
        self.shells.clear()
        self.turns.interrupt()

    def _give_back(self, prompt: str) -> None:
        draft = self.composer.text
        self.composer.clear()
        self.composer.paste(f"{prompt}\n{draft}" if draft else prompt)

    def _ask(self, question: str) -> None:
        def answered(choice: int | None) -> None:
            self.dialog = None
            if choice is None:
                self._interrupt()
            else:
                self.turns.answer(choice == 0)

        self.dialog = dialogs.approval(question, answered)

    # Drawing.

    def _draw(self) -> None:
        width, height = self.terminal.size()
        frame = self._frame(width, height)
        if self.resized:
            self.resized = False
            self.transcript.redraw(frame, width, height)
        else:
            self.transcript.draw(frame, width)

    def _frame(self, width: int, height: int) -> list[str]:
        if self.dialog:
            dialog = self.dialog
            return view.dialog_frame(width, height, dialog.text, dialog.options, dialog.selected, dialog.hint)
        left, spinner, partial = "? for help", None, ""
        if self.turns.running:
            turn = self.turns.running.turn
            left, partial = "esc to interrupt", turn.streamed
            spinner = f"✻ {'Working' if turn.tool else 'Thinking'}… ({self.turns.seconds}s)"
        elif self.armed:
            left = "Press Ctrl-C again to exit"
        return view.prompt_frame(
            width,
            height,
            draft=self.composer.shown,
            left=left,
            right=time.strftime("%H:%M:%S") if self.options.fidget else self.options.model,
            spinner=spinner,
            partial=partial,
            queued=[waiting.text for waiting in self.turns.waiting],
        )
