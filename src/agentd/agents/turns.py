"""The truth about turns: when one began, whether it is over, how it ended, and whose answer it is.

Each fact may come from several sources, in any order, or from none. A turn begins with the first
report of its prompt and ends with the first report of its end; a later report about the same turn
is known by the CLI's own id of it, or, where a release has none, by being expected.
"""

from __future__ import annotations

from agentd.agents import attention, interruption, steering
from agentd.agents.effects import BeginTurn, EndTurn, Seen, Settle
from agentd.agents.memory import Delivery, Ending, Expected, LateEnd, RunningTurn
from agentd.agents.step import Step, digest
from agentd.model import Event, Failure, Kind, Outcome, Receipt, Source, State
from agentd.screen import Look

SECOND_SOURCE = {Source.HOOK: Source.RECORD, Source.RECORD: Source.HOOK}
LATE_END_S = 5.0
"""How long after a turn's end the other source may still tell of it."""
IDLE_LOOKS = 2
RAW_LOOK_S = 1.0
PUT_BACK_S = 0.5
"""How long after an interruption before any output a CLI may take to put the prompt back into the composer:
what is pasted before that becomes one prompt with it."""
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
    if _was_expected(step, event, text, key):
        return
    turn, delivery = memory.turn, memory.delivery
    ours = bool(delivery and delivery.phase == "pasted" and step.is_message(delivery.message, text))
    steers = bool(ours and delivery and delivery.steer)
    if key and key in memory.ended_keys:
        if steers:
            steering.waiting(step, event)
        return
    if event.get("origin") == "system":
        if turn:
            turn.ending = None
            turn.background = False
            tie(turn, event, key)
        else:
            _begin(step, None, event, "system", key)
        return
    if turn and key and key in turn.keys and not steers:
        tie(turn, event, key)
        return
    if turn and turn.message and event.source not in turn.seen and step.is_message(turn.message, text):
        # The other source's report of the same prompt, or of a command that the screen took for gone.
        tie(turn, event, key)
        turn.by_screen = False
        return
    if ours and delivery:
        if turn:
            steering.waiting(step, event)
            return
        memory.delivery = None
        _begin(step, delivery.message, event, "message", key)
        if delivery.withdrawn:
            interruption.interrupt(step, "the caller, who left before the prompt was taken in")
        return
    if any(step.is_message(steer.message, text) for steer in memory.steers):
        steering.own_turn(step, event)
        return
    _taken_from_others(step, event, text, key)


def _taken_from_others(step: Step, event: Event, text: str, key: str | None) -> None:
    """A person typed a prompt in the pane, or one of ours is told after it was given up."""
    memory, turn = step.memory, step.memory.turn
    if late := next((m for m in memory.unconfirmed if step.is_message(m, text)), None):
        memory.unconfirmed.remove(late)
        step.receipt(late, Receipt.ACCEPTED)
    if turn and key and turn.keys and key not in turn.keys and not turn.background:
        # The CLI counts another turn already: the one before is over.
        unheard(step)
        turn = memory.turn
    if turn is None:
        _begin(step, late, event, "message" if late else "person", key)
    else:
        tie(turn, event, None)


def unheard(step: Step) -> None:
    """The running turn is over, and no source has said how it ended."""
    turn = step.memory.turn
    if turn is None:
        return
    if turn.ending:
        finish_ending(step)
    elif turn.interruption:
        finish(step, Outcome(turn.interruption.outcome), turn.reply, turn.interruption.error)
    elif turn.by_screen:
        # A command has no record: that the CLI went on is the word of its end.
        finish(step, Outcome.COMPLETED, turn.reply, None)
    elif turn.output:
        text = "the CLI went on to another prompt, and its record doesn't say how this turn ended"
        finish(step, Outcome.LOST, turn.reply, Failure("lost", text, session=step.name))
    else:
        text = "the turn was ended in its pane before any output"
        finish(step, Outcome.INTERRUPTED, turn.reply, Failure("interrupted", text, session=step.name))


def _was_expected(step: Step, event: Event, text: str, key: str | None) -> bool:
    """Whether this is the second report of a turn that has ended already."""
    memory, name = step.memory, digest(text)
    for expected in memory.expected:
        same_turn = not key or not expected.key or key == expected.key
        if same_turn and (expected.source, expected.digest) == (event.source, name):
            memory.expected.remove(expected)
            if memory.turn and memory.turn.id == expected.turn:
                return False
            if key:
                _remember_key(step, key)
            return True
    return False


def tie(turn: RunningTurn, event: Event, key: str | None) -> None:
    """The event is about this turn."""
    if event.source not in turn.seen:
        turn.seen.append(event.source)
    if key and key not in turn.keys:
        turn.keys.append(key)


def _begin(step: Step, message: str | None, event: Event, origin: str, key: str | None) -> None:
    memory = step.memory
    turn = RunningTurn(step.new_id(), message, step.now, origin)
    tie(turn, event, key)
    memory.turn = turn
    memory.has_conversation = True
    memory.failure = None
    text = str(event.get("text") or "")
    if text and (second := SECOND_SOURCE.get(Source(event.source))):
        memory.expected = [*memory.expected[-7:], Expected(second, digest(text), turn.id, key)]
    announce(step, turn, event.source)
    early, memory.early_end = memory.early_end, None
    if early and early["data"].get("key") in turn.keys:
        ended(step, Event(Kind(early["kind"]), Source(early["source"]), early["time"], early["data"]))


def begin_by_screen(step: Step, message: str, why: str) -> None:
    """A command (`--raw`) left the composer; commands have no record of their own."""
    memory = step.memory
    memory.delivery = None
    turn = RunningTurn(step.new_id(), message, step.now, "command", by_screen=True)
    memory.turn = turn
    memory.look_at = step.now + RAW_LOOK_S
    announce(step, turn, Source.SCREEN, why)


def announce(step: Step, turn: RunningTurn, source: str, why: str = "") -> None:
    """Tell everybody that the turn began."""
    step.used()
    step.memory.given_back = 0
    step.do(BeginTurn(turn.id, turn.message, turn.started_at, turn.origin))
    step.emit(Kind.TURN_STARTED, turn=turn.id, message=turn.message, origin=turn.origin)
    if turn.message:
        step.receipt(turn.message, Receipt.ACCEPTED, turn.id)
    if step.memory.attention is None:
        step.become(State.WORKING, why or "the CLI took a prompt in", source)
    step.memory.look_at = step.now + QUIET_LOOK_S


# While it runs -----------------------------------------------------------------------------------


def worked(step: Step, event: Event) -> None:
    """A tool or a piece of text: the turn goes on, whatever was said of its end."""
    if steering.took_over(step):
        unheard(step)
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
    if _is_late(step, event, key) or (key and key in memory.ended_keys):
        return
    delivery = memory.delivery
    if turn is None and delivery and delivery.phase == "pasted" and not delivery.steer:
        turn = _began_unseen(step, delivery, event, key)
    if turn and key and key not in turn.keys:
        if steering.runs_as(step, key):
            unheard(step)
            turn = memory.turn
        elif turn.keys:
            return
    if turn is None:
        if key and delivery and delivery.phase == "pasted":
            # Hooks run side by side: this one overtook the one that tells of the prompt.
            memory.early_end = {
                "kind": event.kind, "source": event.source, "time": event.time, "data": dict(event.data),
            }  # fmt: skip
        return
    if event.kind is Kind.TURN_INTERRUPTED:
        interruption.happened(step, turn, event.get("reply"))
        return
    if event.kind is Kind.TURN_DONE and event.get("background"):
        turn.background = True
        turn.ending = None
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
    if ending and event.source not in ending.told:
        # The second source agrees.
        ending.told.append(event.source)
        ending.reply = ending.reply if ending.reply is not None else reply
        if outcome is not Outcome.COMPLETED:
            ending.outcome, ending.error = outcome, error or ending.error
        ending.until = step.now
    else:
        ending = turn.ending = Ending(outcome, step.now + settle, reply, error, [event.source])
    if event.source == Source.HOOK and steering.undecided(step):
        ending.until = max(ending.until, step.now + STEER_SETTLE_S)
    if ending.until <= step.now:
        finish_ending(step)


def _began_unseen(step: Step, delivery: Delivery, event: Event, key: str | None) -> RunningTurn | None:
    """The end of a turn whose beginning nobody reported: a `!` command does that, and a refused prompt."""
    message = step.messages.get(delivery.message)
    if event.kind is not Kind.TURN_BLOCKED and not (message and message.raw):
        return None
    step.memory.delivery = None
    _begin(step, delivery.message, event, "command", key)
    return step.memory.turn


def _is_late(step: Step, event: Event, key: str | None) -> bool:
    """Whether this end is that of a turn before, which was known without it."""
    memory = step.memory
    memory.late_ends = [late for late in memory.late_ends if step.now <= late.until]
    if key and key not in memory.ended_keys:
        return False
    what = "interrupted" if event.kind is Kind.TURN_INTERRUPTED else "done"
    for late in memory.late_ends:
        if (late.source, late.what) == (event.source, what):
            memory.late_ends.remove(late)
            return True
    return False


def expect_late(step: Step, source: str, what: str) -> None:
    """The running turn is about to be over without this source's word for it, which may still come."""
    turn = step.memory.turn
    if turn and source in turn.seen:
        step.memory.late_ends.append(LateEnd(source, what, step.now + LATE_END_S))


def finish_ending(step: Step) -> None:
    """What one source told of the turn's end counts now."""
    turn = step.memory.turn
    if turn and turn.ending:
        for source in (Source.HOOK, Source.RECORD):
            if source not in turn.ending.told:
                expect_late(step, source, "done")
        reply = turn.ending.reply if turn.ending.reply is not None else turn.reply
        finish(step, turn.ending.result, reply, turn.ending.error)


def finish(step: Step, outcome: Outcome, reply: str | None, error: Failure | None) -> None:
    """The turn is over: tell everybody whose message it answered."""
    memory = step.memory
    turn = memory.turn
    if turn is None:
        return
    memory.turn = None
    for key in turn.keys:
        _remember_key(step, key)
    if outcome is Outcome.COMPLETED:
        memory.deaths = 0
    elif outcome in (Outcome.INTERRUPTED, Outcome.TIMED_OUT) and not turn.output:
        memory.put_back_until = step.now + PUT_BACK_S
    step.used()
    step.do(EndTurn(turn.id, step.now, outcome, reply, error))
    step.emit(Kind.TURN_ENDED, turn=turn.id, outcome=outcome, error=error.public() if error else None)
    for message in [*([turn.message] if turn.message else []), *steering.answered(step)]:
        step.do(
            Settle(
                message, outcome, reply, error, turn=turn.id, started_at=turn.started_at, ended_at=step.now
            )
        )
        step.messages.pop(message, None)
    attention.over(step, "the turn is over", "record")
    if memory.state in (State.WORKING, State.ATTENTION):
        step.become(State.READY, f"the turn is {outcome}")
    steering.follow(step, Ending(outcome, step.now, reply, error))


def _remember_key(step: Step, key: str) -> None:
    if key not in step.memory.ended_keys:
        step.memory.ended_keys = [*step.memory.ended_keys[-15:], key]


# The screen, while it runs ------------------------------------------------------------------------


def seen(step: Step, seen: Seen, *, changed: bool) -> None:
    """The screen was read while a turn runs. It is idle only if it also stands still: while a text streams
    in, some CLIs show no sign of work."""
    memory, turn, look = step.memory, step.memory.turn, seen.look
    if turn is None:
        return
    idle = look.composer and not look.busy and look.dialog is None and not changed
    if look.dialog and not memory.attention and not turn.interruption:
        attention.need_person(step, look.dialog)
        return
    if turn.interruption:
        interruption.seen(step, turn, idle)
        return
    turn.idle_looks = turn.idle_looks + 1 if idle else 0
    if turn.idle_looks >= IDLE_LOOKS and turn.by_screen and not look.draft:
        finish(step, Outcome.COMPLETED, turn.reply, None)
    elif turn.idle_looks > IDLE_LOOKS and turn.presumed and not turn.seen and not look.draft:
        steering.nothing_runs(step, turn)
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
        finish_ending(step)
        return
    if turn.interruption:
        interruption.ticked(step, turn)
