"""`agentd attach`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from agentd.cli.face import Face, at, common, target, where
from agentd.cli.failures import CommandError


@click.command()
@target
@click.option("-r", "--read-only", is_flag=True, help="Look only: no key reaches the agent.")
@common
@click.pass_obj
def command(face: Face, target: str, read_only: bool, cwd: Path | None) -> None:
    """Attach this terminal to an agent's pane; it also works from within a tmux of your own.

    `Ctrl-b d` leaves, and the agent runs on. What you type there reaches the CLI as if you had started it.
    With --json the command is printed, as a list of words, and not run.

    \b
    Examples:
      agentd attach claude
      agentd attach review --read-only

    \b
    Exit codes:
      those of tmux    1  there is no pane, or no tmux    2  usage, unknown agent    6  no daemon
    """
    agent = face.ask("GET", at(target), query={"cwd": where(cwd)})
    words = _words(agent, read_only=read_only)
    if face.json:
        face.emit(words)
        return
    # tmux refuses to nest by itself; here the servers differ, so that it is safe.
    environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, environment)
    except FileNotFoundError as error:
        raise CommandError("no_tmux", "tmux was not found on the PATH") from error
    except OSError as error:
        raise CommandError("no_tmux", f"tmux can't be run: {error.strerror}") from error


def _words(agent: Mapping[str, Any], *, read_only: bool) -> list[str]:
    name, tmux = agent["name"], agent["tmux"] or {}
    if not (tmux.get("socket") and tmux.get("session") and tmux.get("pane")):
        raise CommandError(
            "no_pane",
            f"{name} is {agent['state']} and has no pane to attach to; "
            f"the next prompt starts one: `agentd send {name} PROMPT`",
        )
    words = ["tmux", "-S", tmux["socket"], "attach", "-t", f"={tmux['session']}"]
    return [*words, "-r"] if read_only else words
