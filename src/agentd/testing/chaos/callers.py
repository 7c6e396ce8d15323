"""What callers and people do."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentd.testing.chaos.plan import Step
from agentd.testing.chaos.world import Call, Window, World, told
from agentd.testing.daemon import AGENTD
from agentd.testing.panes import Pane, Tmux

SHELL = "execute_shell_command"
LONGEST_S = 110.0
"""How long a command may take at most: longer than any turn and any of the daemon's own patience."""


def send(world: World, step: Step) -> None:
    """`agentd send`, which may be killed or interrupted on its way."""
    assert step.prompt
    prompt, options = step.prompt, step.options
    words = ["send", "demo", "-", "--name", step.agent, f"--{options['mode']}"]
    words += ["--on-attention", options["on_attention"]]
    for flag, wanted in (
        ("--no-wait", options["no_wait"]),
        ("--json", options["json"]),
        ("--raw", prompt.raw),
    ):
        words += [flag] if wanted else []
    if options["deadline"]:
        words += ["--deadline", f"{options['deadline']}s"]
    began = time.time()
    running = world.daemon.begin(*words, given=prompt.text.encode())
    left = None
    if options["ends"]:
        try:
            running.process.wait(options["ends_after"])
        except subprocess.TimeoutExpired:
            left = str(options["ends"])
            with world.trouble("caller", step.agent):
                running.process.send_signal(signal.Signals[left])
                world.say(f"{prompt.mark}: its caller is sent {left}", step)
    try:
        done = running.finish(LONGEST_S)
    except subprocess.TimeoutExpired:
        running.kill()
        world.breaks(f"{prompt.mark}: its caller was not answered within {LONGEST_S:g} s")
        return
    killed = done.code == -signal.SIGKILL
    answer = told(done) if options["json"] and not killed else None
    world.calls.append(Call(step, began, time.time(), None if killed else done, answer, left))
    what = f"{answer['receipt']} {answer['outcome']}" if answer and "outcome" in answer else ""
    error = (answer or {}).get("error") or {}
    world.say(
        f"{prompt.mark} -> {done.code} {what} {error.get('code') or ''} {error.get('message') or ''}"[:300],
        step,
    )


def command(world: World, step: Step) -> None:
    """Another verb of the command line."""
    words = {
        "interrupt": ["interrupt", step.agent],
        "answer": ["answer", step.agent, str(step.options.get("choice"))],
        "wait": ["wait", step.agent, "--on-attention", "exit"],
        "stop": ["stop", step.agent or "--all"],
        "look": [
            str(step.options.get("verb")),
            *([step.agent] if step.options.get("verb") != "list" else []),
        ],
    }[step.deed]
    as_json = step.options.get("verb") != "events"
    with world.trouble(step.deed, step.agent):
        done = world.daemon.run(*words, *(["--json"] if as_json else []), timeout=LONGEST_S)
    try:
        for line in [done.stdout] if as_json else done.stdout.splitlines():
            json.loads(line)
    except ValueError:
        if done.stdout or done.code not in (2, 6):
            world.breaks(f"`agentd {' '.join(words)}` printed no JSON: {done}")
    if done.code not in (0, 1, 2, 3, 4, 5, 6, 130) or "Traceback" in done.stderr:
        world.breaks(f"`agentd {' '.join(words)}` ended strangely: {done}")
    world.say(f"{' '.join(words)} -> {done.code} {done.stdout.strip()[:160]}", step)


# Tools of the CLI's model ----------------------------------------------------------------------------


class _Unix(http.client.HTTPConnection):
    """HTTP to the daemon's socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("agentd", timeout=LONGEST_S)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _shell(step: Step) -> str:
    """A command that leaves children, as a test runner does."""
    name = f"TOOL-{step.number:05d}"
    return f"(trap '' TERM; sleep 600 & wait) >/dev/null & sleep {step.options['seconds']}; echo {name}"


def tool(world: World, step: Step) -> None:
    """The CLI's model calls a tool through the HTTP route, and may give it up."""
    try:
        token = (world.daemon.state / "agents" / step.agent / "bridge-token").read_text()
    except OSError:
        return
    connection = _Unix(world.daemon.socket)
    body = json.dumps({"command": _shell(step)})
    try:
        connection.request("POST", f"/v1/tools/custom/{SHELL}", body, {"Authorization": f"Bearer {token}"})
        if step.options["leave"]:
            time.sleep(step.options["leave"])
            world.say("its caller gave the tool up", step)
            return
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        world.say(f"tool: {error!r}", step)
        return
    finally:
        connection.close()
    world.say(f"tool -> {answer.status} {text[:120]}", step)
    if answer.status == 200:
        result = json.loads(text)
        own = f"TOOL-{step.number:05d}" in result["text"] or "ended by SIGKILL" in result["text"]
        if not result["is_error"] and not own:
            world.breaks(f"step {step.number}: the tool's result is another one's: {text}")
    elif answer.status not in (401, 403, 503):
        world.breaks(f"step {step.number}: the tool's call was answered {answer.status} {text[:300]}")


def bridge(world: World, step: Step) -> None:
    """The bridge calls a tool, and may be killed while it runs."""
    file = world.daemon.state / "agents" / step.agent / "bridge-token"
    if not file.exists():
        return
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "agentd.bridge"],
        env={**world.daemon.env, "AGENTD_TOKEN_FILE": str(file), "AGENTD_AGENT": step.agent},
        cwd=world.daemon.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    info = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "chaos", "version": "1"},
    }
    call = {"name": SHELL, "arguments": {"command": _shell(step)}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": info},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    assert process.stdin and process.stdout
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(lines.encode())
            process.stdin.flush()
        if step.options["leave"]:
            time.sleep(1.0 + step.options["leave"])
            world.say("the bridge is killed", step)
            return
        for line in process.stdout:
            if json.loads(line).get("id") == 2:
                world.say(f"bridge -> {line.decode()[:160]}", step)
                return
        world.say("the bridge ended without an answer", step)
    finally:
        process.kill()
        process.communicate()


# People ------------------------------------------------------------------------------------------------


def person(world: World, step: Step) -> None:
    """Somebody attaches, does something, and detaches."""
    daemon = world.daemon
    agent = world.agent(step.agent)
    if not agent or not agent["tmux"]["pane"]:
        return
    mine = Tmux(daemon.root / f"person-{step.number}.sock", daemon.env)
    words = [*AGENTD, "attach", step.agent]
    # Typing is a cause of much: an Escape interrupts, a key answers a dialog, a draft holds a prompt up.
    with world.trouble("person", step.agent):
        try:
            mine("new-session", "-d", "-x", "120", "-y", "41", "-c", str(daemon.work), "--", *words)
            pane = Pane(mine, "%0")
            _wait_attached(world, agent["tmux"]["pane"])
            _does(pane, step)
            time.sleep(step.options["seconds"])
        except AssertionError as error:
            world.say(f"person: {str(error)[:120]}", step)  # the pane went away under them
        finally:
            subprocess.run(
                ["tmux", "-S", str(mine.socket), "kill-server"],
                env=mine.env,
                capture_output=True,
                check=False,
            )


def _wait_attached(world: World, pane: str) -> None:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if Pane(world.daemon.tmux, pane).value("#{session_attached}") != "0":
            return
        time.sleep(0.05)


def _does(pane: Pane, step: Step) -> None:
    match step.options["does"]:
        case "prompt":
            pane.types(f"@say PERSON-{step.number:05d}")
            time.sleep(0.1)
            pane.keys("Enter")
        case "draft":
            pane.types(f"a draft of PERSON-{step.number:05d}")
        case "scroll":
            pane.keys("C-b", "[")
            pane.keys("PageUp")
        case "escape":
            pane.keys("Escape")
        case _:
            pass


def window(world: World, step: Step) -> None:
    """Somebody opens a window of their own in the agent's session; it is theirs."""
    agent = world.agent(step.agent)
    if not agent or not agent["pid"]:
        return
    with suppress(AssertionError):
        text = world.daemon.tmux(
            "new-window", "-d", "-P", "-F", "#{pane_pid}", "-t", f"={step.agent}:", "--", "sleep", "100000"
        )
        world.windows.append(Window(step.agent, int(text), time.time()))
        world.say(f"a window of a person's with process {text}", step)
