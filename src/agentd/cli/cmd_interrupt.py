"""`agentd interrupt`."""

from __future__ import annotations

from pathlib import Path

import click

from agentd.cli.face import Face, at, common, out, plain, target, where


@click.command()
@target
@common
@click.pass_obj
def command(face: Face, target: str, cwd: Path | None) -> None:
    """End the running turn of an agent; the agent stays, ready for the next prompt.

    Whoever waits for that turn gets its end, with the outcome `interrupted`. Interrupting nothing is no
    error.

    \b
    Examples:
      agentd interrupt claude
      agentd interrupt review --json

    \b
    Exit codes:
      0  interrupted, or no turn ran    1  failed    2  usage, unknown agent    6  no daemon
    """
    done = face.ask("POST", at(target, "interrupt"), {"cwd": where(cwd)})
    if face.json:
        face.emit(done)
    else:
        out(f"interrupted {plain(done['agent'])}" if done["interrupted"] else "nothing to interrupt")
