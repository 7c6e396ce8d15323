"""What an agent's machine remembers: plain data that survives a restart of the daemon as JSON.

Times are seconds since the epoch by the daemon's own clock (`agentd.agents.clock`). Timers stand still while
the machine sleeps; when something happened, and when the agent was last used, are real times.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from agentd.model import Failure, Outcome, Reason, State


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
    composer_at: float
    """When the composer was last seen, the screen without one last changed, or the delivery began."""
    started_at: float = 0.0
    phase: str = "look"
    clears: int = 0
    draft: str | None = None
    """The draft that was there before, as last seen."""
    presses: int = 0
    look_at: float | None = None
    give_up_at: float | None = None
    digest: str = ""
    """The screen without a composer, when it was last read."""
    adopted: bool = False
    """A new daemon took it over: the one before may have ended before the paste it had written down."""
    withdrawn: bool = False
    """Its caller is gone: if the CLI takes it in after all, that turn is ended at once."""


@dataclass
class Steer:
    """A message inside the CLI that waits for the running turn, was taken in by it (`joined`), or will be
    the next turn (`own`)."""

    message: str
    joined: bool = False
    own: bool = False
    keys: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """Of the turn that it is already, while the end of the one before is still to be told."""
    withdrawn: bool = False


@dataclass
class Ending:
    """A turn's end that one source told and another may still complete or contradict."""

    outcome: str
    until: float
    reply: str | None = None
    error: Failure | None = None
    told: list[str] = field(default_factory=list)
    """The sources that said so."""

    @property
    def result(self) -> Outcome:
        return Outcome(self.outcome)


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
    before: Ending | None = None
    """How the turn before ended, which is this one's end too if the prompt had joined that turn."""
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
    asked_at: float | None = None
    """When the record said so."""
    answered_at: float | None = None
    """When it was answered through agentd: until the CLI has gone on, nobody needs to be told."""
    fixed: str | None = None
    answerable: bool = False
    """`approve` and `deny` mean something here."""


@dataclass
class Expected:
    """A second source's report of a turn's start that is still to come; `digest` is of the prompt, `key` the
    CLI's own id of the turn, where the first source named one."""

    source: str
    digest: str
    turn: str
    key: str | None = None


@dataclass
class LateEnd:
    """A source's report of an end (`done` or `interrupted`) that was known without it, and may still come.
    Where a release has no ids of turns, it would pass for the end of the next one."""

    source: str
    what: str
    until: float


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
    given_back: int = 0
    """How many messages at the head of the queue the CLI gave back from the turn that runs."""
    early_end: dict[str, Any] | None = None
    """The end of a turn that was heard before its beginning."""
    put_back_until: float = 0.0
    """Until then an interrupted prompt may be on its way back into the composer."""
    unconfirmed: list[str] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    ended_keys: list[str] = field(default_factory=list)
    late_ends: list[LateEnd] = field(default_factory=list)

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
    composer_seen: bool = False
    """The composer has been on the screen since the CLI was started."""
    session_said: bool = False
    """The CLI said that its session started, or will not say so as it resumes one."""
    look_at: float | None = None
    ending_since: float | None = None
    """The CLI is being ended by us, and why."""
    ending_why: str = ""
    retiring: bool = False
    """The retention is over; the pane is looked at before the CLI is ended."""
    said_goodbye: bool = False
    trust_answered_at: float | None = None
    """When the trust dialog was answered by the trust list."""
    await_bridge: bool = False
    """The bridge has not been heard of yet."""
    bridge_until: float | None = None
    """No prompt goes in before: the bridge is awaited, or the CLI takes in what it said."""
    deaths: int = 0
    """Times in a row that the CLI died without completing a turn."""
    last_used_at: float = 0.0
    failure: Failure | None = None


def stand_still(memory: Memory, by: float) -> None:
    """The machine has slept for so many seconds: no timer may have run meanwhile."""
    _move(memory, by, "starting_since", "last_sign_at", "composer_since", "look_at", "bridge_until")
    _move(memory, by, "trust_answered_at")
    _move(memory.delivery, by, "composer_at", "started_at", "look_at", "give_up_at")
    _move(memory.attention, by, "since", "asked_at", "answered_at")
    for late in memory.late_ends:
        _move(late, by, "until")
    if turn := memory.turn:
        _move(turn.ending, by, "until")
        _move(turn.before, by, "until")
        _move(turn.interruption, by, "at", "look_at")


def move(memory: Memory, by: float) -> None:
    """The clock was set by so many seconds: every time means what it meant."""
    stand_still(memory, by)
    _move(memory, by, "since", "last_used_at", "ending_since")
    _move(memory.fact, by, "time")
    _move(memory.turn, by, "started_at")


def _move(what: Any, by: float, *names: str) -> None:
    for name in names:
        if what is not None and (at := getattr(what, name)) is not None:
            setattr(what, name, at + by)


def to_json(memory: Memory) -> dict[str, Any]:
    """The memory as JSON types."""
    return dataclasses.asdict(memory)


def from_json(data: dict[str, Any]) -> Memory:
    """The memory back. Unknown keys (of a newer release) are dropped, missing ones take their default."""
    memory: Memory = _build(Memory, data)
    return memory


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _build(kind: Any, value: Any) -> Any:
    """A value of this type from its JSON."""
    if value is None:
        return None
    arguments = [a for a in get_args(kind) if a is not type(None)]
    if get_origin(kind) is list:
        return [_build(arguments[0], item) for item in value]
    if get_origin(kind) is UnionType:
        return _build(arguments[0], value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        types = _types(kind)
        names = [f.name for f in dataclasses.fields(kind) if f.name in value]
        return kind(**{name: _build(types[name], value[name]) for name in names})
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value
