"""Readiness: from the start of the CLI until it can take a prompt (contract, row `prompt_readiness`).

Every sign of life (an event, a change of the normalised screen) re-arms the inactivity timer; nothing
re-arms the absolute one. Both stand still while a person is needed: a dialog is an answer, not silence.
"""

from __future__ import annotations

from dataclasses import replace

from agentd.agents import attention
from agentd.agents.effects import Seen, StartCli
from agentd.agents.memory import Memory
from agentd.agents.step import Step
from agentd.contract import Layer, Readiness, TimedOut, format_duration
from agentd.model import Failure, Kind, Outcome, Receipt, State

LOOK_S = 0.4
BRIDGE_S = 15.0
"""How long a ready CLI's first prompt waits for the bridge: it is there within 0.7 s on an idle machine."""
BRIDGE_SETTLES_S = 0.3
"""From the daemon's answer to the tools in the model's next request."""


def begin(step: Step, *, resume: str | None, why: str) -> None:
    """Start the CLI."""
    memory = step.memory
    if resume is None:
        memory.session_id = None
        memory.has_conversation = False
    memory.starting_since = memory.last_sign_at = step.now
    memory.paused_s = 0.0
    memory.digest = ""
    memory.composer_since, memory.composer_seen = None, False
    memory.session_said = resume is not None
    memory.failure = None
    memory.attention = None
    memory.ending_since = None
    memory.ending_why = ""
    memory.retiring = False
    memory.said_goodbye = False
    memory.trust_answered_at = None
    memory.await_bridge = False
    memory.bridge_until = None
    memory.turn = None
    memory.expected = []
    memory.late_ends = []
    memory.put_back_until = 0.0
    for message in memory.unconfirmed:
        step.messages.pop(message, None)
    memory.unconfirmed = []
    memory.look_at = step.now + LOOK_S
    step.become(State.STARTING, why)
    step.used()
    step.do(StartCli(resume))


def sign_of_life(step: Step) -> None:
    """The CLI said something."""
    step.memory.last_sign_at = step.now


def ready(step: Step, why: str, source: str) -> None:
    """The CLI takes prompts."""
    memory = step.memory
    if memory.starting_since is None:
        return
    memory.starting_since = None
    memory.look_at = None
    if memory.await_bridge:
        memory.bridge_until = step.now + BRIDGE_S
    if memory.attention:
        attention.over(step, why, source)
    step.become(State.READY, why, source)
    step.used()


def bridge_ready(step: Step) -> None:
    """The bridge asked for its tools."""
    memory = step.memory
    memory.await_bridge = False
    if memory.bridge_until is not None:
        memory.bridge_until = step.now + BRIDGE_SETTLES_S


def held_back(step: Step) -> bool:
    """Whether the first prompt is to wait for the bridge."""
    memory = step.memory
    if memory.bridge_until is None:
        return False
    if step.now < memory.bridge_until:
        return True
    if memory.await_bridge:
        waited = format_duration(BRIDGE_S)
        text = f"the bridge was not there within {waited}; the prompt goes in without agentd's tools"
        step.emit(Kind.WARNING, text=text)
    memory.await_bridge, memory.bridge_until = False, None
    return False


def session_started(step: Step, source: str) -> None:
    """The CLI says that its session has started; not all hear keys by then."""
    step.memory.session_said = True
    if step.adapter.capabilities.ready_needs_screen_s is None:
        ready(step, "the CLI started its session", source)


def seen(step: Step, seen: Seen, *, changed: bool) -> None:
    """The screen was read during the start."""
    memory = step.memory
    if changed:
        sign_of_life(step)
    memory.tail = seen.tail
    look = seen.look
    if look.dialog and not memory.attention:
        memory.composer_since = None
        attention.need_person(step, look.dialog)
        return
    if not look.composer or look.busy or look.dialog:
        memory.composer_since = None
        return
    if memory.composer_since is None:
        memory.composer_since = step.now
    capabilities = step.adapter.capabilities
    wait = capabilities.ready_by_screen_s
    if memory.session_said and capabilities.ready_needs_screen_s is not None:
        wait = capabilities.ready_needs_screen_s
    if step.now - memory.composer_since >= wait:
        ready(step, "the composer stands on the screen", "screen")


def deadlines(memory: Memory, limits: Readiness) -> list[tuple[str, float, float]]:
    """The readiness timers that run: (rule, when, value in seconds)."""
    if memory.starting_since is None or memory.attention:
        return []
    found = []
    if limits.inactivity is not None:
        found.append(("inactivity", memory.last_sign_at + limits.inactivity, limits.inactivity))
    if limits.absolute is not None:
        end = memory.starting_since + memory.paused_s + limits.absolute
        found.append(("absolute", end, limits.absolute))
    return found


def ticked(step: Step) -> None:
    """A readiness timer may have fired."""
    memory = step.memory
    if memory.starting_since is None:
        return
    for rule, when, value in deadlines(memory, step.readiness):
        if step.now >= when:
            limit = format_duration(value)
            rest = f": no sign of life for {limit}" if rule == "inactivity" else f" {limit} after its start"
            what = f"{step.adapter.provider} was not ready for a prompt{rest}"
            error = TimedOut(Layer.PROMPT_READINESS, what, session=step.name, timeout_s=value)
            failure = replace(Failure.of(error), message=f"{error}\n{screen_lines(memory.tail)}")
            fail(step, Outcome.TIMED_OUT, failure)
            return


def fail(step: Step, outcome: Outcome, failure: Failure) -> None:
    """The CLI can't take prompts: everybody who waits is told why. The pane stays, to be looked at."""
    memory = step.memory
    memory.starting_since = None
    memory.attention = None
    memory.look_at = None
    memory.failure = failure
    step.become(State.FAILED, failure.message)
    waiting = [*memory.steer_queue, *memory.queue]
    memory.steer_queue, memory.queue = [], []
    for message in waiting:
        step.receipt(message, Receipt.REJECTED)
        step.settle(message, outcome, error=failure)


def screen_lines(tail: str) -> str:
    """The screen's last lines, as an error shows them."""
    if not tail.strip():
        return "The screen is empty."
    return "The screen's last lines:\n" + "\n".join(f"  | {line}" for line in tail.splitlines())
