"""The prompts of a run: each has a mark that nothing else has, and is known by it everywhere. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass

KINDS = (
    "plain", "long", "lines", "trap", "say", "slow", "delay", "tool", "bash", "leaves", "ask",
    "error", "cut", "crash", "silence", "background", "raw",
)  # fmt: skip
ENDLESS = ("silence",)
"""Only ever sent with a deadline."""
TICK_S = 0.1


@dataclass(frozen=True)
class Prompt:
    """A text, what it is, and the mark it is known by. `seconds` is how long the demo agent works on it."""

    mark: str
    kind: str
    text: str
    seconds: float = 0.0

    @property
    def raw(self) -> bool:
        return self.kind == "raw"


def mark(number: int) -> str:
    """A word that is part of no other mark."""
    return f"MARK-{number:05d}"


def draw(dice: random.Random, number: int, kinds: tuple[str, ...]) -> Prompt:
    """A prompt of one of these kinds."""
    kind = dice.choice(kinds)
    name = mark(number)
    ticks = dice.randint(1, 40)
    seconds = ticks * TICK_S
    words = " ".join(
        dice.choices(("one", "zwei", "三", "🎉", "$x", "`y`", ";", "#{z}"), k=dice.randint(1, 9))
    )
    match kind:
        case "plain":
            return Prompt(name, kind, f"{name} {words}")
        case "long":
            return Prompt(name, kind, f"{name} " + f"{words} " * dice.randint(100, 2000) + f"{name} end")
        case "lines":
            return Prompt(
                name, kind, "\n".join([f"{name} {words}", "", *(f"  line {n}" for n in range(ticks))])
            )
        case "trap":
            return Prompt(name, kind, dice.choice(("!touch trapped-", "/exit ", "#", "/help ")) + name)
        case "say":
            return Prompt(name, kind, f"@say {words} {name}")
        case "slow":
            return Prompt(name, kind, f"@slow {ticks} {name} {words}", seconds)
        case "delay":
            return Prompt(name, kind, f"@delay {ticks} {name}", seconds)
        case "tool":
            return Prompt(name, kind, f"@say I will look\n@tool {ticks}\n@say {name} {words}", seconds)
        case "bash":
            return Prompt(name, kind, f"@bash sleep {seconds:.1f}; echo {name}", seconds)
        case "leaves":
            left = "(trap '' TERM HUP; sleep 1000; sleep 1000) >/dev/null 2>&1 &"
            return Prompt(name, kind, f"@bash {left} echo {name}")
        case "ask":
            return Prompt(name, kind, f"@ask May I do {name}?\n@say {name} done")
        case "error":
            return Prompt(name, kind, f"@delay {ticks / 4:.1f} {name}\n@error Overloaded", seconds / 4)
        case "cut":
            return Prompt(name, kind, f"@tool {ticks / 4:.1f} {name}\n@cut", seconds / 4)
        case "crash":
            return Prompt(
                name, kind, f"@tool {ticks / 4:.1f} {name}\n@crash {dice.choice((0, 1, 7))}", seconds / 4
            )
        case "silence":
            return Prompt(name, kind, f"@tool 1 {name}\n@silence", 1e9)
        case "background":
            return Prompt(
                name, kind, f"@say begun {name}\n@background {ticks / 2:.1f} {name} over", seconds / 2
            )
        case "raw":
            return Prompt(name, kind, f"!echo {name}")
    raise ValueError(kind)
