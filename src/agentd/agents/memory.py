"""What an agent's machine remembers: plain data that survives a restart of the daemon as JSON.

Times are seconds since the epoch by the daemon's own clock (`agentd.agents.clock`).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from agentd.model import Failure, Reason, State


@dataclass
class Fact:
    """Why the agent is in its state: the fact, its source, and when."""

    text: str = "created"
    source: str = "agentd"
    time: float = 0.0


@dataclass
class Delivery:
    """A message on its way into the CLI. `phase`: `look` before the paste, `pasted` after it."""

    message: str
    steer: bool
    started_at: float
    phase: str = "look"
    looks: int = 0
    clears: int = 0
    presses: int = 0
    look_at: float | None = None
    give_up_at: float | None = None
    withdrawn: bool = False
    """Its caller is gone: if the CLI takes it in after all, that turn is ended at once."""


@dataclass
class Steer:
    """A message inside the CLI that waits for the running turn, was taken in by it (`joined`), or will be
    the next turn (`own`)."""

    message: str
    joined: bool = False
    own: bool = False


@dataclass
class Ending:
    """A turn's end that one source told and another may still complete or contradict."""

    outcome: str
    until: float
    reply: str | None = None
    error: Failure | None = None
    source: str = "hook"


@dataclass
class Interruption:
    """Somebody asked for the turn's end. `outcome` is what the turn will be when it has ended."""

    by: str
    at: float
    outcome: str = "interrupted"
    error: Failure | None = None
    look_at: float = 0.0
    idle_looks: int = 0
    presses: int = 1


@dataclass
class RunningTurn:
    """The turn that runs. `keys` are the CLI's own ids of it; `seen` the sources that told of its start."""

    id: str
    message: str | None
    started_at: float
    origin: str = "message"
    keys: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)
    reply: str | None = None
    output: bool = False
    background: bool = False
    by_screen: bool = False
    """A command that left the composer: the screen is all there is."""
    presumed: bool = False
    """A waiting prompt that should be running now; no source has said so yet."""
    reply_before: str | None = None
    """The answer of the turn before, which is this one's too if the prompt had joined that turn."""
    idle_looks: int = 0
    ending: Ending | None = None
    interruption: Interruption | None = None


@dataclass
class Attention:
    """A person is needed."""

    reason: Reason
    text: str
    since: float
    options: list[str] = field(default_factory=list)
    seen_on_screen: bool = False
    clear_looks: int = 0
    tool: str | None = None
    fixed: str | None = None
    answerable: bool = False
    """`approve` and `deny` mean something here."""


@dataclass
class Expected:
    """A second source's report of a turn's start that is still to come; `digest` is of the prompt."""

    source: str
    digest: str
    turn: str


@dataclass
class Memory:
    """Everything that the machine knows of one agent."""

    state: State = State.STOPPED
    since: float = 0.0
    fact: Fact = field(default_factory=Fact)
    session_id: str | None = None
    queue: list[str] = field(default_factory=list)
    steer_queue: list[str] = field(default_factory=list)
    delivery: Delivery | None = None
    turn: RunningTurn | None = None
    steers: list[Steer] = field(default_factory=list)
    attention: Attention | None = None
    unconfirmed: list[str] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    ended_keys: list[str] = field(default_factory=list)
    late_stop_until: float | None = None
    """Until when a keyless hook about a turn that another source ended may still arrive."""

    has_conversation: bool = False
    """The CLI has worked on a prompt, so that there is something to resume."""
    starting_since: float | None = None
    last_sign_at: float = 0.0
    paused_s: float = 0.0
    """How long the readiness timers stood still while a person was needed."""
    digest: str = ""
    tail: str = ""
    """The last lines of the screen when it was last read during the start."""
    composer_since: float | None = None
    look_at: float | None = None
    ending_since: float | None = None
    """The CLI is being ended by us, and why."""
    ending_why: str = ""
    retiring: bool = False
    """The retention is over; the pane is looked at before the CLI is ended."""
    said_goodbye: bool = False
    trust_answered_at: float | None = None
    """When the trust dialog was answered by the trust list."""
    deaths: int = 0
    """Times in a row that the CLI died without completing a turn."""
    last_used_at: float = 0.0
    failure: Failure | None = None


def to_json(memory: Memory) -> dict[str, Any]:
    """The memory as JSON types."""
    return dataclasses.asdict(memory)


def from_json(data: dict[str, Any]) -> Memory:
    """The memory back. Unknown keys (of a newer release) are dropped, missing ones take their default."""

    def build(cls: type, value: dict[str, Any]) -> Any:
        names = {f.name for f in dataclasses.fields(cls)}
        return cls(**{k: v for k, v in value.items() if k in names})

    memory: Memory = build(Memory, data)
    memory.state = State(memory.state)
    memory.fact = build(Fact, data.get("fact") or {})
    if data.get("delivery"):
        memory.delivery = build(Delivery, data["delivery"])
    if turn := data.get("turn"):
        memory.turn = build(RunningTurn, turn)
        if ending := turn.get("ending"):
            memory.turn.ending = build(Ending, ending)
            memory.turn.ending.error = build(Failure, ending["error"]) if ending.get("error") else None
        if stop := turn.get("interruption"):
            memory.turn.interruption = build(Interruption, stop)
            memory.turn.interruption.error = build(Failure, stop["error"]) if stop.get("error") else None
    memory.steers = [build(Steer, s) for s in data.get("steers", [])]
    if attention := data.get("attention"):
        memory.attention = build(Attention, attention)
        memory.attention.reason = Reason(memory.attention.reason)
    memory.expected = [build(Expected, e) for e in data.get("expected", [])]
    memory.failure = build(Failure, data["failure"]) if data.get("failure") else None
    return memory
