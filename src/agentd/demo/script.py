"""The directives in a prompt: what the demo agent is told to do. Pure.

One directive a line, run in order; lines without one are ignored if any line has one. N counts ticks
(one second each, unless `--tick` says otherwise) and may be a fraction.

    @say TEXT             answer with TEXT
    @slow N TEXT          stream TEXT in N pieces, one a tick
    @delay N TEXT         N ticks of silence, then TEXT
    @tool N [NAME]        a silent tool call of N ticks
    @bash CMD             run CMD in a shell, in the working directory
    @ask QUESTION         ask a person for approval; "No" ends the turn
    @error TEXT           fail as an API error does
    @cut                  some text, then the stream breaks
    @silence              work for ever without a sign of life
    @crash [STATUS]       the program exits at once
    @background N TEXT    end the turn with a task still running; N ticks later go on by itself with TEXT
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

_LINE = re.compile(r"\s*@([a-z]+)(?:\s+(.*?))?\s*")
_COUNT = re.compile(r"(\d+(?:\.\d+)?)(?:\s+(.*))?", re.DOTALL)

_COUNTED = {"slow", "delay", "tool", "background"}
_PLAIN = {"say", "bash", "ask", "error", "cut", "silence", "crash"}


class Step(NamedTuple):
    """One directive; `ticks` is 1 where a counted one names none."""

    name: str
    text: str = ""
    ticks: float = 0.0


def parse(prompt: str) -> list[Step]:
    """The prompt's directives, in order; empty where it has none."""
    if "@" not in prompt:
        return []
    steps = []
    for line in prompt.split("\n"):
        found = _LINE.fullmatch(line) if "@" in line else None
        if found is None:
            continue
        name, text = found[1], found[2] or ""
        if name in _COUNTED:
            count = _COUNT.fullmatch(text)
            steps.append(Step(name, (count[2] or "") if count else text, float(count[1]) if count else 1.0))
        elif name in _PLAIN:
            steps.append(Step(name, text))
    return steps


def pieces(text: str, number: int) -> list[str]:
    """The text cut into this many pieces, as even as can be; joined they are the text."""
    number = max(1, number)
    length = len(text)
    cuts = [length * i // number for i in range(number + 1)]
    return [text[a:b] for a, b in pairwise(cuts)]


def small_talk(prompt: str) -> str:
    """The answer to a prompt without directives: it tells which prompt it answers."""
    first = prompt.strip().split("\n", 1)[0].strip()
    letters = f"{len(prompt)} character{'' if len(prompt) == 1 else 's'}"
    return f"Hello from the demo agent! You said: {first} ({letters})"
