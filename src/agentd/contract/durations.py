"""Go-style durations (`90m`, `1h30m`, `5400s`, `750ms`): the form of every duration a person writes."""

from __future__ import annotations

import re
from decimal import Decimal

_UNITS = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)

LONGEST_S = (2**63 - 1) / 1e9
"""Go's own longest duration: 292 years."""


class DurationError(ValueError):
    """The text is no duration."""


def parse_duration(text: str) -> float:
    """Read a Go-style duration; the result is in seconds.

    `0` needs no unit, every other number does. A sign is accepted, as in Go, so that a caller can
    tell "negative" from "nonsense".

    Raises:
        DurationError: the text isn't of that form; the message shows one that is.
    """
    rest = text.strip()
    sign = 1
    if rest[:1] in ("+", "-"):
        sign = -1 if rest[0] == "-" else 1
        rest = rest[1:]
    if rest == "0":
        return 0.0
    total, position = Decimal(0), 0
    while len(rest) < 1000 and (part := _PART.match(rest, position)):
        total += Decimal(part[1]) * _UNITS[part[2]]
        position = part.end()
    if not rest or position != len(rest):
        raise DurationError(f"{_short(text)} is no duration; write it like 90m, 1h30m, 45s or 750ms")
    if total > LONGEST_S:
        raise DurationError(f"{_short(text)} is longer than any duration may be (292 years)")
    return float(sign * total)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")


def format_duration(seconds: float) -> str:
    """Write seconds in the same form, without parts that are zero: 5400 -> `1h30m`, 0.75 -> `750ms`."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    milliseconds = round(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms" if milliseconds else "0s"
    whole, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(whole, 60)
    hour, minute = divmod(minutes, 60)
    tail = f"{second + rest / 1000:g}s" if second or rest else ""
    return (f"{hour}h" if hour else "") + (f"{minute}m" if minute else "") + tail
