"""Delivery: a message goes into the CLI once, and the record says so.

Look first (no dialog, an empty composer), paste once, press Enter. If the record stays silent, look
at the draft: Enter is pressed again only while our own text is seen in the composer, and nothing is
ever pasted twice. What neither the record nor the composer shows by the end is `unconfirmed`.
"""

from __future__ import annotations

from agentd.adapter import shows_draft, shows_waiting
from agentd.agents import readiness, steering, turns
from agentd.agents.attention import need_person, unknown_screen
from agentd.agents.effects import ClearDraft, Paste, PressEnter, ReadScreen, Seen
from agentd.agents.memory import Delivery, Fact, Memory
from agentd.agents.step import Step
from agentd.model import Event, Failure, Kind, Mode, Outcome, Receipt, Source, State

CONFIRM_S = 30.0
"""How long the record may stay silent after a paste. A loaded machine was seen to take seconds; a CLI
that has swallowed a prompt never speaks."""
FIRST_LOOK_S = 0.4
"""Twice the slowest `UserPromptSubmit` measured on an idle machine (143 ms), and a margin."""
LONGEST_LOOK_S = 3.0
LOOK_BEFORE_S = 0.25
COMPOSER_WAIT_S = 5.0
"""How long an unchanged screen may be neither composer nor dialog before a person is called."""
FIRST_COMPOSER_S = 30.0
"""The same for a CLI that has said that it is up, and has not drawn its composer yet: on a machine with three
times as much to do as it has cores, Pi 0.73 took more than 5 s from its word to its composer."""
DRAWING_S = 60.0
"""How long it may change without becoming one: a resumed conversation of 25,000 lines was drawn for 10 s."""
LOST_LOOK_S = 5.0
"""When to look again if the terminal refused a look."""
CLEARS = 8
RAW_GONE_LOOKS = 2
MOST_UNCONFIRMED = 5


def pump(step: Step) -> None:
    """Start the next delivery if the agent can take one now."""
    memory = step.memory
    if memory.delivery or memory.attention or memory.ending_since is not None:
        return
    if (memory.queue or memory.steer_queue) and readiness.held_back(step):
        return
    if memory.turn is None and memory.state is State.READY and (memory.steer_queue or memory.queue):
        source = memory.steer_queue or memory.queue
        _begin(step, source.pop(0), steer=False)
    elif memory.turn and memory.state is State.WORKING and memory.steer_queue and _can_steer(step):
        _begin(step, memory.steer_queue.pop(0), steer=True)


def _can_steer(step: Step) -> bool:
    turn = step.memory.turn
    return bool(step.adapter.capabilities.steer and turn and not turn.interruption and not turn.ending)


def accept(step: Step, message: str) -> None:
    """Put a new message where its mode says."""
    memory = step.memory
    stored = step.messages[message]
    busy = bool(memory.turn or memory.delivery or memory.queue or memory.steer_queue)
    if stored.mode is Mode.FAIL_IF_BUSY and busy:
        step.receipt(message, Receipt.REJECTED)
        step.settle(
            message,
            Outcome.FAILED,
            error=Failure("busy", f"{step.name} is busy; --queue waits, --steer goes into the running turn"),
        )
        return
    steers = stored.mode is Mode.STEER and bool(memory.turn or memory.delivery)
    if steers and not step.adapter.capabilities.steer:
        step.emit(Kind.WARNING, text=f"{step.adapter.provider} can't be steered: the message is queued")
    if steers and step.adapter.capabilities.steer:
        memory.steer_queue.append(message)
    else:
        memory.queue.append(message)
    if busy or memory.state is not State.READY:
        step.receipt(message, Receipt.QUEUED)


def _begin(step: Step, message: str, *, steer: bool) -> None:
    delivery = Delivery(message, steer, step.now, step.now, look_at=step.now + LOST_LOOK_S)
    step.memory.delivery = delivery
    step.used()
    if not _awaits_put_back(step, delivery):
        step.do(ReadScreen())


def _awaits_put_back(step: Step, delivery: Delivery) -> bool:
    """Whether the composer that is empty now may get a draft at any moment."""
    until = step.memory.put_back_until
    if step.now < until:
        delivery.look_at = until
    return step.now < until


def seen(step: Step, look: Seen) -> None:
    """The screen was read while a message is on its way."""
    delivery = step.memory.delivery
    if delivery is None:
        return
    if delivery.phase == "look":
        _look_before(step, delivery, look)
    else:
        _look_after(step, delivery, look)


def _look_before(step: Step, delivery: Delivery, seen: Seen) -> None:
    look = seen.look
    if step.memory.turn and not delivery.steer:
        # Somebody else's prompt was quicker.
        _put_back(step, delivery)
        return
    if _awaits_put_back(step, delivery):
        return
    if look.dialog:
        need_person(step, look.dialog)
        if step.memory.attention:
            _put_back(step, delivery)
        else:
            delivery.look_at = step.now + LOOK_BEFORE_S
        return
    if not look.composer:
        drawn = seen.digest != delivery.digest and step.now - delivery.started_at < DRAWING_S
        if drawn:
            delivery.digest, delivery.composer_at = seen.digest, step.now
        patience = COMPOSER_WAIT_S if step.memory.composer_seen else FIRST_COMPOSER_S
        if step.now - delivery.composer_at > patience and not look.busy:
            _put_back(step, delivery)
            unknown_screen(step, seen.tail)
            return
        delivery.look_at = step.now + LOOK_BEFORE_S
        return
    delivery.composer_at = step.now
    if look.draft:
        if seen.attached:
            # A person is typing: their draft is theirs. The message waits, and says why.
            delivery.look_at = step.now + 1.0
            text = "a person is typing in the pane; the message waits for an empty composer"
            if step.memory.fact.text != text:
                step.memory.fact = Fact(text, "screen", step.now)
                step.emit(Kind.WARNING, text=text)
            return
        if look.draft != delivery.draft:
            # It gets shorter.
            delivery.draft, delivery.clears = look.draft, 0
        if delivery.clears >= CLEARS:
            step.memory.delivery = None
            step.receipt(delivery.message, Receipt.REJECTED)
            step.settle(
                delivery.message,
                Outcome.FAILED,
                error=Failure("draft", "the composer holds a draft that can't be cleared; nothing was sent"),
            )
            return
        delivery.clears += 1
        delivery.look_at = step.now + LOOK_BEFORE_S
        step.do(ClearDraft())
        return
    delivery.phase = "pasted"
    delivery.look_at = step.now + FIRST_LOOK_S
    delivery.give_up_at = step.now + CONFIRM_S
    step.do(Paste(delivery.message))


def _look_after(step: Step, delivery: Delivery, seen: Seen) -> None:
    """The record is silent: what does the composer say?"""
    look = seen.look
    message = step.messages.get(delivery.message)
    ours = look.folded or bool(message and shows_draft(look.draft or "", step.sent_text(delivery.message)))
    if ours:
        delivery.adopted = False
    # An empty composer tells that a command was taken in, if it was in there.
    raw = bool(message and message.raw and not delivery.adopted)
    if look.dialog and raw:
        _gone_by_screen(step, delivery, "the command opened a dialog")
    if look.dialog:
        need_person(step, look.dialog)
    wait = min(LONGEST_LOOK_S, FIRST_LOOK_S * 2 ** min(delivery.presses, 4))
    delivery.look_at = step.now + wait
    if ours and not look.dialog:
        if delivery.withdrawn:
            # Nobody waits for it any more, and the CLI hasn't got it.
            step.memory.delivery = None
            step.receipt(delivery.message, Receipt.REJECTED)
            step.messages.pop(delivery.message, None)
            step.do(ClearDraft())
            return
        delivery.presses += 1
        step.do(PressEnter())
        return
    sent = step.sent_text(delivery.message) if message else ""
    if sent and any(shows_waiting(text, sent) for text in look.waiting):
        if step.memory.turn:
            steering.waiting(step, Event(Kind.STEER_WAITING, Source.SCREEN, step.now, {"text": sent}))
        else:
            # The CLI has it, and is busy with itself: it starts its servers, or compacts.
            delivery.give_up_at = step.now + CONFIRM_S
        return
    if not raw or look.dialog:
        return
    if not look.composer and step.now - delivery.composer_at > COMPOSER_WAIT_S:
        _gone_by_screen(step, delivery, "the command put something in the composer's place")
        unknown_screen(step, seen.tail)
    elif look.composer and not look.draft and (not look.busy or step.memory.turn is None):
        delivery.clears += 1
        if delivery.clears >= RAW_GONE_LOOKS:
            _gone_by_screen(step, delivery, "the composer took the command in")


def _gone_by_screen(step: Step, delivery: Delivery, why: str) -> None:
    """A command left the composer: a turn of its own, or done within the one that runs."""
    turn = step.memory.turn
    if turn is None:
        turns.begin_by_screen(step, delivery.message, why)
        return
    step.memory.delivery = None
    step.receipt(delivery.message, Receipt.STEERED, turn.id)
    step.settle(delivery.message, Outcome.COMPLETED)


def paste_failed(step: Step, message: str, why: str) -> None:
    """The terminal refused: the message keeps its place, and goes in when the pane can be read again."""
    delivery = step.memory.delivery
    if delivery and delivery.message == message:
        _put_back(step, delivery)
        step.memory.look_at = step.now + 1.0
        text = f"the prompt could not be pasted and waits: {why}"
        if step.memory.fact.text != text:
            # It is tried every second; the reason is told once.
            step.memory.fact = Fact(text, "agentd", step.now)
            step.emit(Kind.WARNING, text=text)


def ticked(step: Step) -> None:
    """A deadline of the delivery may have passed."""
    delivery = step.memory.delivery
    if delivery is None:
        return
    if delivery.give_up_at is not None and step.now >= delivery.give_up_at and not step.memory.attention:
        _give_up(step, delivery)
    elif delivery.look_at is not None and step.now >= delivery.look_at:
        delivery.look_at = step.now + LOST_LOOK_S
        step.do(ReadScreen())


def deadline(memory: Memory) -> float | None:
    """When the delivery wants a tick. Its patience stands still while a person is needed."""
    delivery = memory.delivery
    if delivery is None:
        return None
    times = [delivery.look_at, None if memory.attention else delivery.give_up_at]
    return min((t for t in times if t is not None), default=None)


def _give_up(step: Step, delivery: Delivery) -> None:
    """Neither the record nor the composer said in time what became of the message."""
    memory = step.memory
    memory.delivery = None
    text = (
        f"the prompt was pasted and Enter was pressed {delivery.presses + 1} time(s), but the CLI's record "
        f"doesn't show it after {CONFIRM_S:.0f}s"
    )
    step.receipt(delivery.message, Receipt.UNCONFIRMED)
    memory.unconfirmed.append(delivery.message)
    for forgotten in memory.unconfirmed[:-MOST_UNCONFIRMED]:
        step.messages.pop(forgotten, None)
    memory.unconfirmed = memory.unconfirmed[-MOST_UNCONFIRMED:]
    error = Failure("unconfirmed", text + "; look at the pane before you send it again", session=step.name)
    # The message stays known: a record that is very late still tells whose turn that is.
    step.tell_sender(delivery.message, Outcome.LOST, error=error)


def _put_back(step: Step, delivery: Delivery) -> None:
    """Nothing was pasted yet: the message keeps its place."""
    step.memory.delivery = None
    (step.memory.steer_queue if delivery.steer else step.memory.queue).insert(0, delivery.message)
    step.receipt(delivery.message, Receipt.QUEUED)


def abandon(step: Step, outcome: Outcome, failure: Failure) -> None:
    """The CLI is gone while a message was on its way."""
    delivery = step.memory.delivery
    if delivery is None:
        return
    step.memory.delivery = None
    if delivery.phase == "look":
        step.memory.queue.insert(0, delivery.message)
        return
    step.receipt(delivery.message, Receipt.UNCONFIRMED)
    step.settle(delivery.message, outcome, error=failure)
