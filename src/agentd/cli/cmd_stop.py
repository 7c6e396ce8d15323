"""`agentd stop`."""

from __future__ import annotations

from pathlib import Path

import click

from agentd.cli.face import Face, at, can_be_target, common, complete_target, out, plain, where


@click.command()
@click.argument(
    "targets", metavar="TARGET...", nargs=-1, callback=can_be_target, shell_complete=complete_target
)
@click.option("--all", "everything", is_flag=True, help="Stop all agents.")
@click.option(
    "--cwd", type=click.Path(path_type=Path), metavar="DIR",
    help="The workspace, when TARGET is a provider.  [default: here]",
)  # fmt: skip
@common
@click.pass_obj
def command(face: Face, targets: tuple[str, ...], everything: bool, cwd: Path | None) -> None:
    """Stop agents: end the turn, the CLI, its children and its pane, and say what was stopped.

    The conversation ends with it: the next prompt to that name begins a new one. (One that is only idle for
    long, or has died, is taken up again.) Stopping nothing is no error.

    \b
    Examples:
      agentd stop claude
      agentd stop review docs-pi
      agentd stop --all

    \b
    Exit codes:
      0  stopped, or nothing to stop    1  failed    2  usage    6  no daemon
    """
    if bool(targets) == everything:
        raise click.UsageError("Give at least one TARGET, or --all.")
    query = None if everything else {"cwd": where(cwd)}
    stopped: list[str] = []
    face.frame = lambda error: {"stopped": stopped, "error": error}
    for path in ["/v1/agents"] if everything else map(at, targets):
        names = face.ask("DELETE", path, query=query)["stopped"]
        stopped += names
        if not face.json:
            for name in names:
                out(f"stopped {plain(name)}")
    if face.json:
        face.emit({"stopped": stopped})
    elif not stopped:
        out("nothing to stop")
