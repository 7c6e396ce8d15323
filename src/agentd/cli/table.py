"""Plain text for people: aligned columns, and times as one would say them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from agentd.cli.face import plain


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows under their heads. An empty or missing cell shows as `-`."""
    cells = [list(heads), *([plain("-" if cell in (None, "") else cell) for cell in row] for row in rows)]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    )


def pairs(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values, one a line; what has no value is left out."""
    shown = [(name, plain(value)) for name, value in rows if value not in (None, "")]
    width = max((len(name) for name, _ in shown), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in shown)


def state_of(agent: Mapping[str, Any]) -> str:
    """An agent's state, with what it waits for."""
    attention = agent["attention"]
    reason = attention.get("reason") if isinstance(attention, dict) else attention
    return f"{agent['state']} ({reason})" if reason else str(agent["state"])


def indented(text: str, by: str = "  ") -> str:
    """Text from elsewhere, its lines kept."""
    return "\n".join(by + plain(line) for line in text.splitlines())


def columns(text: str) -> int:
    """The cells of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def seconds_since(time: str | None, now: datetime | None = None) -> float | None:
    """The age of an RFC 3339 time; None where there is none."""
    if not time:
        return None
    try:
        return ((now or datetime.now(UTC)) - datetime.fromisoformat(time)).total_seconds()
    except (ValueError, TypeError):
        return None


def ago(time: str | None, now: datetime | None = None) -> str:
    """An RFC 3339 time as a person says it: `now`, `40s ago`, `in 3h`."""
    age = seconds_since(time, now)
    if age is None:
        return ""
    if abs(age) < 1:
        return "now"
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if abs(age) >= size:
            count = f"{int(abs(age) // size)}{unit}"
            return f"{count} ago" if age > 0 else f"in {count}"
    return "now"
