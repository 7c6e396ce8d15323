"""Idle retention: an idle CLI is kept for a while, then ended politely (contract, row `idle_retention`).

Last use is the end of a turn, a message, or a person attached to the pane. When the time is over the
pane is looked at first; the owner task handles one input at a time, so new use can't race the end.
"""

from __future__ import annotations

from agentd.agents.delivery import LOST_LOOK_S
from agentd.agents.effects import EndCli, ReadScreen, Seen
from agentd.agents.memory import Memory
from agentd.agents.step import Step
from agentd.model import State


def idle(memory: Memory) -> bool:
    """Whether the CLI lives and nobody uses it."""
    if memory.state is not State.READY or memory.turn or memory.delivery:
        return False
    return not (memory.queue or memory.steer_queue or memory.ending_since is not None)


def retire_at(memory: Memory, retention_s: float) -> float | None:
    """When an idle agent is retired, or None while it is in use."""
    return memory.last_used_at + retention_s if idle(memory) and not memory.retiring else None


def ticked(step: Step) -> None:
    """The retention may be over."""
    when = retire_at(step.memory, step.retention_s)
    if when is not None and step.now >= when:
        step.memory.retiring = True
        step.memory.look_at = step.now + LOST_LOOK_S
        step.do(ReadScreen())


def seen(step: Step, seen: Seen) -> None:
    """The pane was looked at when its retention was over."""
    memory = step.memory
    memory.retiring = False
    if retire_at(memory, step.retention_s) is None:
        return
    if seen.attached or seen.look.busy:
        step.used()
        return
    memory.ending_since, memory.ending_why = step.now, "retire"
    # A command typed into a dialog would answer it.
    step.do(EndCli(polite=seen.look.composer))
