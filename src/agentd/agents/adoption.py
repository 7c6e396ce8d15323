"""Adoption: a new daemon takes over what an earlier one left, at whatever moment that one ended."""

from __future__ import annotations

import logging
from pathlib import Path

from agentd.agents import effects as fx
from agentd.agents.life import Life
from agentd.agents.memory import move
from agentd.agents.owner import SLEEP_S, Owner
from agentd.agents.services import Services
from agentd.ledger import Book
from agentd.store import AgentRow
from agentd.tmux.server import TmuxError

log = logging.getLogger(__name__)


def load(row: AgentRow, folder: Path, services: Services) -> Life:
    """The agent's life in this daemon's time: the wall clock may have been set meanwhile."""
    life = Life.load(row, folder)
    by = services.clock.moved_since(life.clock)
    life.clock = services.clock.anchor
    if abs(by) < SLEEP_S:
        return life
    log.warning("%s: the clock was set by %+.0f s; its times are moved", row.name, by)
    move(life.memory, by)

    def write(book: Book) -> None:
        book.move_open_messages(row.name, by)
        life.save(book)

    services.store.write(write)
    return life


async def adopt(owner: Owner, services: Services) -> None:
    """Tell the agent's new owner where it stands. The owner has not had its first turn yet: its timers may
    have passed while nobody listened."""
    life, machine, memory = owner.life, owner.machine, owner.machine.memory
    if life.pane and (memory.ending_since is None or not memory.state.alive):
        machine.adopt(services.clock.now())
    unclaimed = machine.unclaimed()
    if not life.pane and memory.starting_since is None:
        # Before anything is told that could start the CLI.
        await owner.body.release()
    for message in unclaimed:
        owner.tell(fx.Submit(message))
    if not memory.state.alive:
        return
    there = False
    if life.pane:
        try:
            there = (await services.terminal.status(life.pane)).exists
        except TmuxError as error:
            log.warning("%s: %s", owner.name, error)
    if memory.ending_why == "stop":
        owner.tell(fx.Stop("a stop that the daemon's end cut short"))
    elif memory.ending_why == "refit" and there:
        # What is wanted is written down already, and its next start is to be that.
        owner.tell(fx.Refit("a refit that the daemon's end cut short", False, memory.has_conversation))
    elif there:
        machine.adopt(services.clock.now())
    elif memory.starting_since is not None and life.pane is None:
        owner.tell(fx.StartAgain())
    elif life.pane is None:
        owner.tell(fx.Gone(None, what="the pane was gone when the daemon came back"))
    # Else the owner sees that the process is over, and hears its last words before that.
