"""`agentd events`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from agentd.cli.face import Face, common, complete_target, note, out, where
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
    The output is JSON with and without --json. With --follow a daemon that is restarted is waited for, for
    60 s; no event is lost or printed twice.

    \b
    Examples:
      agentd events claude
      agentd events --follow | jq -c 'select(.kind == "turn_ended")'

    \b
    Exit codes:
      0  done    1  failed    2  usage, unknown agent    6  no daemon    130  Ctrl-C
    """
    from agentd.api.reconnecting import Ask, Line

    query = {"agent": target, "follow": "1" if follow else "0", "cwd": where(cwd) if target else None}
    seen: dict[str, str] = {}

    def ask() -> Ask:
        return Ask("GET", "/v1/events", query=query, headers=seen, resumes=bool(seen))

    try:
        if not follow:
            for _, data in face.client().stream("GET", "/v1/events", query=query):
                out(json.dumps(data, ensure_ascii=False))
            return DONE
        for _, data in Line(face.client(), note).events(ask):
            out(json.dumps(data, ensure_ascii=False))
            seen["Last-Event-ID"] = str(data["seq"])
    except KeyboardInterrupt:
        return INTERRUPTED  # The usual end of --follow, and no event: it is not printed as one.
    return DONE
