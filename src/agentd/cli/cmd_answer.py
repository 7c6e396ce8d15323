"""`agentd answer`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentd.cli.face import Face, at, common, out, plain, target, where

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _choices(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from agentd.api.client import ClientError

    client = context.ensure_object(Face).client(timeout=1.0)
    try:
        query = {"cwd": where(context.params.get("cwd"))}
        dialog = client.request("GET", at(context.params["target"]), query=query)[1]["dialog"]
        return [CompletionItem(answer) for answer in dialog["answers"] if answer.startswith(incomplete)]
    except (ClientError, LookupError, TypeError):
        return []


@click.command()
@target
@click.argument("choice", metavar="CHOICE", shell_complete=_choices)
@common
@click.pass_obj
def command(face: Face, target: str, choice: str, cwd: Path | None) -> None:
    """Answer the dialog that an agent waits with.

    CHOICE is `approve`, `deny`, or the number of an option, as `agentd show TARGET` lists them. The turn
    goes on by itself; `agentd wait TARGET` prints its reply.

    \b
    Examples:
      agentd answer claude approve
      agentd answer review 2 && agentd wait review

    \b
    Exit codes:
      0  answered    1  nothing to answer, failed    2  usage, unknown agent or choice    6  no daemon
    """
    done = face.ask("POST", at(target, "answer"), {"choice": choice, "cwd": where(cwd)})
    if face.json:
        face.emit(done)
    else:
        out(f"answered {plain(done['agent'])}: {plain(done['answered'])} (now {plain(done['state'])})")
