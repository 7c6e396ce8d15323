"""The adapter of Cursor through a real daemon, against the simulator: no test can have the real CLI."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentd.model import Reason
from agentd.screen import Look, Screen
from agentd.testing import processes
from agentd.testing.daemon import Completed, Daemon, Running
from agentd.testing.panes import Pane, Tmux
from agentd.testing.until import until
from agentd_cursor import Cursor

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

BUILDS = ["2026.06.15", "2026.09.26"]
"""They differ in all that `agentd.testing.cursor.builds` knows; 2026.07.23 stands between them."""
NEWEST = BUILDS[-1]
NAME = "cursor-work"
PROGRAM = [sys.executable, "-P", "-m", "agentd.testing.cursor", "--build"]
QUICK = ["--tick", "0.1", "--deaf", "0.5", "--row-lag", "0.1", "--aborted-lag", "0.5"]
PATIENCE = 60.0


class Bench:
    """A daemon, and the agent in its `work` folder."""

    def __init__(self, daemon: Daemon, build: str) -> None:
        self.daemon = daemon
        self.build = build

    def begin(self, text: str, *options: str) -> Running:
        return self.daemon.begin("send", "cursor", "-q", *options, given=text.encode())

    def send(self, text: str, *options: str) -> Completed:
        return self.begin(text, *options).finish(PATIENCE)

    def say(self, text: str, *options: str) -> str:
        done = self.send(text, *options)
        assert done.code == 0, f"{text!r}: {done}\n{self.daemon.run('explain', NAME).stdout}"
        return done.stdout.rstrip("\n")

    def agent(self) -> dict[str, Any]:
        return self.daemon.agent(NAME)

    def works(self, text: str, *options: str) -> Running:
        """A turn that runs."""
        running = self.begin(text, *options)
        self.daemon.reaches("working", NAME)
        return running

    def answer(self, choice: str) -> Completed:
        return self.daemon.run("answer", NAME, choice)

    def wait(self) -> dict[str, Any]:
        done = self.daemon.run("wait", NAME, "--json", timeout=PATIENCE)
        return done.json  # type: ignore[no-any-return]

    def decide(self, question: str, choice: str) -> dict[str, Any]:
        """Send a prompt that asks; answer; what came of it."""
        asked = self.send(question, "--on-attention", "exit")
        assert asked.code == 3 and self.agent()["attention"] == "approval", asked
        assert self.answer(choice).code == 0
        return self.wait()


def config(build: str, *args: str, trusted: bool = True) -> str:
    trust = '[trust]\nworkspaces = ["/tmp/*/work"]\n' if trusted else ""
    command = json.dumps([*PROGRAM, build])
    return f"[adapters.cursor]\ncommand = {command}\nargs = {json.dumps([*QUICK, *args])}\n{trust}"


@pytest.fixture(scope="module", params=BUILDS)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with Daemon(config(request.param, "--worker")) as daemon:
        permissions = {"permissions": {"allow": ["Shell(echo)", "Shell(sleep)", "Shell(true)"]}}
        (daemon.home / ".cursor").mkdir()
        (daemon.home / ".cursor" / "cli-config.json").write_text(json.dumps(permissions))
        bench = Bench(daemon, request.param)
        yield bench
        assert json.loads((daemon.home / ".cursor" / "cli-config.json").read_text()) == permissions


@pytest.fixture
def newest(open_daemon: Callable[..., Daemon]) -> Callable[..., Bench]:
    """A daemon of the test's own with the newest build, given these arguments."""

    def start(*args: str, trusted: bool = True) -> Bench:
        return Bench(open_daemon(config(NEWEST, *args, trusted=trusted)), NEWEST)

    return start


# Turns -------------------------------------------------------------------------------------------


def test_prompts_and_replies(bench: Bench) -> None:
    assert bench.say("@say hello") == "hello"
    first = bench.agent()
    assert bench.say("@say two\nwith a second line") == "two"
    assert bench.say("@say I'll look.\n@bash echo hi\n@say It is done.") == "It is done."
    assert "plain text" in bench.say("plain text")
    after = bench.agent()
    assert (after["pid"], after["session_id"]) == (first["pid"], first["session_id"])


@pytest.mark.parametrize(
    "text", ["/help", "!echo x", "& more", "? really", "@README.md", "exit", "a\\", "see @x"]
)
def test_text_arrives_as_text(bench: Bench, text: str) -> None:
    assert f": {text}" in bench.say(text).replace("\u2800", "")


def test_a_long_prompt(bench: Bench) -> None:
    lines = "\n".join(f"line {number} of a long prompt" for number in range(4000))
    assert bench.say("@say got it\n" + lines) == "got it"


def test_a_second_prompt_waits(bench: Bench) -> None:
    first = bench.works("@slow 10 first")
    assert bench.say("@say second") == "second"
    assert first.finish().stdout == "first\n"


def test_steering(bench: Bench) -> None:
    """A newer build takes it into the turn, an older one runs it after."""
    first = bench.works("@bash sleep 2\n@bash true\n@say first")
    steered = bench.send("STEERED", "--steer", "--json")
    done = first.finish(PATIENCE)
    assert (steered.code, done.code) == (0, 0), (steered, done)
    assert "STEERED" in steered.json["reply"]
    assert ("STEERED" in done.stdout) == (bench.build > "2026.08")
    assert bench.say("@say and on") == "and on"


def test_errors(bench: Bench) -> None:
    failed = bench.send("@err upstream said 529", "--json").json
    assert (failed["outcome"], failed["error"]["message"]) == ("failed", "upstream said 529")
    assert bench.send("@cut", "--json").json["outcome"] == "failed"
    assert bench.say("@say fine") == "fine"


# Interruptions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["@slow 300 never", "@delay 300 never", "@bash sleep 60\n@say never"])
def test_interruptions(bench: Bench, text: str) -> None:
    running = bench.works(text)
    assert bench.daemon.run("interrupt", NAME).code == 0
    assert running.finish().code == 130
    assert bench.say("@slow 8 the late row of the turn before ends nothing").endswith("nothing")
    running = bench.works(text)
    bench.daemon.pane(NAME).keys("Escape")
    assert running.finish().code == 130
    assert bench.say("@say next") == "next"


# Questions ---------------------------------------------------------------------------------------


def test_an_approval_is_a_persons(bench: Bench) -> None:
    made = bench.daemon.work / "made"
    assert bench.decide(f"@bash touch {made}\n@say did it", "approve")["reply"] == "did it"
    assert made.exists()
    assert bench.decide(f"@delete {made}", "deny")["reply"] == "skipped"
    assert made.exists()
    written = bench.daemon.work / "written"
    assert bench.decide(f"@write {written} text\n@say wrote it", "1")["reply"] == "wrote it"
    assert bench.decide("@ask may I\n@say asked", "approve")["reply"] == "asked"


# Ends and beginnings -----------------------------------------------------------------------------


def test_killed_and_resumed(bench: Bench) -> None:
    bench.say("@say before")
    session = bench.agent()["session_id"]
    running = bench.works("@slow 300 never")
    os.kill(bench.agent()["pid"], signal.SIGKILL)
    assert running.finish().code == 5
    assert bench.agent()["state"] == "lost"
    assert "prompt 1 " not in bench.say("where are we"), "the chat goes on"
    assert bench.agent()["session_id"] == session


def test_left_and_resumed(bench: Bench) -> None:
    bench.say("@say before")
    session = bench.agent()["session_id"]
    bench.daemon.pane(NAME).keys("C-d")
    until("the CLI has left", lambda: bench.agent()["pid"] is None)
    assert bench.say("@say resumed") == "resumed"
    assert bench.agent()["session_id"] == session


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restarted_daemon_goes_on_with_the_turn(bench: Bench, how: signal.Signals) -> None:
    bench.say("@say warm")
    running = bench.works("@slow 20 through a restart")
    bench.daemon.restart(how)
    until("the turn is over", lambda: bench.agent()["state"] == "ready")
    last = bench.agent()["last"]
    assert (last["outcome"], last["reply"]) == ("completed", "through a restart")
    running.kill()


def test_stop_leaves_no_process(bench: Bench) -> None:
    bench.say("@say alive")
    pids = processes.below(bench.agent()["pid"])
    assert len(pids) > 1, "the worker"
    assert bench.daemon.run("stop", NAME).code == 0
    assert not any(processes.alive(pid) for pid in pids)


# The start, and what stands in its way -----------------------------------------------------------


def test_trust_is_a_persons(newest: Callable[..., Bench]) -> None:
    bench = newest("--trust-lag", "1", trusted=False)
    asked = bench.send("@say trusted", "--on-attention", "exit")
    assert asked.code == 3 and bench.agent()["attention"] == "trust", asked
    bench.answer("approve")
    assert bench.wait()["reply"] == "trusted"


def test_trust_refused(newest: Callable[..., Bench]) -> None:
    bench = newest(trusted=False)
    assert bench.send("@say never", "--on-attention", "exit").code == 3
    bench.answer("deny")
    bench.daemon.reaches("failed", NAME)


def test_login_needs_a_terminal(newest: Callable[..., Bench]) -> None:
    bench = newest("--logged-out")
    asked = bench.send("@say never", "--on-attention", "exit")
    assert asked.code == 3 and "cursor-agent login" in asked.stderr
    assert bench.answer("approve").code == 2


def test_a_limit(newest: Callable[..., Bench]) -> None:
    bench = newest()
    assert "usage limit" in bench.send("@limit").stderr
    assert bench.send("@say never", "--on-attention", "exit").code == 3
    assert bench.agent()["attention"] == "limit"


def test_without_hooks_the_transcript_is_found(newest: Callable[..., Bench]) -> None:
    bench = newest("--force", "--no-hooks")
    assert bench.say("@say one") == "one"
    assert bench.say("@say I'll look.\n@bash true\n@say done") == "done"
    assert bench.send("@err boom").code == 1
    running = bench.works("@slow 300 never")
    assert bench.daemon.run("interrupt", NAME).code == 0
    assert running.finish().code == 130
    assert bench.say("@say next") == "next"


@pytest.mark.parametrize(
    "args", [["--stops", "none"], ["--stops", "aborted"], ["--restore"], ["--no-response"]]
)
def test_what_others_disagree_about(newest: Callable[..., Bench], args: list[str]) -> None:
    bench = newest("--force", *args)
    assert bench.say("@say I'll look.\n@bash true\n@say done") == "done"
    running = bench.works("@delay 300 never")
    assert bench.daemon.run("interrupt", NAME).code == 0
    assert running.finish().code == 130
    assert bench.say("@slow 8 and on") == "and on"


# The simulator by itself -------------------------------------------------------------------------


class Simulator:
    """The simulator in a pane of its own server."""

    def __init__(self, root: Path, *args: str) -> None:
        self.root = root
        env = {"HOME": str(root), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        self.tmux = Tmux(root / "tmux.sock", env)
        size = ("-x", "100", "-y", "30")
        self.tmux("new-session", "-d", *size, "-c", str(root), "--", *PROGRAM, *args)
        self.pane = Pane(self.tmux, "%0")

    def look(self) -> Look:
        return Cursor().look(Screen.captured(self.tmux("capture-pane", "-e", "-p").split("\n")))

    def ready(self) -> None:
        until("an empty composer", lambda: self.look() == Look(composer=True, draft=""))

    def draft(self, text: str) -> None:
        until(f"the draft {text!r}", lambda: self.look().draft == text)

    def asks(self, reason: Reason) -> None:
        until(f"a dialog: {reason}", lambda: (d := self.look().dialog) is not None and d.reason is reason)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Simulator]]:
    started: list[Simulator] = []

    def start(build: str, *args: str) -> Simulator:
        started.append(Simulator(tmp_path, build, *args))
        return started[-1]

    yield start
    for one in started:
        if one.tmux.runs:
            one.tmux("kill-server")


@pytest.mark.parametrize("build", [*BUILDS, "2026.07.23"])
def test_keys_are_lost_at_first(program: Callable[..., Simulator], build: str) -> None:
    one = program(build, "--deaf", "1.5")
    one.asks(Reason.TRUST)
    one.pane.keys("Enter")
    time.sleep(0.2)
    one.asks(Reason.TRUST)
    one.pane.types("a")
    one.ready()
    one.pane.types("lost")
    time.sleep(1.6)
    assert one.look().draft == ""
    one.pane.types("heard")
    one.draft("heard")


def test_traps_are_traps(program: Callable[..., Simulator]) -> None:
    one = program(NEWEST, "--deaf", "0")
    one.asks(Reason.TRUST)
    one.pane.types("a")
    one.ready()
    one.pane.types("/nonsense")
    one.pane.keys("Enter")
    one.draft("/nonsense")
    one.pane.keys("Enter")
    one.pane.shows("Unknown command")
    one.pane.types("?")
    one.pane.shows("Shortcuts")
    one.pane.types("a\\")
    one.pane.keys("Enter")
    one.pane.types("b")
    one.draft("a\nb")
    one.pane.keys("C-u")
    one.draft("a\nb")
    one.pane.keys("BSpace", "BSpace", "BSpace")
    one.ready()
    one.pane.types("exit")
    one.pane.keys("Enter")
    until("it has left", lambda: not one.tmux.runs)


def test_a_person_widens_the_allowlist(program: Callable[..., Simulator]) -> None:
    one = program(NEWEST, "--deaf", "0")
    one.asks(Reason.TRUST)
    one.pane.types("a")
    one.ready()
    for number in (1, 2):
        one.pane.types(f" @bash echo number {number}")
        one.pane.keys("Enter")
        if number == 1:
            one.asks(Reason.APPROVAL)
            one.pane.keys("Tab")
        one.pane.shows(f"    number {number}")
        one.ready()
    allowed = json.loads((one.root / ".cursor" / "cli-config.json").read_text())
    assert allowed == {"permissions": {"allow": ["Shell(echo)"]}}


def test_the_workspace_gets_its_files_back(newest: Callable[..., Bench]) -> None:
    """The user's hooks stay, ours stand beside them while an agent lives, and then not a byte differs,
    also where the daemon was killed meanwhile."""
    bench = newest()
    folder = bench.daemon.work / ".cursor"
    folder.mkdir()
    own = '{ "version": 1,\n  "hooks": { "stop": [ {"command": "true"} ] } }\n'
    (folder / "hooks.json").write_text(own)
    bench.say("@say with hooks")
    assert "sessionStart" in (folder / "hooks.json").read_text()
    bench.daemon.restart(signal.SIGKILL)
    assert bench.daemon.run("stop", NAME).code == 0
    assert (folder / "hooks.json").read_text() == own
    assert [path.name for path in folder.iterdir()] == ["hooks.json"]


def test_a_file_that_does_not_parse_is_left_alone(newest: Callable[..., Bench]) -> None:
    bench = newest()
    folder = bench.daemon.work / ".cursor"
    folder.mkdir()
    (folder / "hooks.json").write_text("{ broken")
    done = bench.send("@say never", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "workspace")
    assert str(folder / "hooks.json") in done.json["error"]["message"]
    assert (folder / "hooks.json").read_text() == "{ broken"


# Tools ---------------------------------------------------------------------------------------------


def test_the_first_prompt_waits_for_the_bridge(open_daemon: Callable[..., Daemon]) -> None:
    """The simulator starts the project's servers with its session. That the real program does, nobody saw."""
    bridge = '[bridge]\ntools = ["execute_shell_command"]\n'
    bench = Bench(open_daemon(config(NEWEST) + bridge), NEWEST)
    assert bench.say("@say hello") == "hello"
    events = bench.daemon.run("events", NAME).stdout
    assert "the bridge was not there" not in events
    assert bench.daemon.run("stop", "cursor").code == 0
