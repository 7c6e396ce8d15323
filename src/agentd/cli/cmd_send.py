"""`agentd send`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from agentd.cli.face import Face, at, common, note, target, where

STDIN = "-"
TAKEN_BACK = (
    "when it is back, it takes the message back, since nobody asks for it; "
    "until then its turn goes on, or may begin"
)
NOT_KNOWN = "whether the message reached it is not known"


@click.command(context_settings={"max_content_width": 110})
@target
@click.argument("prompt", metavar="[PROMPT]", required=False)
@click.option("--file", type=click.Path(path_type=Path), metavar="PATH", help="Read the prompt from a file.")
@click.option("--name", metavar="NAME", help="The agent's name.  [default: PROVIDER-DIRECTORY, made unique]")
@click.option("--model", metavar="MODEL", help="The model, in the CLI's own words.")
@click.option(
    "--restart",
    is_flag=True,
    help="Where the agent has another model, directory (--name) or tools: start it anew, if it is idle.",
)
@click.option(
    "--raw", is_flag=True, help="Pass slash commands and shell mode as typed; else text arrives as text."
)
@click.option(
    "--queue", "mode", flag_value="queue", help="While a turn runs: wait for it, in line.  [default]"
)
@click.option("--steer", "mode", flag_value="steer", help="While a turn runs: say it into that turn.")
@click.option(
    "--fail-if-busy", "mode", flag_value="fail_if_busy", help="While a turn runs: refuse, with exit code 1."
)
@click.option("--no-wait", is_flag=True, help="Return after the receipt; `agentd wait` has the reply.")
@click.option(
    "--deadline", metavar="DURATION", help="End the turn after this long: 90m, 1h30m, 45s.  [default: never]"
)
@click.option(
    "--on-attention", type=click.Choice(["wait", "exit"]),
    help="When the agent needs a person.  [default: wait on a terminal, else exit with 3]",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@common
@click.pass_obj
def command(
    face: Face,
    target: str,
    prompt: str | None,
    file: Path | None,
    cwd: Path | None,
    name: str | None,
    model: str | None,
    restart: bool,
    raw: bool,
    mode: str | None,
    no_wait: bool,
    deadline: str | None,
    on_attention: str | None,
    quiet: bool,
) -> int:
    """Give an agent a prompt; print its reply.

    TARGET is an agent's name, or a provider, meaning that provider's agent for --cwd: it is started
    when there is none, and woken up with its conversation when it is retired.

    An agent that lives with another model, directory or other tools than are wanted now is not used: the
    difference is named. --restart starts it anew. It goes on with its conversation, except in another
    directory, where it begins a new one.

    PROMPT is read from standard input when it is missing or `-`. One that begins with `-` goes after `--`.
    Bytes that are not UTF-8 are replaced.

    Standard output holds the reply alone, or with --json one object, also when it failed.
    Progress goes to standard error.

    Ctrl-C interrupts the turn and waits for its end; a second one leaves at once. A `send` that is killed
    while it waits cancels its message.

    A daemon that is restarted, upgraded or killed meanwhile is waited for, for 60 s, and the answer is still
    the one to this prompt, which goes in once. Ctrl-C while the daemon is away leaves at once; the daemon
    takes the message back when it has returned.

    With --on-attention exit, the message stays where it is when a person is needed:
    `agentd answer TARGET CHOICE`, then `agentd wait TARGET` go on from there.

    \b
    Examples:
      agentd send claude "Why does test_x fail?"
      git diff | agentd send codex --name review --deadline 20m
      agentd send review --steer "Leave the tests alone."
      agentd send claude --raw /compact
      agentd send demo -- "--flag is what I want to ask about"
      agentd send pi --no-wait --json --file task.md

    \b
    Exit codes:
      0  done                         4    a deadline fired (says the layer)
      1  the turn failed              5    the agent was lost
      2  usage                        6    no daemon
      3  a person is needed           130  interrupted
    """
    from agentd.api.reconnecting import Ask
    from agentd.cli.turns import Follower

    left = NOT_KNOWN if no_wait else TAKEN_BACK
    follower = Follower(face, name or target, quiet=quiet, left_behind=left)
    message = os.urandom(16).hex()
    workspace = where(cwd)
    if cwd and not cwd.is_dir():
        raise click.BadParameter(f"{str(cwd)!r} is no directory", param_hint="--cwd")
    waits_for_person = on_attention or ("wait" if sys.stderr.isatty() else "exit")
    body: dict[str, Any] = {
        "id": message,
        "text": _text(prompt, file),
        "cwd": workspace,
        "name": name,
        "model": model,
        "restart": restart,
        "mode": mode or "queue",
        "raw": raw,
        "wait": not no_wait,
        "deadline_s": None if deadline is None else _seconds(deadline),
        "on_attention": waits_for_person,
    }

    def ask() -> Ask:
        """The message goes to the daemon again until it is known to be there; its id keeps it one message."""
        if follower.agent is None:
            return Ask("POST", at(target, "messages"), body)
        path = at(follower.agent, f"messages/{message}")
        return Ask("GET", path, query={"on_attention": waits_for_person}, resumes=True)

    def interrupt() -> Any:
        path = at(follower.agent or name or target, "interrupt")
        return face.client(timeout=10).request("POST", path, {"cwd": workspace})[1]

    if no_wait:
        return follower.follow(ask)
    with follower.interrupting(interrupt):
        return follower.follow(ask)


def _text(prompt: str | None, file: Path | None) -> str:
    if file is not None and prompt is not None:
        raise click.UsageError("Give PROMPT or --file, not both.")
    if prompt not in (None, STDIN):
        text = os.fsencode(prompt or "").decode("utf-8", "replace")
    else:
        # The newline that ends a file's last line is no part of what it says.
        text = _read(file).decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
    if not text.strip():
        raise click.UsageError("The prompt is empty.")
    return text


def _read(file: Path | None) -> bytes:
    if file is None or str(file) == STDIN:
        if sys.stdin is None:
            raise click.UsageError("There is no PROMPT, and standard input is closed.")
        if sys.stdin.isatty():
            note("type the prompt; Ctrl-D ends it")
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise click.BadParameter(f"{str(file)!r}: {error.strerror}", param_hint="--file") from error


def _seconds(deadline: str) -> float:
    from agentd.contract.durations import DurationError, parse_duration

    try:
        seconds = parse_duration(deadline)
    except DurationError as error:
        raise click.BadParameter(str(error), param_hint="--deadline") from error
    if seconds <= 0:
        raise click.BadParameter("must be more than zero", param_hint="--deadline")
    return seconds
