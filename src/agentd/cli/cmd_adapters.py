"""`agentd adapters`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from agentd.cli.face import Face, common, out, plain


@click.command()
@common
@click.pass_obj
def command(face: Face) -> None:
    """Print the adapters found, the CLI each would run, and its version.

    An adapter is a package that knows one provider's CLI. `found` is the program on the login shell's
    PATH; below the table stands what is wrong, if anything is.

    \b
    Examples:
      agentd adapters
      agentd adapters --json | jq '.adapters[] | {provider, capabilities}'

    \b
    Exit codes:
      0  done    1  failed    2  usage    6  no daemon
    """
    answer = face.ask("GET", "/v1/adapters")
    if face.json:
        face.emit(answer)
        return
    from agentd.cli.table import table

    adapters = answer["adapters"]
    heads = ("PROVIDER", "ALIASES", "COMMAND", "FOUND", "VERSION", "TESTED WITH", "MCP TIMEOUT", "CAN")
    rows = [list(map(plain, _row(each))) for each in adapters]
    used = [n for n in range(len(heads)) if n < 5 or any(row[n] for row in rows)]
    out(table([heads[n] for n in used], [[row[n] for n in used] for row in rows]))
    for each in adapters:
        if each["problem"]:
            out(f"{plain(each['provider'])}: {plain(each['problem'])}")


def _row(adapter: Mapping[str, Any]) -> tuple[str, ...]:
    mcp = adapter["mcp_timeout"]
    return (
        adapter["provider"],
        _words(adapter["aliases"], ", "),
        _words(adapter["command"]),
        _found(adapter["found"]),
        adapter["version"] or "",
        _words(adapter.get("tested"), ", "),
        f"{mcp['setting']} ({mcp['unit']})" if mcp else "",
        ", ".join(name for name, can in (adapter["capabilities"] or {}).items() if can is True),
    )


def _words(value: Any, between: str = " ") -> str:
    return between.join(map(str, value)) if isinstance(value, list | tuple) else str(value or "")


def _found(found: Any) -> str:
    return ("yes" if found else "no") if isinstance(found, bool) else str(found or "no")
