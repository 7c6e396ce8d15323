"""The program: one loop that waits for keys, children and deadlines."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections import deque
from pathlib import Path
from subprocess import DEVNULL, Popen

from agentd.demo.composer import Composer, shown_as
from agentd.demo.keys import Decoder, Key, Paste, Press, Typed
from agentd.demo.shell import Job
from agentd.demo.terminal import BRACKETED_PASTE, HIDE_CURSOR, Painter, Terminal
from agentd.testing.cursor import view
from agentd.testing.cursor.chat import Chat
from agentd.testing.cursor.dialogs import ALL, ALLOW, NO, YES
from agentd.testing.cursor.files import Home
from agentd.testing.cursor.hooks import Hooks
from agentd.testing.cursor.options import Options
from agentd.testing.cursor.servers import Servers
from agentd.testing.cursor.startup import Login, Trust
from agentd.testing.cursor.turn import Rejected
from agentd.testing.cursor.turns import Turns

ESCAPE_WAIT = 0.05
TITLE = "\x1b]0;Cursor Agent\x07"
WORKER = ["/bin/sh", "-c", "trap '' HUP TERM; exec sleep 600"]
"""Such a child outlives the real program too; this one ends by itself."""


class App:
    """A session from its first screen to its last words."""

    def __init__(self, options: Options, terminal: Terminal) -> None:
        self.options = options
        self.terminal = terminal
        self.painter = Painter(terminal)
        self.decoder = Decoder()
        self.composer = Composer()
        workspace = Path(options.workspace or Path.cwd()).resolve()
        self.home = Home(Path.home(), workspace, options.build)
        self.hooks = Hooks(Path.home(), off=options.no_hooks)
        self.chat = Chat(options, self.home, self.hooks)
        self.turns = Turns(options, self.chat, self._show, allowed=self._allowed, crash=self._crash)
        self.everything = options.force
        self.shells: list[Job] = []
        self.trust = Trust(options, self.home, self._leave)
        self.startup: list[Login | Trust] = [self.trust]
        self.servers = Servers()
        if options.logged_out:
            self.startup.insert(0, Login(self._leave))
        self.entries: deque[tuple[str, str]] = deque(maxlen=200)
        self.new: list[tuple[str, str]] = []
        self.leaving: int | None = None
        self.farewell: list[str] = []
        self.hears_at: float | None = None
        """Keys are lost until then."""
        self.marked = 0
        self.reason: Composer | None = None
        """A person said no, and is asked why."""
        self.popup = False
        self.armed = False
        self.submitting = False
        self.pasted_at = float("-inf")
        self.escape_at: float | None = None
        self.resized = False

    def __repr__(self) -> str:
        return f"<App {self.chat}: {self.turns}>"

    # From start to end ----------------------------------------------------------------------------

    def run(self) -> int:
        """Returns the exit status."""
        wake = self._signals()
        self.terminal.write(BRACKETED_PASTE + HIDE_CURSOR + TITLE)
        worker = self._fork_worker() if self.options.worker else None
        while self.leaving is None:
            while self.startup and self.startup[0].over:
                self.startup.pop(0)
            if not self.startup and self.hears_at is None:
                self._begin()
            self.turns.go_on()
            self.chat.transcript.flush()
            self._draw()
            self._wait(wake)
        self._close()
        del worker
        return self.leaving

    def _begin(self) -> None:
        """The banner is painted, the session begins, and only then keys are heard."""
        self.hears_at = time.monotonic() + self.options.deaf
        self.hooks.project = self.home.workspace
        if not self.trust.servers_refused:
            self.servers.start(self.home.servers, self.home.workspace)
        width, _ = self.terminal.size()
        self._show("banner", "\n".join(view.banner(self.options.build, width)))
        self._draw()
        self.chat.begins()

    def _fork_worker(self) -> Popen[bytes]:
        child = Popen(WORKER, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        child.returncode = 0  # it is meant to outlive us: no warning about that
        return child

    def _signals(self) -> int:
        read, write = os.pipe()
        for end in (read, write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGWINCH, signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        return read

    def _leave(self, status: int, *farewell: str) -> None:
        if self.leaving is None:
            self.leaving = status
            self.farewell = list(farewell)

    def _close(self) -> None:
        self.turns.close()
        self.servers.close()
        for job in self.shells:
            job.close()
        if self.hears_at is not None:
            self.chat.ends()
            if self.options.build.says_resume and self.chat.number:
                self.farewell.append(f"To resume this session: agent --resume={self.chat.id}")
        self.painter.finish(["", *self.farewell])

    def _crash(self, status: int) -> None:
        self.terminal.restore()
        print(f"\r\ncrashed as told (status {status})", file=sys.stderr, flush=True)
        os._exit(status)

    # Waiting --------------------------------------------------------------------------------------

    def _wait(self, wake: int) -> None:
        jobs = [job for job in (self.turns.job, *self.shells) if job and job.readable]
        times = [self.turns.due, self.chat.transcript.due, self.escape_at]
        times += [self.startup[0].due] if self.startup else []
        due = min((at for at in times if at is not None), default=None)
        timeout = None if due is None else max(0.0, due - time.monotonic())
        ready = select.select([wake, self.terminal.fd_in, *(job.fileno() for job in jobs)], [], [], timeout)[
            0
        ]
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
        if self.startup:
            self.startup[0].go_on()

    def _signalled(self, numbers: bytes) -> None:
        self.resized = self.resized or signal.SIGWINCH in numbers
        if signal.SIGCHLD in numbers:
            self.turns.child_ended()
            for job in [job for job in self.shells if job.ended]:
                self.shells.remove(job)
                job.read()
                self._show("tool", f"! {job.command}\n{job.output()}")
                job.close()
        for number in (signal.SIGTERM, signal.SIGHUP):
            if number in numbers:
                self._leave(128 + number)

    def _read(self) -> None:
        data = self.terminal.read()
        if not data:
            self._leave(128 + signal.SIGHUP)
            return
        if self.hears_at is not None and time.monotonic() < self.hears_at:
            return
        if self.turns.asked and data in (b"\t", b"\x1b[Z"):
            self._press_question("tab" if data == b"\t" else "shift+tab")
            return
        for press in self.decoder.feed(data):
            if self.leaving is None:
                self._press(press)
        self.escape_at = time.monotonic() + ESCAPE_WAIT if self.decoder.pending else None

    # Keys -----------------------------------------------------------------------------------------

    def _press(self, press: Press) -> None:
        armed, self.armed = self.armed, False
        if self.startup:
            self.startup[0].press(press)
        elif self.reason is not None:
            self._press_reason(self.reason, press)
        elif self.turns.asked:
            self._press_any_question(press)
        elif self.turns.limited:
            if press == Key("ctrl-c"):
                self._leave(130)
        elif isinstance(press, Key):
            self._press_key(press.name, armed)
        elif press.text.startswith("?") and not self.composer:
            self._show("notice", "Shortcuts: / commands, @ files, ! shell")
        else:
            self._edit(press)

    def _edit(self, press: Typed | Paste) -> None:
        if isinstance(press, Paste):
            self.composer.paste(press.text)
            self.pasted_at = time.monotonic()
        else:
            self.composer.type(press.text)
        text = self.composer.text
        words = text.split(" ")
        self.popup = (text.startswith("/") and len(words) == 1) or words[-1].startswith("@")

    def _press_any_question(self, press: Press) -> None:
        """What is typed or pasted into a dialog is taken letter by letter."""
        if isinstance(press, Key):
            self._press_question({"escape": "esc"}.get(press.name, press.name))
            return
        for letter in press.text:
            self._press_question(letter)

    def _press_question(self, key: str) -> None:
        asked = self.turns.asked
        if asked is None:
            return
        means = asked.means(key)
        if means == ALL:
            self.everything = True
        if means == ALLOW:
            self.home.allow(asked.permission)
        if means == NO and self.options.build.asks_reason and asked.permission:
            self.reason = Composer()
        elif means == NO:
            self.turns.answer(Rejected(""))
        elif means in (YES, ALLOW, ALL):
            self.turns.answer(True)

    def _press_reason(self, reason: Composer, press: Press) -> None:
        if isinstance(press, Typed | Paste):
            reason.type(press.text)
        elif press == Key("backspace"):
            reason.backspace()
        elif press in (Key("enter"), Key("escape")):
            self.reason = None
            self.turns.answer(Rejected(reason.text if press == Key("enter") else ""))

    def _press_key(self, name: str, armed: bool) -> None:
        match name:
            case "enter":
                self._enter()
            case "newline":
                self.composer.type("\n")
            case "backspace":
                self.composer.backspace()
                self.popup = self.popup and bool(self.composer)
            case "escape" if self.turns.waiting:
                self.turns.waiting.pop()
            case "escape":
                self._interrupt()
            case "ctrl-d" if not self.composer:
                self._leave(0)
            case "ctrl-c" if self.turns.turn:
                self._interrupt()
            case "ctrl-c" if armed:
                self._leave(130)
            case "ctrl-c":
                self.armed = True

    def _enter(self) -> None:
        text = self.composer.text
        if time.monotonic() - self.pasted_at < self.options.paste_lag:
            return
        if self.popup:
            self.popup = False
        elif text.endswith("\\"):
            self.composer.backspace()
            self.composer.type("\n")
        elif text.strip():
            self.composer.clear()
            self._submit(text)
        elif self.turns.waiting and self.turns.turn:
            self.turns.send_now()

    def _submit(self, text: str) -> None:
        """The traps first."""
        word = text.strip()
        if word in ("/exit", "/quit", "exit", "quit"):
            self._leave(0)
        elif text.startswith("/"):
            self._show("notice", f"Unknown command: {word[:60]}")
        elif text.startswith("&"):
            self._show("notice", "Handed off to a cloud agent.")
        elif text.startswith("!"):
            self.shells.append(Job(text[1:].strip()))
        else:
            self.submitting = True
            self._draw()
            self.submitting = False
            self.turns.submit(text)

    def _interrupt(self) -> None:
        for job in self.shells:
            job.close()
        self.shells.clear()
        if given_back := self.turns.interrupt():
            self.composer.paste(given_back)

    def _allowed(self, permission: str) -> bool:
        return self.everything or self.home.allowed(permission)

    # Drawing --------------------------------------------------------------------------------------

    def _show(self, kind: str, text: str) -> None:
        self.new.append((kind, shown_as(text) if kind == "prompt" else text))

    def _draw(self) -> None:
        width, height = self.terminal.size()
        frame = self._frame(width)[-(height - 1) :]
        above = [line for kind, text in self.new for line in view.entry(kind, text, width)]
        self.entries.extend(self.new)
        self.new.clear()
        if self.resized:
            self.resized = False
            lines = [line for kind, text in self.entries for line in view.entry(kind, text, width)]
            self.painter.repaint(frame, lines[-height:], height)
        else:
            self.painter.paint(frame, above)

    def _frame(self, width: int) -> list[str]:
        build, turn = self.options.build, self.turns.turn
        if self.startup:
            return self.startup[0].frame(width)
        if self.reason is not None:
            draft = self.reason.shown
            return ["", f" {view.REJECTION}", *view.composer(build, width, draft=draft, placeholder="Reason")]
        if self.turns.asked:
            return view.question(build, self.turns.asked, self.marked, width)
        if self.turns.limited:
            return [""]
        lines = ["", ""]
        if turn:
            partial = view.entry("reply", turn.streamed, width)[-10:] if turn.streamed else []
            verb = build.verbs[1 if turn.said else 0]
            lines = [*partial, *view.spinner(verb, len(turn.streamed) // 4)]
        elif self.submitting:
            lines = view.spinner("Working", 0)
        if self.turns.waiting:
            lines += view.follow_ups([waiting.text for waiting in self.turns.waiting], width)
        shown = self.composer.shown
        placeholder = view.NEXT if self.chat.number or turn else view.FIRST
        lines += view.composer(build, width, draft=shown, placeholder=placeholder, busy=turn is not None)
        used = f"{min(99, self.chat.number)}.5%" if self.chat.number else ""
        folder = str(self.home.workspace)
        return lines + view.footer(self.options.model, folder, width, used=used, everything=self.everything)
