"""What will happen in a run, drawn from its seed alone: the same seed is the same plan. Pure.

Each seed also draws which kinds of things happen at all (a swarm): a run with everything in it hides what
a run with two things in it shows.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentd.testing.chaos.prompts import ENDLESS, KINDS, TICK_S, Prompt, draw

DEEDS: Mapping[str, int] = {
    "interrupt": 4, "answer": 6, "wait": 3, "stop": 2, "look": 2,
    "tool": 3, "bridge": 1, "person": 3, "window": 1,
}  # fmt: skip
"""What callers and people do besides sending prompts, and how often."""
FAULTS: Mapping[str, int] = {
    "kill_cli": 4, "kill_tool": 2, "kill_pane": 3, "kill_session": 2, "kill_tmux": 1,
    "restart": 3, "freeze_cli": 3, "freeze_daemon": 2, "freeze_tmux": 1, "sleep": 1,
    "spool_gone": 2, "spool_late": 3, "half_line": 3, "disk_full": 2, "disk_slow": 2,
}  # fmt: skip
CHILD = ("--child",)
"""A child in a session of its own: where its CLI is killed, nothing tells any more whose it was."""
FLAGS: tuple[tuple[str, ...], ...] = (
    ("--swallow-enter", "1"), ("--burst", "120"), ("--no-hooks",), ("--fidget",), ("--ignore-term",),
    CHILD, ("--slow-start", "1"),
)  # fmt: skip
"""The demo agent's own faults."""
PER_SECOND = 2.5
"""Things that begin in a second: two slow cores shall not be what is tested."""


@dataclass(frozen=True)
class Step:
    """One thing that begins at a time (seconds from the start)."""

    number: int
    at: float
    deed: str
    agent: str
    options: Mapping[str, Any] = field(default_factory=dict)
    prompt: Prompt | None = None

    def __str__(self) -> str:
        words = [self.deed, *([self.agent] if self.agent else [])]
        words += [f"{key}={value}" for key, value in self.options.items() if value not in (None, False, "")]
        if self.prompt:
            words += [self.prompt.kind, self.prompt.mark]
        return " ".join(words)


@dataclass(frozen=True)
class Plan:
    """The whole of a run."""

    seed: int
    seconds: float
    agents: tuple[str, ...]
    steps: tuple[Step, ...]
    demo: tuple[str, ...]
    retention: str
    deeds: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"seed {self.seed}, {self.seconds:g} s, {len(self.agents)} agents, {len(self.steps)} steps; "
            f"demo {' '.join(self.demo)}; retention {self.retention}; deeds: {' '.join(self.deeds)}"
        )


def make(seed: int, seconds: float, agents: int, *, without: frozenset[str] = frozenset()) -> Plan:
    """The plan of a seed. `without` leaves deeds and kinds of prompt out, and changes nothing else."""
    dice = random.Random(seed)
    names = tuple(f"a{n}" for n in range(1, agents + 1))
    faulty = dice.random() < 0.85
    deeds = {name: weight for name, weight in DEEDS.items() if dice.random() < 0.75}
    faults = {name: weight for name, weight in FAULTS.items() if dice.random() < 0.45 and faulty}
    kinds = tuple(kind for kind in KINDS if dice.random() < 0.7) or ("plain",)
    flags = [flag for flag in FLAGS if dice.random() < 0.15]
    if faulty or "crash" in kinds:
        flags = [flag for flag in flags if flag != CHILD]
    retention = dice.choice(("3h", "3h", "2s"))
    chances = {"send": 20, **deeds, **faults}
    steps: list[Step] = []
    at, number = 0.0, 0
    while (at := at + dice.expovariate(PER_SECOND)) < seconds:
        number += 1
        [deed] = dice.choices(list(chances), list(chances.values()))
        agent = dice.choice(names)
        # Each step has dice of its own: leaving one out must not change the others.
        own = random.Random(f"{seed} {number}")
        step = _step(own, number, at, deed, agent, kinds)
        if deed not in without and not (step.prompt and step.prompt.kind in without):
            steps.append(step)
    demo = ("--tick", str(TICK_S), *(word for flag in flags for word in flag))
    return Plan(seed, seconds, names, tuple(steps), demo, retention, tuple(chances))


def _step(dice: random.Random, number: int, at: float, deed: str, agent: str, kinds: tuple[str, ...]) -> Step:
    if deed == "send":
        prompt = draw(dice, number, kinds)
        return Step(number, at, deed, agent, _send(dice, prompt), prompt)
    options: dict[str, Any] = {}
    match deed:
        case "answer":
            options["choice"] = dice.choice(("approve", "approve", "deny", "1", "2"))
        case "stop":
            options["all"] = dice.random() < 0.2
        case "look":
            options["verb"] = dice.choice(("list", "show", "explain", "events"))
        case "tool" | "bridge":
            options["seconds"] = round(dice.uniform(0.2, 4), 1)
            options["leave"] = round(dice.uniform(0.1, 2), 1) if dice.random() < 0.4 else None
        case "person":
            options["does"] = dice.choice(("prompt", "draft", "scroll", "escape", "look"))
            options["seconds"] = round(dice.uniform(0.5, 4), 1)
        case "restart":
            options["how"] = dice.choice(("SIGTERM", "SIGKILL"))
            options["pause"] = round(dice.choice((0.0, 0.3, dice.uniform(0, 4))), 1)
        case "kill_tmux":
            options["how"] = dice.choice(("SIGKILL", "kill-server"))
        case "freeze_cli" | "freeze_daemon" | "freeze_tmux" | "sleep":
            options["seconds"] = round(dice.uniform(0.3, 5), 1)
        case "spool_gone" | "spool_late" | "disk_full" | "disk_slow":
            options["seconds"] = round(dice.uniform(0.3, 4), 1)
        case _:
            pass
    everybody = deed in ("kill_tmux", "restart", "freeze_daemon", "freeze_tmux", "sleep")
    everybody = everybody or deed in ("disk_full", "disk_slow") or bool(options.get("all"))
    return Step(number, at, deed, "" if everybody else agent, options)


def _send(dice: random.Random, prompt: Prompt) -> dict[str, Any]:
    ends: str | None = dice.choices((None, "SIGKILL", "SIGINT"), (8, 1, 1))[0]
    options: dict[str, Any] = {
        "mode": dice.choices(("queue", "steer", "fail-if-busy"), (5, 3, 1))[0],
        "no_wait": dice.random() < 0.15,
        "deadline": round(dice.uniform(0.5, 6), 1) if dice.random() < 0.12 else None,
        "on_attention": dice.choice(("wait", "exit")),
        "json": dice.random() < 0.85,
        "ends": ends,
        "ends_after": round(dice.uniform(0.3, 4), 1) if ends else None,
    }
    if prompt.kind in ENDLESS and options["deadline"] is None:
        options["deadline"] = round(dice.uniform(2, 6), 1)
    return options
