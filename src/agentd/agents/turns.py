"""The truth about turns: when one began, whether it is over, how it ended, and whose answer it is.

Each fact may come from several sources, in any order, or from none. A turn begins with the first
report of its prompt and ends with the first report of its end; a later report about the same turn
is known by the CLI's own id of it, or, where a release has none, by being expected.
"""

from __future__ import annotations

from agentd.agents import attention, interruption
from agentd.agents.effects import BeginTurn, EndTurn, Seen, Settle
from agentd.agents.memory import Delivery, Ending, Expected, RunningTurn, Steer
from agentd.agents.step import Step, digest
from agentd.model import Event, Failure, Kind, Outcome, Receipt, Source, State
from agentd.screen import Look

SECOND_SOURCE = {Source.HOOK: Source.RECORD, Source.RECORD: Source.HOOK}
LATE_STOP_S = 5.0
IDLE_LOOKS = 2
RAW_LOOK_S = 1.0
QUIET_LOOK_S = 5.0
"""How long a working CLI may write nothing until its screen is read for a dialog that has no record."""
STEER_SETTLE_S = 1.5
"""How long a turn's end waits for the record to say what became of a steered message: the row follows
within 0.4 s (measured on Claude Code 2.1.332)."""


# The beginning -----------------------------------------------------------------------------------


def taken(step: Step, event: Event) -> None:
    """The CLI began to work on a prompt."""
    memory = step.memory
    text, key = str(event.get("text") or ""), event.get("key")
    if key and key in memory.ended_keys:
        return
    if _was_expected(step, event, text, key):
        return
    turn, delivery = memory.turn, memory.delivery
    if event.get("origin") == "system":
        if turn:
            turn.ending = None
            turn.background = False
            _tie(turn, event, key)
        else:
            _begin(step, None, event, "system", key)
        return
    if turn and key and key in turn.keys and not (delivery and delivery.steer):
        _tie(turn, event, key)
        return
    if turn and turn.message and _unseen(turn, event) and step.is_message(turn.message, text):
        # The other source's report of the same prompt, or of a command that the screen took for gone.
        _tie(turn, event, key)
        turn.by_screen = False
        return
    if delivery and delivery.phase == "pasted" and step.is_message(delivery.message, text):
        if turn:
            waiting(step, event)
            return
        memory.delivery = None
        _begin(step, delivery.message, event, "message", key)
        if delivery.withdrawn:
            interruption.interrupt(step, "the caller, who left before the prompt was taken in")
        return
    if any(step.is_message(steer.message, text) for steer in memory.steers):
        own_turn(step, event)
        return
    if late := next((m for m in memory.unconfirmed if step.is_message(m, text)), None):
        memory.unconfirmed.remove(late)
        step.receipt(late, Receipt.ACCEPTED)
    if turn is None:
        _begin(step, None, event, "person", key)
    elif key and key not in turn.keys and turn.ending:
        _finish_ending(step)
        _begin(step, None, event, "person", key)
    else:
        _tie(turn, event, None)


def _was_expected(step: Step, event: Event, text: str, key: str | None) -> bool:
    """Whether this is the second report of a turn that has ended already."""
    name = digest(text)
    for expected in step.memory.expected:
        if (expected.source, expected.digest) == (event.source, name):
            current = step.memory.turn
            if current and current.id == expected.turn:
                return False
            step.memory.expected.remove(expected)
            if key:
                _remember_key(step, key)
            return True
    return False


def _unseen(turn: RunningTurn, event: Event) -> bool:
    return event.source not in turn.seen


def _tie(turn: RunningTurn, event: Event, key: str | None) -> None:
    if event.source not in turn.seen:
        turn.seen.append(event.source)
    if key and key not in turn.keys:
        turn.keys.append(key)


def _begin(step: Step, message: str | None, event: Event, origin: str, key: str | None) -> None:
    memory = step.memory
    turn = RunningTurn(step.new_id(), message, step.now, origin)
    _tie(turn, event, key)
    memory.turn = turn
    memory.has_conversation = True
    memory.failure = None
    if message and (second := SECOND_SOURCE.get(Source(event.source))):
        memory.expected = [
            *memory.expected[-7:],
            Expected(second, digest(str(event.get("text") or "")), turn.id),
        ]
    _announce(step, turn, event.source)


def begin_by_screen(step: Step, message: str, why: str) -> None:
    """A command (`--raw`) left the composer; commands have no record of their own."""
    memory = step.memory
    memory.delivery = None
    turn = RunningTurn(step.new_id(), message, step.now, "command", by_screen=True)
    memory.turn = turn
    memory.look_at = step.now + RAW_LOOK_S
    _announce(step, turn, Source.SCREEN, why)


def _announce(step: Step, turn: RunningTurn, source: str, why: str = "") -> None:
    step.used()
    step.do(BeginTurn(turn.id, turn.message, turn.started_at, turn.origin))
    step.emit(Kind.TURN_STARTED, turn=turn.id, message=turn.message, origin=turn.origin)
    if turn.message:
        step.receipt(turn.message, Receipt.ACCEPTED, turn.id)
    if step.memory.attention is None:
        step.become(State.WORKING, why or "the CLI took a prompt in", source)
    step.memory.look_at = step.now + QUIET_LOOK_S


# Steering ----------------------------------------------------------------------------------------


def waiting(step: Step, event: Event) -> None:
    """A prompt typed during the turn is inside the CLI."""
    memory, text = step.memory, str(event.get("text") or "")
    delivery = memory.delivery
    if delivery and delivery.phase == "pasted" and step.is_message(delivery.message, text):
        memory.delivery = None
        memory.steers.append(Steer(delivery.message))
        step.receipt(delivery.message, Receipt.STEERED, memory.turn.id if memory.turn else None)


def joined(step: Step, event: Event) -> None:
    """The running turn took a waiting prompt in."""
    waiting(step, event)
    text = str(event.get("text") or "")
    for steer in step.memory.steers:
        if not steer.joined and step.is_message(steer.message, text):
            steer.joined = True
            return


def own_turn(step: Step, event: Event) -> None:
    """A waiting prompt becomes a turn of its own: the running one is over, or will be next."""
    memory, text = step.memory, str(event.get("text") or "")
    steer = next((s for s in memory.steers if step.is_message(s.message, text)), None)
    if steer is None:
        return
    steer.own = True
    memory.steers.remove(steer)
    memory.steers.insert(0, steer)
    if memory.turn and memory.turn.ending:
        _finish_ending(step)


def dropped(step: Step, event: Event) -> None:
    """The CLI gave a waiting prompt back unsent: it goes in again, after what it was to steer."""
    memory, text = step.memory, str(event.get("text") or "")
    for steer in memory.steers:
        if step.is_message(steer.message, text):
            memory.steers.remove(steer)
            memory.queue.insert(0, steer.message)
            step.receipt(steer.message, Receipt.QUEUED)
            return


# While it runs -----------------------------------------------------------------------------------


def worked(step: Step, event: Event) -> None:
    """A tool or a piece of text: the turn goes on, whatever was said of its end."""
    turn = step.memory.turn
    if turn is None:
        return
    identity = str(event.get("id") or event.get("tool") or "")
    if event.kind is Kind.TOOL_STARTED:
        turn.tools[identity] = str(event.get("tool") or "")
    elif event.kind is Kind.TOOL_ENDED:
        turn.tools.pop(identity, None)
    if event.kind is Kind.TEXT and event.get("text"):
        turn.output = True
        if not turn.ending:
            turn.reply = str(event.get("text"))
    if event.kind is Kind.TOOL_STARTED:
        turn.output = True
        turn.ending = None
        turn.by_screen = False


# The end -----------------------------------------------------------------------------------------


def ended(step: Step, event: Event) -> None:
    """A source says that the turn is done, failed or interrupted."""
    memory, turn, key = step.memory, step.memory.turn, event.get("key")
    if key and key in memory.ended_keys:
        return
    delivery = memory.delivery
    if turn is None and delivery and delivery.phase == "pasted" and not delivery.steer:
        turn = _began_unseen(step, delivery, event, key)
    if turn is None:
        return
    if key and turn.keys and key not in turn.keys:
        return
    if _is_late(step, event, key):
        return
    if event.kind is Kind.TURN_INTERRUPTED:
        interruption.happened(step, turn, event.get("reply"))
        return
    if event.kind is Kind.TURN_DONE and event.get("background"):
        turn.background = True
        turn.reply = event.get("reply") or turn.reply
        return
    outcome, error = Outcome.COMPLETED, None
    if event.kind is not Kind.TURN_DONE:
        outcome = Outcome.FAILED if event.kind is Kind.TURN_FAILED else Outcome.BLOCKED
        error = Failure(str(event.get("code") or "api_error"), str(event.get("error") or "the turn failed"))
    if turn.interruption and outcome is Outcome.COMPLETED:
        # It was quicker than the interruption.
        turn.interruption = None
    _settle_end(step, turn, event, outcome, error)


def _settle_end(step: Step, turn: RunningTurn, event: Event, outcome: Outcome, error: Failure | None) -> None:
    """Take the end as true now, or wait for the other source."""
    reply = event.get("reply")
    settle = float(event.get("settle") or 0.0)
    ending = turn.ending
    if ending and ending.source != event.source:
        # The second source agrees.
        ending.reply = ending.reply if ending.reply is not None else reply
        if outcome is not Outcome.COMPLETED:
            ending.outcome, ending.error = outcome, error or ending.error
        ending.until = step.now
    else:
        turn.ending = Ending(outcome, step.now + settle, reply, error, event.source)
    undecided = [s for s in step.memory.steers if not s.joined and not s.own]
    if undecided and event.source == Source.HOOK:
        turn.ending.until = max(turn.ending.until, step.now + STEER_SETTLE_S)  # type: ignore[union-attr]
    if turn.ending and turn.ending.until <= step.now:
        _finish_ending(step)


def _began_unseen(step: Step, delivery: Delivery, event: Event, key: str | None) -> RunningTurn | None:
    """The end of a turn whose beginning nobody reported: a `!` command does that."""
    if not step.messages[delivery.message].raw:
        return None
    step.memory.delivery = None
    _begin(step, delivery.message, event, "command", key)
    return step.memory.turn


def _is_late(step: Step, event: Event, key: str | None) -> bool:
    """Whether a keyless end belongs to the turn before, which another source ended."""
    memory = step.memory
    if event.source != Source.HOOK or key or memory.late_stop_until is None:
        return False
    late = step.now <= memory.late_stop_until
    memory.late_stop_until = None
    return late


def _finish_ending(step: Step) -> None:
    turn = step.memory.turn
    if turn and turn.ending:
        reply = turn.ending.reply if turn.ending.reply is not None else turn.reply
        finish(step, Outcome(turn.ending.outcome), reply, turn.ending.error)


def finish(step: Step, outcome: Outcome, reply: str | None, error: Failure | None) -> None:
    """The turn is over: tell everybody whose message it answered."""
    memory = step.memory
    turn = memory.turn
    if turn is None:
        return
    memory.turn = None
    for key in turn.keys:
        _remember_key(step, key)
    if Source.HOOK in turn.seen and turn.ending and turn.ending.source != Source.HOOK:
        memory.late_stop_until = step.now + LATE_STOP_S
    if outcome is Outcome.COMPLETED:
        memory.deaths = 0
    step.used()
    step.do(EndTurn(turn.id, step.now, outcome, reply, error))
    step.emit(Kind.TURN_ENDED, turn=turn.id, outcome=outcome, error=error.public() if error else None)
    answered = [turn.message] if turn.message else []
    for steer in list(memory.steers):
        if steer.joined:
            memory.steers.remove(steer)
            answered.append(steer.message)
    for message in answered:
        step.do(
            Settle(
                message, outcome, reply, error, turn=turn.id, started_at=turn.started_at, ended_at=step.now
            )
        )
        step.messages.pop(message, None)
    attention.over(step, "the turn is over", "record")
    if memory.state in (State.WORKING, State.ATTENTION):
        step.become(State.READY, f"the turn is {outcome}")
    if memory.steers and memory.state is State.READY:
        # The CLI runs a waiting prompt at once, as the next turn; its own report comes later, or never.
        steer = memory.steers.pop(0)
        memory.turn = RunningTurn(step.new_id(), steer.message, step.now, presumed=True, reply_before=reply)
        _announce(step, memory.turn, Source.RECORD, "a waiting prompt became the next turn")
        memory.look_at = step.now + RAW_LOOK_S


def _remember_key(step: Step, key: str) -> None:
    if key not in step.memory.ended_keys:
        step.memory.ended_keys = [*step.memory.ended_keys[-15:], key]


# The screen, while it runs ------------------------------------------------------------------------


def seen(step: Step, seen: Seen) -> None:
    """The screen was read while a turn runs."""
    memory, turn, look = step.memory, step.memory.turn, seen.look
    if turn is None:
        return
    idle = look.composer and not look.busy and look.dialog is None
    if look.dialog and not memory.attention and not turn.interruption:
        attention.need_person(step, look.dialog)
        return
    if turn.interruption:
        interruption.seen(step, turn, idle)
        return
    turn.idle_looks = turn.idle_looks + 1 if idle else 0
    if turn.idle_looks >= IDLE_LOOKS and turn.by_screen:
        finish(step, Outcome.COMPLETED, turn.reply, None)
    elif turn.idle_looks > IDLE_LOOKS and turn.presumed and not turn.seen:
        # Nothing runs: the prompt had joined the turn before, and no row said so.
        finish(step, Outcome.COMPLETED, turn.reply_before, None)
    elif turn.message and turn.idle_looks >= IDLE_LOOKS and not turn.output and _put_back(step, turn, look):
        error = Failure("interrupted", "somebody interrupted the turn in its pane, before any output")
        finish(step, Outcome.INTERRUPTED, None, error)


def _put_back(step: Step, turn: RunningTurn, look: Look) -> bool:
    """Whether the composer holds the turn's own prompt again: interrupted before any output, a CLI may
    write nothing at all (Claude Code)."""
    if not turn.message or not look.draft:
        return False
    return look.folded or step.is_message(turn.message, look.draft)


def ticked(step: Step) -> None:
    """A deadline of the turn may have passed."""
    turn = step.memory.turn
    if turn is None:
        return
    if turn.ending and step.now >= turn.ending.until:
        _finish_ending(step)
        return
    if turn.interruption:
        interruption.ticked(step, turn)
