"""What one input changed, written down as a whole: receipts, turns, outcomes, events, and the life."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentd.agents import effects as fx
from agentd.agents.hub import Published
from agentd.agents.life import Life
from agentd.ledger import Book
from agentd.model import Event, Source, Turn


@dataclass
class Written:
    """What was written down: messages that have their outcome now, events that are to be told."""

    settled: list[str] = field(default_factory=list)
    events: list[Published] = field(default_factory=list)


def write(todo: Sequence[fx.Effect], life: Life, book: Book, now: float) -> Written:
    """Write down what changed, and the agent's life with it."""
    name = life.row.name
    written = Written()
    for effect in todo:
        match effect:
            case fx.SetReceipt(message, receipt, turn):
                book.set_receipt(message, receipt, turn)
            case fx.BeginTurn(turn, message, at, origin):
                book.begin_turn(Turn(turn, name, message, at), origin)
            case fx.EndTurn(turn, at, outcome, reply, error):
                book.end_turn(turn, at, outcome, reply, error)
            case fx.Settle(message=message):
                if book.settle(effect):
                    written.settled.append(message)
            case fx.Emit(kind, data):
                event = Event(kind, Source.AGENTD, now, data)
                written.events.append(Published(book.add_event(name, event), name, event))
            case _:
                pass
    life.save(book)
    return written
