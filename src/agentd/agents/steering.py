"""Steering: prompts that were typed into a running turn, and what the CLI makes of each.

It may take one into the running turn, run it as a turn of its own afterwards, or give it back. Which it
was is told by the record, sooner or later or (in older releases) never.
"""

from __future__ import annotations

from agentd.agents import interruption, turns
from agentd.agents.memory import Ending, RunningTurn, Steer
from agentd.agents.step import Step
from agentd.model import Event, Kind, Receipt, Source, State

LOOK_S = 1.0


def waiting(step: Step, event: Event) -> None:
    """A prompt typed during the turn is inside the CLI."""
    memory, text = step.memory, str(event.get("text") or "")
    delivery, turn = memory.delivery, memory.turn
    if not (delivery and delivery.phase == "pasted" and step.is_message(delivery.message, text)):
        return
    memory.delivery = None
    steer = Steer(delivery.message, withdrawn=delivery.withdrawn)
    memory.steers.append(steer)
    step.receipt(steer.message, Receipt.STEERED, turn.id if turn else None)
    if turn is None:
        # Typed before the turn's end, told after it.
        follow(step, None)
        return
    key = event.get("key")
    if turn.background:
        # The CLI waits for its background work only: this is another part of the same request.
        steer.joined = True
        turns.tie(turn, event, key)
        return
    began = event.kind is Kind.PROMPT_TAKEN and _is_command(turn)
    if began or (key and turn.keys and key not in turn.keys):
        own_turn(step, event)


def joined(step: Step, event: Event) -> None:
    """The running turn took a waiting prompt in."""
    waiting(step, event)
    memory, text = step.memory, str(event.get("text") or "")
    for steer in memory.steers:
        if not steer.joined and step.is_message(steer.message, text):
            steer.joined = True
            return
    turn = memory.turn
    if turn and turn.presumed and not turn.seen and turn.message and step.is_message(turn.message, text):
        nothing_runs(step, turn)


def own_turn(step: Step, event: Event) -> None:
    """A waiting prompt becomes a turn of its own: the running one is over, or will be next."""
    memory, text = step.memory, str(event.get("text") or "")
    steer = next((s for s in memory.steers if step.is_message(s.message, text)), None)
    if steer is None:
        return
    steer.own = True
    if key := event.get("key"):
        steer.keys, steer.seen = [key], [event.source]
    memory.steers.remove(steer)
    memory.steers.insert(0, steer)
    if memory.turn and memory.turn.ending:
        turns.finish_ending(step)
    elif event.source == Source.RECORD and took_over(step):
        # A hook may tell of a prompt that only waits; a row of the record means that it is worked on.
        turns.unheard(step)


def dropped(step: Step, event: Event) -> None:
    """The CLI gave a waiting prompt back unsent: it goes in again, after what it was to steer."""
    memory, text = step.memory, str(event.get("text") or "")
    for steer in memory.steers:
        if step.is_message(steer.message, text):
            memory.steers.remove(steer)
            if not steer.withdrawn:
                # They are given back in the order they were typed, and go in before what was queued.
                memory.queue.insert(memory.given_back, steer.message)
                memory.given_back += 1
                step.receipt(steer.message, Receipt.QUEUED)
            return


def undecided(step: Step) -> bool:
    """Whether nobody has said yet what became of a waiting prompt."""
    return any(not steer.joined and not steer.own for steer in step.memory.steers)


def runs_as(step: Step, key: str) -> bool:
    """Whether a waiting prompt is the turn of this key already."""
    return any(key in steer.keys for steer in step.memory.steers)


def took_over(step: Step) -> bool:
    """Whether the CLI has a waiting prompt in hand and the turn before was a command, which takes none in and
    has no record of its end."""
    memory = step.memory
    return bool(memory.turn and _is_command(memory.turn) and memory.steers and memory.steers[0].seen)


def _is_command(turn: RunningTurn) -> bool:
    return turn.by_screen and not turn.seen


def answered(step: Step) -> list[str]:
    """The messages that the running turn took in; they share its answer."""
    memory = step.memory
    found = [steer.message for steer in memory.steers if steer.joined]
    memory.steers = [steer for steer in memory.steers if not steer.joined]
    return found


def follow(step: Step, before: Ending | None) -> None:
    """The CLI runs a waiting prompt at once, as the next turn; its own report comes later, or never."""
    memory = step.memory
    if not memory.steers or memory.turn or memory.state is not State.READY:
        return
    steer = memory.steers.pop(0)
    turn = RunningTurn(
        step.new_id(),
        steer.message,
        step.now,
        keys=steer.keys,
        seen=steer.seen,
        presumed=True,
        before=before,
    )
    memory.turn = turn
    turns.announce(step, turn, Source.RECORD, "a waiting prompt became the next turn")
    memory.look_at = step.now + LOOK_S
    if steer.withdrawn:
        interruption.interrupt(step, "the caller, who left before the prompt was taken in")


def nothing_runs(step: Step, turn: RunningTurn) -> None:
    """The prompt had joined the turn before, whatever became of that."""
    if turn.before:
        turns.finish(step, turn.before.result, turn.before.reply, turn.before.error)
    else:
        turns.unheard(step)
