"""The words of the project as frozen dataclasses: agents, messages, turns, events, errors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from agentd.contract import LayeredError


class State(StrEnum):
    """What an agent is doing."""

    STARTING = "starting"
    READY = "ready"
    WORKING = "working"
    ATTENTION = "attention"
    RETIRED = "retired"
    """Idle and ended politely; the next prompt resumes its conversation."""
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"

    @property
    def alive(self) -> bool:
        """Whether the CLI is believed to run."""
        return self in (State.STARTING, State.READY, State.WORKING, State.ATTENTION)


class Receipt(StrEnum):
    """What is known of a message's delivery."""

    PENDING = "pending"
    """On disk, not yet given to the CLI or to its queue; only seen while it lasts."""
    ACCEPTED = "accepted"
    QUEUED = "queued"
    STEERED = "steered"
    UNCONFIRMED = "unconfirmed"
    REJECTED = "rejected"


class Outcome(StrEnum):
    """How a turn ended, with the exit code that a command gives it."""

    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed_out"
    BLOCKED = "blocked"
    LOST = "lost"

    @property
    def exit_code(self) -> int:
        return {"completed": 0, "timed_out": 4, "lost": 5, "interrupted": 130}.get(self.value, 1)


class Reason(StrEnum):
    """Why an agent waits for a person."""

    TRUST = "trust"
    LOGIN = "login"
    UPDATE = "update"
    APPROVAL = "approval"
    LIMIT = "limit"
    QUESTION = "question"
    UNKNOWN_DIALOG = "unknown_dialog"


class Mode(StrEnum):
    """What a message does while a turn runs."""

    QUEUE = "queue"
    STEER = "steer"
    FAIL_IF_BUSY = "fail_if_busy"


class Kind(StrEnum):
    """The kinds of event. What an adapter's reader may say about its CLI comes first."""

    SESSION_STARTED = "session_started"
    """The CLI is up and takes prompts. data: `session_id`, `follow` (source name to path: more records to
    read), `resumed`."""
    READY = "ready"
    """The CLI waits for a prompt, by its own word."""
    PROMPT_TAKEN = "prompt_taken"
    """The CLI began to work on a prompt. data: `text`, `key` (the CLI's own id of the turn, or None),
    `origin` (`human`, or `system` where the CLI prompts itself)."""
    STEER_WAITING = "steer_waiting"
    """A prompt typed during a turn waits inside the CLI. data: `text`."""
    STEER_JOINED = "steer_joined"
    """The running turn took in the waiting prompt. data: `text`."""
    STEER_OWN_TURN = "steer_own_turn"
    """The waiting prompt becomes a turn of its own, after the running one. data: `text`."""
    STEER_DROPPED = "steer_dropped"
    """The waiting prompt was given back unsent. data: `text`."""
    TOOL_STARTED = "tool_started"
    """data: `tool`, `id`."""
    TOOL_ENDED = "tool_ended"
    """data: `tool`, `id`, `failed`."""
    APPROVAL_WANTED = "approval_wanted"
    """The CLI asks a person. data: `text`, `tool`, `reason`."""
    TEXT = "text"
    """Assistant text that is not (yet) the answer. data: `text`."""
    TURN_DONE = "turn_done"
    """data: `reply` (None where this source has none), `key`, `background` (true: work still runs that will
    go on with this turn), `settle` (seconds to wait for this CLI's other source before the turn counts
    as over; work seen meanwhile means that it isn't)."""
    TURN_FAILED = "turn_failed"
    """data: `error`, `code`, `key`, `reply`, `settle`."""
    TURN_INTERRUPTED = "turn_interrupted"
    """data: `key`."""
    TURN_BLOCKED = "turn_blocked"
    """The CLI refused the prompt. data: `error`."""
    SESSION_ENDED = "session_ended"
    """The CLI says goodbye. data: `reason`."""
    ACTIVITY = "activity"
    """A sign of life that says nothing else. data: `search` (true: the CLI works on something, maybe in
    another record: ask `Adapter.records` again)."""

    # What agentd itself adds.
    STATE = "state"
    """data: `state`, `was`, `why`."""
    MESSAGE = "message"
    """data: `message`, and `receipt`, or `outcome` where the message ends without a turn's end."""
    TURN_STARTED = "turn_started"
    """data: `turn`, `message`, `origin`."""
    TURN_ENDED = "turn_ended"
    """data: `turn`, `outcome`, `error`."""
    ATTENTION = "attention"
    """data: `reason`, `text`, `options`."""
    PANE_DEAD = "pane_dead"
    """data: `status`."""
    TOOL = "tool"
    """A call of a tool behind the bridge. data: `tool`, `call`, `status` (`started`, `done`, `failed`,
    `timed_out`, `cancelled`), and for the last two `layer`, `code`, `message`, `session`, `timeout_s`."""
    WARNING = "warning"
    """data: `text`."""


class Source(StrEnum):
    """Where a fact came from."""

    HOOK = "hook"
    RECORD = "record"
    SCREEN = "screen"
    TMUX = "tmux"
    AGENTD = "agentd"


@dataclass(frozen=True)
class Event:
    """One normalised fact. `time` is seconds since the epoch, as its source gave it."""

    kind: Kind
    source: Source
    time: float
    data: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: str) -> Any:
        return self.data.get(key)


@dataclass(frozen=True)
class Failure:
    """Why something did not end well: the `error` object of the public JSON."""

    code: str
    message: str
    layer: str | None = None
    tool: str | None = None
    session: str | None = None
    timeout_s: float | None = None

    @classmethod
    def of(cls, error: LayeredError) -> Failure:
        return cls(
            code=error.code.lower(),
            message=str(error),
            layer=error.layer,
            tool=error.tool,
            session=error.session,
            timeout_s=error.timeout_s,
        )

    def public(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "code": self.code,
            "message": self.message,
            "tool": self.tool,
            "session": self.session,
            "timeout_s": self.timeout_s,
        }


@dataclass(frozen=True)
class Message:
    """Text given to an agent. Times are seconds since the epoch."""

    id: str
    agent: str
    text: str
    mode: Mode = Mode.QUEUE
    raw: bool = False
    created_at: float = 0.0
    deadline_s: float | None = None
    receipt: Receipt = Receipt.PENDING
    turn: str | None = None
    awaited: bool = False
    """Its caller waits for it, and takes it back by leaving."""

    def same_wish(self, other: Message) -> bool:
        """Whether the other one asks for the same thing, so that it may be this message, sent again."""
        mine, theirs = ((m.agent, m.text, m.mode, m.raw, m.deadline_s) for m in (self, other))
        return mine == theirs


@dataclass(frozen=True)
class Ending:
    """What became of a message. Times are seconds since the epoch; `turn` is None where it had none."""

    message: str
    outcome: Outcome
    reply: str | None = None
    error: Failure | None = None
    turn: str | None = None
    started_at: float | None = None
    ended_at: float | None = None


@dataclass(frozen=True)
class Turn:
    """From a message taken in to its end. `message` is None where a person typed in the pane."""

    id: str
    agent: str
    message: str | None
    started_at: float
    ended_at: float | None = None
    outcome: Outcome | None = None
    reply: str | None = None
    error: Failure | None = None


def rfc3339(seconds: float | None) -> str | None:
    """A time as the public JSON shows it: RFC 3339 in UTC, milliseconds."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
