"""`agentd timeouts`."""

from __future__ import annotations

import click

from agentd.cli.face import Face, common, out


@click.command()
@common
@click.pass_obj
def command(face: Face) -> None:
    """Print the timeout contract with the values in force, and where each one came from.

    Every limit has an owner and a layer of its own; an error names the layer that fired. UNIT and SETTING
    say how the limit is handed to a CLI that documents one. `none` is a layer without a limit.

    \b
    Examples:
      agentd timeouts
      agentd timeouts --json | jq '.layers[] | select(.provider == "codex")'

    \b
    Exit codes:
      0  done    1  failed    2  usage    6  no daemon
    """
    answer = face.ask("GET", "/v1/timeouts")
    if face.json:
        face.emit(answer)
        return
    from agentd.cli.table import table
    from agentd.contract.durations import format_duration

    rows = [
        (
            each["layer"],
            each["provider"],
            "none" if each["value_s"] is None else format_duration(each["value_s"]),
            each["unit"],
            each["setting"],
            each["owner"],
            each["source"],
        )
        for each in answer["layers"]
    ]
    out(table(("LAYER", "PROVIDER", "VALUE", "UNIT", "SETTING", "OWNER", "SOURCE"), rows))
