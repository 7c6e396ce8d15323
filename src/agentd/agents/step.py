"""One step of the machine: what its policies share while an input is handled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from agentd.adapter import Adapter, squeeze
from agentd.agents.effects import Effect, Emit, SetReceipt, Settle
from agentd.agents.memory import Fact, Memory
from agentd.contract import Readiness
from agentd.model import Failure, Kind, Message, Outcome, Receipt, State


@dataclass
class Step:
    """The memory, the time, and the effects that the input has had so far.

    `messages` holds every message that the memory names, by id. `new_id` makes the ids of turns.
    """

    name: str
    memory: Memory
    adapter: Adapter
    readiness: Readiness
    retention_s: float
    messages: MutableMapping[str, Message]
    now: float
    new_id: Callable[[], str]
    trusted: Callable[[], bool] = lambda: False
    effects: list[Effect] = field(default_factory=list)

    def do(self, effect: Effect) -> None:
        self.effects.append(effect)

    def emit(self, kind: Kind, **data: Any) -> None:
        self.effects.append(Emit(kind, data))

    def become(self, state: State, text: str, source: str = "agentd") -> None:
        """Enter a state; `text` is the fact that `agentd explain` shows."""
        was = self.memory.state
        self.memory.fact = Fact(text, source, self.now)
        if state is was:
            return
        self.memory.state = state
        self.memory.since = self.now
        self.emit(Kind.STATE, state=state, was=was, why=text, source=source)

    def receipt(self, message: str, receipt: Receipt, turn: str | None = None) -> None:
        self.do(SetReceipt(message, receipt, turn))
        self.emit(Kind.MESSAGE, message=message, receipt=receipt, turn=turn)

    def settle(self, message: str, outcome: Outcome, *, error: Failure | None = None) -> None:
        """End a message that has no turn of its own (yet)."""
        self.tell_sender(message, outcome, error=error)
        self.messages.pop(message, None)

    def tell_sender(self, message: str, outcome: Outcome, *, error: Failure | None = None) -> None:
        """Answer whoever waits for a message that may be on its way still."""
        self.do(Settle(message, outcome, error=error, ended_at=self.now))
        self.emit(Kind.MESSAGE, message=message, outcome=outcome)

    def used(self) -> None:
        """The agent was used: its retention starts anew."""
        self.memory.last_used_at = self.now

    def sent_text(self, message: str) -> str:
        """The text as it was (or will be) pasted; empty where the message is known no more (it was settled,
        and then the daemon restarted)."""
        stored = self.messages.get(message)
        return self.adapter.guard(stored.text, raw=stored.raw) if stored else ""

    def is_message(self, message: str, taken: str) -> bool:
        return message in self.messages and self.adapter.same_prompt(self.sent_text(message), taken)


def digest(text: str) -> str:
    """A short name for a prompt's text, the same whatever white space a CLI did to it."""
    return hashlib.blake2b(squeeze(text).encode("utf-8", "replace"), digest_size=12).hexdigest()
