"""`agentd show`."""

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
    """Show one agent: state, turn, queue, last reply, deadlines, files, and how to attach.

    \b
    Examples:
      agentd show claude
      agentd show review --json | jq -r .last.reply

    \b
    Exit codes:
      0  done    1  failed    2  usage, unknown agent    6  no daemon
    """
    agent = face.ask("GET", at(target), query={"cwd": where(cwd)})
    if face.json:
        face.emit(agent)
    else:
        out("\n".join(_page(agent)))


def _page(agent: Mapping[str, Any]) -> Iterator[str]:
    from agentd.cli.table import ago, indented, pairs, state_of

    def when(time: str | None) -> str | None:
        return f"{time} ({ago(time)})" if time else None

    files = agent.get("files") or {}
    yield pairs([
        ("name", agent["name"]),
        ("provider", agent["provider"]),
        ("state", state_of(agent)),
        ("cwd", agent["cwd"]),
        ("model", agent["model"]),
        ("session", agent["session_id"]),
        ("turn", agent["turn"]),
        ("queued", agent["queued"]),
        ("pid", agent["pid"]),
        ("created", when(agent["created_at"])),
        ("last used", when(agent["last_used_at"])),
        ("retires", when(agent["retire_at"])),
        ("folder", files.get("folder")),
        ("record", files.get("record")),
        ("spool", files.get("spool")),
        ("attach", agent.get("attach")),
    ])  # fmt: skip
    if dialog := agent.get("dialog"):
        yield f"\nIt waits for you ({plain(dialog['reason'])}):"
        yield indented(dialog["text"] or "")
        yield from (
            f"  {number}. {plain(option)}" for number, option in enumerate(dialog["options"] or [], 1)
        )
        answers = " | ".join(map(plain, dialog["answers"] or [])) or "CHOICE"
        yield f"  agentd answer {plain(agent['name'])} {answers}"
    if queue := agent.get("queue"):
        yield "\nQueue:"
        yield from (f"  {place}. {_shortened(each['text'])}" for place, each in enumerate(queue, 1))
    if deadlines := agent.get("deadlines"):
        from agentd.contract.durations import format_duration

        yield "\nDeadlines:"
        for each in deadlines:
            limit = "" if each["timeout_s"] is None else f", limit {format_duration(each['timeout_s'])}"
            yield f"  {plain(each['layer'])}  {when(each['at'])}{limit}"
    if last := agent.get("last"):
        yield f"\nLast turn: {plain(last['outcome'])}{_ended(last, ago)}"
        if last["error"]:
            yield indented(last["error"]["message"])
        if last["reply"]:
            yield indented(last["reply"])


def _ended(last: Mapping[str, Any], ago: Any) -> str:
    return f", {ago(last['ended_at'])}" if last.get("ended_at") else ""


def _shortened(text: str, length: int = 90) -> str:
    text = plain(text)
    return text if len(text) <= length else text[: length - 1] + "…"
