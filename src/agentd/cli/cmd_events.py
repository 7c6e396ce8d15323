"""`agentd events`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from agentd.cli.face import Face, common, complete_target, out, where
from agentd.cli.failures import DONE, INTERRUPTED


@click.command()
@click.argument("target", metavar="[TARGET]", required=False, shell_complete=complete_target)
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens from now on, until Ctrl-C.")
@click.option(
    "--cwd", type=click.Path(path_type=Path), metavar="DIR",
    help="The workspace, when TARGET is a provider.  [default: here]",
)  # fmt: skip
@common
@click.pass_obj
def command(face: Face, target: str | None, follow: bool, cwd: Path | None) -> int:
    """Print normalised events, of one agent or of all, one JSON line each.

    Each has its kind, its time, and the source it came from: `hook`, `record`, `screen`, `tmux`, `agentd`.
    The output is JSON with and without --json.

    \b
    Examples:
      agentd events claude
      agentd events --follow | jq -c 'select(.kind == "turn_ended")'

    \b
    Exit codes:
      0  done    1  failed    2  usage, unknown agent    6  no daemon    130  Ctrl-C
    """
    query = {"agent": target, "follow": "1" if follow else "0", "cwd": where(cwd) if target else None}
    try:
        for _, data in face.client().stream("GET", "/v1/events", query=query):
            out(json.dumps(data, ensure_ascii=False))
    except KeyboardInterrupt:
        return INTERRUPTED  # The usual end of --follow, and no event: it is not printed as one.
    return DONE
