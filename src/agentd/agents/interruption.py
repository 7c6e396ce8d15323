"""Ending a turn before its end: by a person, by the caller's deadline, by a caller who left.

The key is pressed once; the record says when the turn is over. Where a CLI writes nothing (Claude Code
before the first output), the screen says so after our own key: the composer is back and nothing works.
"""

from __future__ import annotations

from agentd.agents import turns
from agentd.agents.effects import PressInterrupt, ReadScreen, Settle
from agentd.agents.memory import Interruption, RunningTurn
from agentd.agents.step import Step
from agentd.contract import Layer, TimedOut, format_duration
from agentd.model import Failure, Outcome, Source

LOOK_S = 0.5
AGAIN_S = 2.0
"""A key pressed again sooner could open a CLI's "rewind" on an idle composer."""
PATIENCE_S = 10.0
"""How long a caller waits for the turn's end after a deadline or an interruption; then it is answered,
while the CLI is still being asked to end."""
IDLE_LOOKS = 2


def interrupt(
    step: Step, by: str, outcome: Outcome = Outcome.INTERRUPTED, error: Failure | None = None
) -> None:
    """End the running turn."""
    turn = step.memory.turn
    if turn is None or turn.interruption:
        return
    failure = error or Failure("interrupted", f"interrupted by {by}", session=step.name)
    turn.interruption = Interruption(by, step.now, outcome, failure, look_at=step.now + LOOK_S)
    step.do(PressInterrupt())


def deadline_passed(step: Step, message: str, timeout_s: float) -> None:
    """The caller's own deadline (layer `workflow`)."""
    what = f"the caller's deadline of {format_duration(timeout_s)} passed"
    error = TimedOut(Layer.WORKFLOW, what, session=step.name, timeout_s=timeout_s)
    withdraw(step, message, Outcome.TIMED_OUT, Failure.of(error), "the caller's deadline")


def withdraw(step: Step, message: str, outcome: Outcome, failure: Failure, by: str) -> None:
    """Nobody waits for this message any more: take it out of the queue, or end its turn."""
    memory = step.memory
    for queue in (memory.queue, memory.steer_queue):
        if message in queue:
            queue.remove(message)
            step.settle(message, outcome, error=failure)
            return
    if memory.turn and memory.turn.message == message:
        if stop := memory.turn.interruption:
            stop.outcome, stop.error = outcome, failure
        interrupt(step, by, outcome, failure)
        return
    delivery = memory.delivery
    if delivery and delivery.message == message:
        if delivery.phase == "look":
            memory.delivery = None
            step.settle(message, outcome, error=failure)
            return
        delivery.withdrawn = True
    for steer in memory.steers:
        if steer.message == message:
            steer.withdrawn = True
    # On its way, or inside somebody else's turn (which goes on): only this caller is answered.
    step.tell_sender(message, outcome, error=failure)


def happened(step: Step, turn: RunningTurn, reply: str | None) -> None:
    """The record says that the turn was interrupted."""
    stop = turn.interruption
    if stop:
        turns.finish(step, Outcome(stop.outcome), reply or turn.reply, stop.error)
    else:
        error = Failure("interrupted", "somebody interrupted the turn in its pane", session=step.name)
        turns.finish(step, Outcome.INTERRUPTED, reply or turn.reply, error)


def seen(step: Step, turn: RunningTurn, idle: bool) -> None:
    """The screen was read while the turn is to end."""
    stop = turn.interruption
    if stop is None:
        return
    stop.idle_looks = stop.idle_looks + 1 if idle else 0
    if stop.idle_looks >= IDLE_LOOKS:
        if turn.ending:
            turns.finish_ending(step)
            return
        turns.expect_late(step, Source.RECORD, "interrupted")
        turns.finish(step, Outcome(stop.outcome), turn.reply, stop.error)
        return
    if not idle and step.now - stop.at >= AGAIN_S * stop.presses:
        stop.presses += 1
        step.do(PressInterrupt())


def ticked(step: Step, turn: RunningTurn) -> None:
    """Time to look again, or to answer a caller who has waited long enough."""
    stop = turn.interruption
    if stop is None or step.now < stop.look_at:
        return
    stop.look_at = step.now + LOOK_S
    step.do(ReadScreen())
    if turn.message and step.now - stop.at >= PATIENCE_S:
        step.do(
            Settle(
                turn.message,
                Outcome(stop.outcome),
                turn.reply,
                stop.error,
                turn.id,
                turn.started_at,
                step.now,
            )
        )
