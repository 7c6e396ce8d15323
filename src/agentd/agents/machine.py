"""The state machine of one agent: (memory, input, time) -> effects. No clock, no task, no I/O.

The machine is handed every input in turn by the agent's one owner task, and answers with the effects
that the owner is to run. Each policy lives in a module of its own; this one says which of them an
input concerns, and when the next deadline is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from agentd.adapter import Adapter
from agentd.agents import attention, delivery, ends, interruption, readiness, retention, steering, turns
from agentd.agents.effects import (
    Answered,
    BridgeReady,
    Effect,
    Gone,
    Input,
    Interrupt,
    PasteFailed,
    ReadScreen,
    Refit,
    Seen,
    Slept,
    StartAgain,
    StartCli,
    Started,
    StartFailed,
    Stop,
    Submit,
    Tick,
    Withdraw,
)
from agentd.agents.memory import Memory, stand_still
from agentd.agents.step import Step
from agentd.contract import Readiness
from agentd.model import Event, Failure, Kind, Message, Outcome, State

LISTEN_S = 10.0
OVER = (State.RETIRED, State.STOPPED, State.LOST)


class Machine:
    """One agent. `messages` are the open ones that the memory names."""

    def __init__(
        self,
        name: str,
        adapter: Adapter,
        *,
        readiness: Readiness,
        retention_s: float,
        new_id: Callable[[], str],
        memory: Memory | None = None,
        messages: Iterable[Message] = (),
        trusted: Callable[[], bool] = lambda: False,
    ) -> None:
        self.name = name
        self.adapter = adapter
        self.memory = memory or Memory()
        self.messages = {message.id: message for message in messages}
        self.readiness = readiness
        self.retention_s = retention_s
        self._trusted = trusted
        self._new_id = new_id

    def __repr__(self) -> str:
        m = self.memory
        parts = [f"{self.name} {m.state}"]
        if m.turn:
            parts.append(f"turn={m.turn.id}")
        if m.delivery:
            parts.append(f"delivery={m.delivery.message}/{m.delivery.phase}")
        if m.queue or m.steer_queue:
            parts.append(f"queued={len(m.queue) + len(m.steer_queue)}")
        if m.attention:
            parts.append(f"attention={m.attention.reason}")
        return f"<Machine {', '.join(parts)}>"

    def handle(self, what: Input, now: float) -> list[Effect]:
        """Take one input in."""
        step = Step(
            self.name,
            self.memory,
            self.adapter,
            self.readiness,
            self.retention_s,
            self.messages,
            now,
            self._new_id,
            self._trusted,
        )
        match what:
            case Event():
                self._event(step, what)
            case Seen():
                self._seen(step, what)
            case Submit(message):
                self._submit(step, message)
            case StartAgain():
                self.memory.starting_since = self.memory.last_sign_at = now
                step.do(StartCli(self.memory.session_id if self.memory.has_conversation else None))
            case Started(session_id, await_bridge):
                self.memory.session_id = session_id or self.memory.session_id
                self.memory.await_bridge = await_bridge
            case BridgeReady():
                readiness.bridge_ready(step)
            case StartFailed(failure):
                readiness.fail(step, Outcome.FAILED, failure)
            case Gone():
                ends.gone(step, what)
            case Interrupt(by):
                self._interrupt(step, by)
            case Withdraw(message_id, by):
                if message_id in self.messages:
                    failure = Failure("cancelled", f"cancelled by {by}", session=self.name)
                    interruption.withdraw(step, message_id, Outcome.INTERRUPTED, failure, by)
            case Stop(by):
                ends.stop(step, by)
            case Refit():
                ends.refit(step, what)
            case Answered(choice):
                attention.answered(step, choice)
            case PasteFailed(message_id, why):
                delivery.paste_failed(step, message_id, why)
                return step.effects
            case Slept(seconds):
                stand_still(self.memory, seconds)
            case Tick():
                self._tick(step)
        delivery.pump(step)
        return step.effects

    def adopt(self, now: float) -> None:
        """A new daemon took the agent over: look at everything that was under way, and for a while before
        silence counts, since nobody listened."""
        memory = self.memory
        if self.readiness.inactivity is not None:
            memory.last_sign_at = max(memory.last_sign_at, now - self.readiness.inactivity + LISTEN_S)
        if memory.delivery:
            memory.delivery.look_at = now
            if memory.delivery.give_up_at is not None:
                memory.delivery.give_up_at = now + delivery.CONFIRM_S
            memory.delivery.adopted = memory.delivery.phase == "pasted"
        if memory.turn or memory.attention or memory.starting_since is not None:
            memory.look_at = now
        memory.retiring = False
        if memory.ending_why == "retire":
            # The pane lives, and a retention that is over is over still.
            memory.ending_since, memory.ending_why = None, ""

    def unclaimed(self) -> list[Message]:
        """Messages that are on disk, but that the machine was not yet told of when the daemon ended."""
        m = self.memory
        named = {*m.queue, *m.steer_queue, *m.unconfirmed, *(steer.message for steer in m.steers)}
        under_way = (m.delivery and m.delivery.message, m.turn and m.turn.message)
        return [message for id, message in self.messages.items() if id not in {*named, *under_way}]

    # Facts ---------------------------------------------------------------------------------------

    def _event(self, step: Step, event: Event) -> None:
        memory = self.memory
        if memory.ending_since is not None or memory.state in OVER:
            # The late word of a process that is over, or is being ended.
            return
        readiness.sign_of_life(step)
        match event.kind:
            case Kind.SESSION_STARTED:
                memory.said_goodbye = False
                memory.session_id = event.get("session_id") or memory.session_id
                readiness.session_started(step, event.source)
            case Kind.READY:
                readiness.ready(step, "the CLI says that it waits for a prompt", event.source)
            case Kind.PROMPT_TAKEN:
                readiness.ready(step, "the CLI took a prompt in", event.source)
                turns.taken(step, event)
            case Kind.STEER_WAITING:
                steering.waiting(step, event)
            case Kind.STEER_JOINED:
                steering.joined(step, event)
            case Kind.STEER_OWN_TURN:
                steering.own_turn(step, event)
            case Kind.STEER_DROPPED:
                steering.dropped(step, event)
            case Kind.TOOL_STARTED | Kind.TOOL_ENDED | Kind.TEXT:
                if event.kind is Kind.TOOL_ENDED:
                    attention.went_on(step, event)
                elif event.kind is Kind.TOOL_STARTED and step.adapter.capabilities.approvals == "screen":
                    soon = step.now + attention.LOOK_S
                    memory.look_at = min(memory.look_at or soon, soon)
                turns.worked(step, event)
            case Kind.APPROVAL_WANTED:
                attention.asked(step, event)
            case Kind.TURN_DONE | Kind.TURN_FAILED | Kind.TURN_INTERRUPTED | Kind.TURN_BLOCKED:
                turns.ended(step, event)
            case Kind.SESSION_ENDED:
                memory.said_goodbye = True
            case _:
                pass

    def _seen(self, step: Step, seen: Seen) -> None:
        memory = self.memory
        changed = seen.digest != memory.digest
        memory.digest = seen.digest
        memory.composer_seen |= seen.look.composer
        if memory.retiring:
            retention.seen(step, seen)
        elif memory.starting_since is not None:
            attention.seen(step, seen)
            readiness.seen(step, seen, changed=changed)
        elif memory.attention:
            attention.seen(step, seen)
        elif memory.delivery:
            delivery.seen(step, seen)
            if memory.turn and memory.turn.interruption:
                turns.seen(step, seen, changed=changed)
        else:
            turns.seen(step, seen, changed=changed)
        self._look_again(step, seen)

    def _look_again(self, step: Step, seen: Seen) -> None:
        """When the screen is to be read next, outside a delivery and an interruption."""
        memory = self.memory
        if memory.attention:
            memory.look_at = step.now + attention.LOOK_S
        elif memory.starting_since is not None:
            memory.look_at = step.now + readiness.LOOK_S
        elif memory.turn:
            turn = memory.turn
            unused = seen.look.composer and not seen.look.busy and not turn.output
            soon = turn.by_screen or turn.presumed or turn.idle_looks or unused
            memory.look_at = step.now + (turns.RAW_LOOK_S if soon else turns.QUIET_LOOK_S)
        else:
            memory.look_at = None

    # Wishes --------------------------------------------------------------------------------------

    def _submit(self, step: Step, message: Message) -> None:
        memory = self.memory
        self.messages[message.id] = message
        step.used()
        memory.retiring = False
        delivery.accept(step, message.id)
        if message.id in self.messages and not memory.state.alive and memory.ending_since is None:
            ends.start(step)

    def _interrupt(self, step: Step, by: str) -> None:
        memory = self.memory
        if memory.turn:
            interruption.interrupt(step, by)
        elif memory.delivery:
            failure = Failure("interrupted", f"interrupted by {by}", session=self.name)
            interruption.withdraw(step, memory.delivery.message, Outcome.INTERRUPTED, failure, by)

    # Time ----------------------------------------------------------------------------------------

    def _tick(self, step: Step) -> None:
        memory = self.memory
        for message in list(self.messages.values()):
            if message.deadline_s is not None and step.now >= message.created_at + message.deadline_s:
                self.messages[message.id] = _without_deadline(message)
                interruption.deadline_passed(step, message.id, message.deadline_s)
        readiness.ticked(step)
        delivery.ticked(step)
        turns.ticked(step)
        retention.ticked(step)
        if memory.look_at is not None and step.now >= memory.look_at:
            memory.look_at = step.now + delivery.LOST_LOOK_S
            if ReadScreen() not in step.effects:
                step.do(ReadScreen())

    def next_deadline(self) -> float | None:
        """When a tick is due, or None."""
        memory = self.memory
        times = [m.created_at + m.deadline_s for m in self.messages.values() if m.deadline_s is not None]
        times += [when for _, when, _ in readiness.deadlines(memory, self.readiness)]
        if (due := delivery.deadline(memory)) is not None:
            times.append(due)
        elif memory.bridge_until is not None and (memory.queue or memory.steer_queue):
            times.append(memory.bridge_until)
        if memory.turn and memory.turn.ending:
            times.append(memory.turn.ending.until)
        if memory.turn and memory.turn.interruption:
            times.append(memory.turn.interruption.look_at)
        if memory.look_at is not None:
            times.append(memory.look_at)
        if (retire := retention.retire_at(memory, self.retention_s)) is not None:
            times.append(retire)
        return min(times, default=None)


def _without_deadline(message: Message) -> Message:
    """The message after its deadline fired: it fires once."""
    return replace(message, deadline_s=None)
