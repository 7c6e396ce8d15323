"""`agentd wait`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from agentd.cli.face import Face, at, common, target, where


@click.command()
@target
@click.option(
    "--on-attention", type=click.Choice(["wait", "exit"]),
    help="When the agent needs a person.  [default: wait on a terminal, else exit with 3]",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
@common
@click.pass_obj
def command(face: Face, target: str, cwd: Path | None, on_attention: str | None, quiet: bool) -> int:
    """Wait until the current turn of an agent is over; print its reply.

    Where nothing runs, the result of what ended last is printed again.

    Output, progress and exit codes are those of `agentd send`. Who waits only looks on: Ctrl-C leaves,
    and the turn goes on (`agentd interrupt TARGET` ends it). A daemon that is restarted meanwhile is waited
    for, for 60 s, and then the same turn.

    \b
    Examples:
      agentd send claude --no-wait "Tidy up the imports." && agentd wait claude
      agentd answer claude approve && agentd wait claude

    \b
    Exit codes:
      0  done                         4    a deadline fired (says the layer)
      1  the turn failed              5    the agent was lost
      2  usage                        6    no daemon
      3  a person is needed           130  interrupted
    """
    from agentd.api.reconnecting import Ask
    from agentd.cli.turns import Follower

    workspace = where(cwd)
    waits_for_person = on_attention or ("wait" if sys.stderr.isatty() else "exit")
    follower = Follower(face, target, quiet=quiet, left_behind="the turn goes on")

    def ask() -> Ask:
        query = {"cwd": workspace, "on_attention": waits_for_person, **follower.awaits}
        resumes = follower.agent is not None
        return Ask("GET", at(follower.agent or target, "wait"), query=query, resumes=resumes)

    return follower.follow(ask)
