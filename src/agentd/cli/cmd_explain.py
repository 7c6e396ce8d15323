"""`agentd explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from agentd.cli.face import Face, at, common, out, plain, target, where


@click.command()
@target
@common
@click.pass_obj
def command(face: Face, target: str, cwd: Path | None) -> None:
    """Say why an agent is in its state: which fact, from which source, and when.

    Sources are the CLI's own hooks and records, its screen, tmux, and agentd itself. The newest facts come
    last, then what the agent waits for, then the end of its screen.

    \b
    Examples:
      agentd explain claude
      agentd explain review --json | jq .history

    \b
    Exit codes:
      0  done    1  failed    2  usage, unknown agent    6  no daemon
    """
    facts = face.ask("GET", at(target, "explain"), query={"cwd": where(cwd)})
    if face.json:
        face.emit(facts)
    else:
        out("\n".join(_page(facts)))


def _page(facts: Mapping[str, Any]) -> Iterator[str]:
    from agentd.cli.table import ago, indented, table

    since = f" since {facts['since']} ({ago(facts['since'])})" if facts["since"] else ""
    yield f"{plain(facts['agent'])} is {plain(facts['state'])}{since}"
    fact = " from ".join(plain(each) for each in (_word(facts["event"]), facts["source"]) if each)
    yield f"because {plain(facts['why'])}" + (f"  [{fact}]" if fact else "")
    if facts["waiting_for"]:
        yield f"it waits for {_word(facts['waiting_for'])}"
    if facts["history"]:
        yield "\nHistory:"
        rows = [(each["time"], each["source"], each["kind"], each["text"]) for each in facts["history"]]
        yield indented(table(("TIME", "SOURCE", "EVENT", "TEXT"), rows))
    if screen := facts["screen"]:
        yield "\nScreen:"
        yield indented(screen if isinstance(screen, str) else "\n".join(screen), "  | ")


def _word(fact: Any) -> str:
    if isinstance(fact, dict):
        return plain(fact.get("kind") or fact)
    return ", ".join(map(plain, fact)) if isinstance(fact, list) else plain(fact or "")
