"""`agentd prune`."""

from __future__ import annotations

import click

from agentd.cli.face import Face, common, out, plain


@click.command()
@click.option(
    "--older-than", metavar="DURATION",
    help="Only what has not been in use for this long: 24h, 90m.  [default: as long as the history is kept]",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="However short that is.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@common
@click.pass_obj
def command(face: Face, older_than: str | None, everything: bool, dry_run: bool) -> None:
    """Remove agents that no longer serve, with their history and files, and say which.

    Such an agent is stopped, failed, lost or retired, has no pane, and no message waits for it. Its
    conversation can't be taken up again through agentd; the CLI's own records of it stay. Its name is free.
    Folders that belong to no agent are removed too. Removing nothing is no error.

    \b
    Examples:
      agentd prune --dry-run
      agentd prune --older-than 168h
      agentd stop review && agentd prune --all

    \b
    Exit codes:
      0  removed, or nothing to remove    1  failed    2  usage    6  no daemon
    """
    if everything and older_than is not None:
        raise click.UsageError("Give --older-than or --all, not both.")
    age = 0.0 if everything else None if older_than is None else _seconds(older_than)
    body = {"dry_run": dry_run, "older_than_s": age}
    face.frame = lambda error: {"agents": [], "folders": [], "dry_run": dry_run, "error": error}
    pruned = face.ask("POST", "/v1/prune", body)
    if face.json:
        face.emit(pruned)
        return
    did = "would prune" if dry_run else "pruned"
    for name in pruned["agents"]:
        out(f"{did} {plain(name)}")
    for folder in pruned["folders"]:
        out(f"{did} {plain(folder)}, a folder of no agent")
    if not pruned["agents"] and not pruned["folders"]:
        out("nothing to prune")


def _seconds(age: str) -> float:
    from agentd.contract.durations import DurationError, parse_duration

    try:
        seconds = parse_duration(age)
    except DurationError as error:
        raise click.BadParameter(str(error), param_hint="--older-than") from error
    if seconds < 0:
        raise click.BadParameter("must not be negative", param_hint="--older-than")
    return seconds
