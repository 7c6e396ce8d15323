"""What the machine is told (inputs) and what it asks for (effects). Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentd.model import Ending, Event, Failure, Kind, Message, Outcome, Receipt
from agentd.screen import Look

# Inputs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Submit:
    """A message for the agent; it is on disk already."""

    message: Message


@dataclass(frozen=True)
class Withdraw:
    """The caller of a message went away."""

    message: str
    by: str


@dataclass(frozen=True)
class Interrupt:
    """End the running turn."""

    by: str


@dataclass(frozen=True)
class Stop:
    """End the agent."""

    by: str


@dataclass(frozen=True)
class Refit:
    """End an idle CLI, so that its next start has what is wanted now. `keep`: the conversation goes on."""

    by: str
    polite: bool
    keep: bool


@dataclass(frozen=True)
class StartAgain:
    """The daemon ended while it started the CLI: no prompt can have reached it."""


@dataclass(frozen=True)
class Started:
    """The pane lives. `session_id` where the CLI was given one; `await_bridge`: its first prompt is to wait
    until the bridge is there."""

    session_id: str | None
    await_bridge: bool = False


@dataclass(frozen=True)
class BridgeReady:
    """The CLI's bridge asked for the agent's tools."""


@dataclass(frozen=True)
class StartFailed:
    """The CLI could not be started."""

    failure: Failure


@dataclass(frozen=True)
class Seen:
    """The screen was read. `attached`: a person is attached to the pane and may type."""

    look: Look
    digest: str
    tail: str
    attached: bool = False


@dataclass(frozen=True)
class Gone:
    """The pane's process has ended. `status` is None where nobody can say."""

    status: int | None
    tail: str = ""
    what: str = "the CLI ended"


@dataclass(frozen=True)
class Answered:
    """A dialog was answered through agentd."""

    choice: str


@dataclass(frozen=True)
class PasteFailed:
    """The terminal refused the paste: nothing of the message is in the composer."""

    message: str
    why: str


@dataclass(frozen=True)
class Slept:
    """The machine has slept for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Tick:
    """A deadline may have passed."""


Input = (
    Event
    | Submit
    | Withdraw
    | Interrupt
    | Stop
    | Refit
    | StartAgain
    | Started
    | BridgeReady
    | StartFailed
    | Seen
    | Gone
    | Answered
    | PasteFailed
    | Slept
    | Tick
)

# Effects -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StartCli:
    """Start the CLI in a pane; `resume` is the session id to take up."""

    resume: str | None


@dataclass(frozen=True)
class ReadScreen:
    """Capture the pane and tell the machine."""


@dataclass(frozen=True)
class Paste:
    """Paste the message's text and press Enter."""

    message: str


@dataclass(frozen=True)
class PressEnter:
    """The draft is still there: press Enter once more."""


@dataclass(frozen=True)
class ClearDraft:
    """Empty the composer of a stranded draft."""


@dataclass(frozen=True)
class PressInterrupt:
    """Press the key that interrupts."""


@dataclass(frozen=True)
class AnswerDialog:
    """Answer the dialog on the screen, by the trust list."""

    choice: str


@dataclass(frozen=True)
class EndCli:
    """End the CLI, its children and its pane; politely first if asked."""

    polite: bool


@dataclass(frozen=True)
class SetReceipt:
    """The message's receipt changed."""

    message: str
    receipt: Receipt
    turn: str | None = None


@dataclass(frozen=True)
class BeginTurn:
    """A turn began."""

    turn: str
    message: str | None
    at: float
    origin: str


@dataclass(frozen=True)
class EndTurn:
    """A turn ended."""

    turn: str
    at: float
    outcome: Outcome
    reply: str | None
    error: Failure | None


@dataclass(frozen=True)
class Settle(Ending):
    """Tell what became of a message to the one who sent it."""


@dataclass(frozen=True)
class Emit:
    """An event of agentd's own."""

    kind: Kind
    data: Mapping[str, Any] = field(default_factory=dict)


Effect = (
    StartCli
    | ReadScreen
    | Paste
    | PressEnter
    | ClearDraft
    | PressInterrupt
    | AnswerDialog
    | EndCli
    | SetReceipt
    | BeginTurn
    | EndTurn
    | Settle
    | Emit
)
