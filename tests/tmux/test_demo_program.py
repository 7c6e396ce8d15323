"""The demo agent as a real program in a private tmux server, seen through its adapter alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest

from agentd.demo.adapter import Demo
from agentd.model import Kind, Reason
from agentd.screen import Dialog, Look, Screen

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

T = TypeVar("T")
SIZES = [(80, 24), (200, 50)]
APPEND = 'line=$(cat); printf \'%s\\n\' "$line" >> "$0"'


def until(what: str, fact: Callable[[], T | Literal[False] | None], seconds: float = 20.0) -> T:
    """Wait for a fact, not for a time."""
    end = time.monotonic() + seconds
    while True:
        value = fact()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class Pane:
    """One demo agent in a pane of its own tmux server."""

    def __init__(self, folder: Path, size: tuple[int, int], *args: str) -> None:
        self.socket = folder / "tmux.sock"
        self.record = folder / "record.jsonl"
        self.spool = folder / "hooks.jsonl"
        hook = json.dumps(["/bin/sh", "-c", APPEND, str(self.spool)])
        argv = [*Demo.command, "--record", str(self.record), "--hook", hook, "--tick", "0.05", *args]
        env = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        config = folder / "tmux.conf"
        config.write_text("set -g remain-on-exit on\n")
        self._config = config
        self._env = env
        columns, rows = map(str, size)
        self.tmux("new-session", "-d", "-x", columns, "-y", rows, "-c", str(folder), "--", *argv)
        self.tmux("set-option", "-g", "window-size", "manual")  # before the first session it ends tmux 3.3a
        self.pid = int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def tmux(self, *args: str, given: bytes | None = None) -> str:
        command = ["tmux", "-u", "-S", str(self.socket), "-f", str(self._config), *args]
        done = subprocess.run(
            command, input=given, env=self._env, capture_output=True, timeout=20, check=True
        )
        return done.stdout.decode().rstrip("\n")

    def close(self) -> None:
        self.tmux("kill-server")

    def keys(self, *names: str) -> None:
        self.tmux("send-keys", *names)

    def paste(self, text: str) -> None:
        self.tmux("load-buffer", "-", given=text.encode())
        self.tmux("paste-buffer", "-p", "-r", "-d")

    def send(self, text: str) -> None:
        self.paste(text)
        self.keys("Enter")

    def screen(self) -> Screen:
        return Screen(tuple(self.tmux("capture-pane", "-e", "-p").split("\n")))

    def look(self) -> Look:
        return Demo().look(self.screen())

    def ready(self) -> None:
        until("an empty composer", lambda: self.look() == Look(composer=True, draft=""))

    def shows(self, text: str) -> None:
        """On the screen or above it: tmux scrolls a dead pane by a line to say that it is dead."""
        until(f"{text!r} on the screen", lambda: text in self.tmux("capture-pane", "-p", "-S", "-"))

    def draft(self, text: str) -> None:
        until(f"the draft {text!r}", lambda: self.look().draft == text)

    def dialog(self, reason: Reason) -> Dialog:
        def shown() -> Dialog | None:
            dialog = self.look().dialog
            return dialog if dialog and dialog.reason == reason else None

        return until(f"a dialog: {reason}", shown)

    def rows(self, path: Path) -> list[dict[str, Any]]:
        # The last line may be half written.
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []

    def kinds(self) -> list[str]:
        return [row["type"] for row in self.rows(self.record)]

    def wrote(self, kind: str, count: int = 1) -> dict[str, Any]:
        """The record's row of this kind: the `count`th."""

        def found() -> dict[str, Any] | None:
            rows = [row for row in self.rows(self.record) if row["type"] == kind]
            return rows[count - 1] if len(rows) >= count else None

        return until(f"{count} {kind} in the record", found)

    def hooked(self, event: str) -> dict[str, Any]:
        """The first hook event of this name."""
        return until(
            f"the hook {event}",
            lambda: next((row for row in self.rows(self.spool) if row["hook_event_name"] == event), None),
        )

    def dead(self) -> None:
        until("the pane is dead", lambda: self.tmux("display-message", "-p", "#{pane_dead}") == "1")


@pytest.fixture
def open_pane(tmp_path: Path) -> Iterator[Callable[..., Pane]]:
    opened: list[Pane] = []

    def opener(*args: str, size: tuple[int, int] = (80, 24), name: str = "") -> Pane:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        pane = Pane(folder, size, *args)
        opened.append(pane)
        return pane

    yield opener
    for pane in opened:
        pane.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_prompt_and_its_answer(open_pane: Callable[..., Pane], size: tuple[int, int]) -> None:
    pane = open_pane("--session-id", "the-id", "--model", "tiny", size=size)
    pane.ready()
    assert pane.hooked("SessionStart")["session_id"] == "the-id"
    pane.paste("Fix the bug\nand test it ")
    pane.draft("Fix the bug\nand test it")
    pane.keys("Enter")
    pane.shows("● Hello from the demo agent! You said: Fix the bug (24 characters)")
    assert pane.wrote("user")["text"] == "Fix the bug\nand test it "
    stop = pane.hooked("Stop")
    assert stop["prompt_id"] == pane.wrote("turn_end")["prompt_id"]
    assert stop["last_assistant_message"] == pane.wrote("assistant")["text"]
    pane.ready()
    assert "tiny" in pane.screen().lines[-1]


@pytest.mark.parametrize("size", SIZES)
def test_a_megabyte_arrives_byte_for_byte(open_pane: Callable[..., Pane], size: tuple[int, int]) -> None:
    letters = "abcdefgh \n\té日🎉;$\\#{}'\""
    random.seed(1)
    text = "first\n" + "".join(random.choices(letters, k=850_000)) + ";\\"
    assert len(text.encode()) > 1_000_000
    pane = open_pane(size=size)
    pane.ready()
    pane.paste(text)
    pane.draft(f"[Pasted text #1 +{text.count(chr(10))} lines]")
    assert pane.look().folded
    pane.keys("Enter")
    end = pane.wrote("turn_end")
    user = pane.wrote("user")
    assert user["text"] == text
    assert end["time"] - user["time"] < 2
    assert pane.hooked("UserPromptSubmit")["prompt"] == text


def test_typing_and_clearing(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane()
    pane.ready()
    pane.keys("-l", "hello ❯ x")
    pane.draft("hello ❯ x")
    pane.keys("BSpace", "BSpace", "y")
    pane.draft("hello ❯y")
    pane.keys("C-u")
    pane.ready()
    pane.keys("C-c")
    pane.shows("Press Ctrl-C again to exit")
    pane.keys("C-c")
    pane.dead()
    assert pane.hooked("SessionEnd")["reason"] == "prompt_input_exit"


def test_traps_and_how_a_blank_defuses_them(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane()
    pane.ready()
    pane.send("/nonsense")
    pane.shows("Unknown command: /nonsense")
    pane.send("!echo from the $((40 + 2)) shell")
    pane.shows("⎿  from the 42 shell")
    assert "user" not in pane.kinds()
    for number, trap in enumerate((" /nonsense", " !echo", " exit"), 1):
        pane.send(trap)
        assert pane.wrote("user", number)["text"] == trap
    pane.send("exit")
    pane.dead()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("keys", "reply"),
    [(("1",), "thanks"), (("2",), "denied"), (("Enter",), "thanks"), (("Down", "Enter"), "denied")],
)
def test_an_approval(
    open_pane: Callable[..., Pane], size: tuple[int, int], keys: tuple[str, ...], reply: str
) -> None:
    pane = open_pane(size=size)
    pane.ready()
    pane.send("@ask May I remove it?\n@say thanks")
    dialog = pane.dialog(Reason.APPROVAL)
    assert dialog.text == "May I remove it?\nDo you want to proceed?"
    assert (dialog.selected, dialog.approve, dialog.deny) == (0, 0, 1)
    assert pane.hooked("PermissionRequest")["text"] == "May I remove it?"
    pane.keys(*keys)
    assert pane.hooked("Stop")["last_assistant_message"] == reply
    pane.ready()


def test_escape_in_an_approval_interrupts(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane()
    pane.ready()
    pane.send("@ask May I?")
    pane.dialog(Reason.APPROVAL)
    pane.keys("Escape")
    pane.wrote("interrupted")
    pane.ready()


@pytest.mark.parametrize("size", SIZES)
def test_an_interruption_is_in_the_record_and_in_no_hook(
    open_pane: Callable[..., Pane], size: tuple[int, int]
) -> None:
    pane = open_pane(size=size)
    pane.ready()
    pane.send("@bash echo $$ > child; sleep 1000")
    until("the turn is seen to run", lambda: pane.look().busy)
    said = pane.record.parent / "child"
    child = int(until("the command runs", lambda: said.exists() and said.read_text().strip()))
    pane.keys("Escape")
    pane.wrote("interrupted")
    until("the command is ended", lambda: not alive(child))
    pane.ready()
    pane.send("hello")
    assert "hello" in pane.hooked("Stop")["last_assistant_message"]
    assert "StopFailure" not in [row["hook_event_name"] for row in pane.rows(pane.spool)]


def test_escape_before_any_output_gives_the_prompt_back(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane()
    pane.ready()
    pane.send("@silence")
    until("the turn is seen to run", lambda: pane.look().busy)
    pane.keys("Escape")
    pane.draft("@silence")
    assert pane.kinds() == ["session", "user", "interrupted"]


def test_a_waiting_text_joins_at_a_tool_or_becomes_a_turn(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane("--tick", "1")
    pane.ready()
    pane.send("@tool 1.5\n@say one")
    until("the tool runs", lambda: "tool_use" in pane.kinds())
    pane.send("be quick")
    pane.shows("queued: be quick")
    assert pane.wrote("assistant")["text"] == "one (also: be quick)"
    pane.send("@slow 2 two")
    pane.wrote("user", 2)
    pane.send("three")
    assert "You said: three" in pane.wrote("assistant", 3)["text"]
    operations = [row["operation"] for row in pane.rows(pane.record) if row["type"] == "steer"]
    assert operations == ["enqueue", "join", "enqueue", "own_turn"]
    pane.send("@silence")
    pane.wrote("user", 4)
    pane.send("four")
    pane.shows("queued: four")
    pane.keys("Escape")
    assert "You said: four" in pane.wrote("assistant", 4)["text"]
    pane.ready()


def test_work_in_the_background_goes_on_by_itself(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane()
    pane.ready()
    pane.send("@say begun\n@background 2 all done")
    (task,) = pane.wrote("turn_end")["background"]
    second = pane.wrote("turn_end", 2)
    assert second["background"] == []
    assert pane.hooked("Stop")
    prompt = pane.wrote("user", 2)
    assert prompt["text"].startswith("<task-notification>") and task in prompt["text"]
    assert (prompt["origin"], prompt["prompt_id"]) == ("system", second["prompt_id"])
    assert pane.wrote("assistant", 2)["text"] == "all done"


def test_failures(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane()
    pane.ready()
    pane.send("@error Overloaded")
    assert pane.wrote("error")["message"] == "Overloaded"
    assert pane.hooked("StopFailure")["error"] == "Overloaded"
    pane.send("@cut")
    assert pane.wrote("error", 2)["reply"]
    pane.ready()
    assert "turn_end" not in pane.kinds()


@pytest.mark.parametrize("size", SIZES)
def test_trust_is_asked_before_anything_else(open_pane: Callable[..., Pane], size: tuple[int, int]) -> None:
    pane = open_pane("--trust", size=size)
    dialog = pane.dialog(Reason.TRUST)
    assert (dialog.selected, dialog.approve, dialog.deny) == (0, 1, 0)
    assert not pane.record.exists() and not pane.spool.exists()
    pane.keys("Down")
    until("the cursor moved", lambda: pane.dialog(Reason.TRUST).selected == 1)
    pane.keys("Enter")
    pane.hooked("SessionStart")
    pane.ready()


def test_enter_without_looking_ends_the_program(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane("--trust")
    pane.dialog(Reason.TRUST)
    pane.send("do it")
    pane.dead()
    pane.shows("didn't start because this folder isn't trusted")
    assert not pane.spool.exists()


def test_other_dialogs(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane("--update")
    pane.dialog(Reason.UPDATE)
    pane.keys("2")
    pane.ready()
    login = open_pane("--login", name="login")
    assert login.dialog(Reason.LOGIN).fixed
    login.send("x")
    assert login.dialog(Reason.LOGIN)


def test_a_crash_says_no_goodbye(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane()
    pane.ready()
    pane.send("@crash 7")
    pane.dead()
    pane.shows("crashed as told (status 7)")
    assert {row["hook_event_name"] for row in pane.rows(pane.spool)} <= {"SessionStart", "UserPromptSubmit"}
    early = open_pane("--crash-at-start", "3", name="early")
    early.dead()
    early.shows("cannot start")


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGTERM, "other"), (signal.SIGHUP, "other")])
def test_signals_end_it_politely(open_pane: Callable[..., Pane], number: int, reason: str) -> None:
    pane = open_pane()
    pane.ready()
    pane.hooked("SessionStart")
    os.kill(pane.pid, number)
    pane.dead()
    assert pane.hooked("SessionEnd")["reason"] == reason


def test_a_stubborn_one_with_a_child(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane("--ignore-term", "--child")
    pane.ready()
    child = pane.wrote("child")["pid"]
    assert os.getsid(child) == child
    os.kill(pane.pid, signal.SIGTERM)
    os.kill(pane.pid, signal.SIGHUP)
    pane.send("still here?")
    pane.wrote("turn_end")
    os.kill(pane.pid, signal.SIGKILL)
    pane.dead()
    assert alive(child)
    os.kill(child, signal.SIGKILL)


def test_enter_faults(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane("--swallow-enter", "2")
    pane.ready()
    pane.send("hello")
    pane.draft("hello")
    pane.keys("Enter")
    pane.keys("Enter")
    pane.wrote("turn_end")
    burst = open_pane("--burst", "60000", name="burst")
    burst.ready()
    burst.send("hello")
    burst.keys("x")
    burst.draft("hello\nx")


def test_one_source_alone(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane("--no-hooks")
    pane.ready()
    pane.send("hello")
    pane.wrote("turn_end")
    assert not pane.spool.exists()
    other = open_pane("--no-record", name="other")
    other.hooked("SessionStart")
    other.ready()
    other.send("hello")
    other.hooked("Stop")
    assert not other.record.exists()


def test_a_session_is_taken_up_again(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane("--session-id", "s-1")
    pane.ready()
    pane.send("remember me")
    pane.wrote("turn_end")
    pane.send("/exit")
    pane.dead()
    pane.shows("--resume s-1")
    assert pane.hooked("SessionEnd")
    again = open_pane("--resume", "s-1", "--record", str(pane.record), name="again")
    again.ready()
    again.shows("Welcome back! This session has seen 1 prompt so far.")
    again.shows("You said: remember me")
    assert again.hooked("SessionStart")["source"] == "resume"
    unknown = open_pane("--resume", "s-2", "--record", str(pane.record), name="unknown")
    unknown.dead()
    unknown.shows("No conversation found with session ID: s-2")


def test_a_clock_is_no_sign_of_life(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane("--fidget")
    pane.ready()
    first = pane.screen()
    second = until("the clock moves", lambda: (s := pane.screen()).text != first.text and s)
    assert isinstance(second, Screen) and second.digest == first.digest


def test_a_change_of_size_keeps_the_screen_whole(open_pane: Callable[..., Pane]) -> None:
    pane = open_pane()
    pane.ready()
    pane.send("@say answer one")
    pane.wrote("turn_end")
    pane.paste("a draft")
    for columns, rows in [(200, 50), (50, 20), (120, 30)]:
        pane.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        until("a rule as wide as the pane", lambda columns=columns: "─" * columns in pane.screen().lines)  # type: ignore[misc]
        pane.draft("a draft")
        text = pane.screen().text
        assert text.count("● answer one") == 1
        assert sum(set(line) == {"─"} for line in pane.screen().lines) == 2


def test_facts_reach_the_reader(open_pane: Callable[..., Pane]) -> None:
    """What the program writes is what its adapter reads."""
    pane = open_pane()
    pane.ready()
    pane.send("@say hm\n@bash echo out\n@say done")
    pane.hooked("Stop")
    pane.wrote("turn_end")
    reader = Demo().reader({})
    from_record = [event for row in pane.rows(pane.record) for event in reader.feed("record", row)]
    assert [event.kind for event in from_record] == [
        Kind.SESSION_STARTED, Kind.PROMPT_TAKEN, Kind.TEXT, Kind.TOOL_STARTED, Kind.TOOL_ENDED, Kind.ACTIVITY,
        Kind.TURN_DONE,
    ]  # fmt: skip
    from_hooks = [event for row in pane.rows(pane.spool) for event in Demo().reader({}).feed("hook", row)]
    done = [event for event in from_hooks if event.kind == Kind.TURN_DONE]
    assert [event.get("reply") for event in [*done, from_record[-1]]] == ["done", "done"]


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie that nobody has fetched does not."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
