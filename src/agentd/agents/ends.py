"""How a CLI begins anew and how it ends: stopped, refitted, retired, or dead by itself; and what becomes of
everything that was open then.
"""

from __future__ import annotations

from agentd.agents import delivery, readiness, turns
from agentd.agents.effects import EndCli, Gone, Refit
from agentd.agents.step import Step
from agentd.model import Failure, Kind, Outcome, Receipt, State

MOST_DEATHS = 2
"""After so many deaths in a row without a completed turn, what waits is given back instead of tried again."""


def start(step: Step) -> None:
    memory = step.memory
    resume = None
    if memory.has_conversation and step.adapter.capabilities.resume:
        # Also after a start that failed: only a stop gives a conversation up.
        resume = memory.session_id
    elif memory.has_conversation:
        provider = step.adapter.provider
        text = f"{provider} can't take a conversation up again: this prompt begins a new one"
        step.emit(Kind.WARNING, text=text)
    why = f"resuming session {resume}" if resume else "starting the CLI"
    readiness.begin(step, resume=resume, why=why)


def stop(step: Step, by: str) -> None:
    memory = step.memory
    failure = Failure("stopped", f"the agent was stopped by {by}", session=step.name)
    _give_back(step, Outcome.INTERRUPTED, failure)
    memory.starting_since = None
    memory.attention = None
    memory.retiring = False
    if memory.state is State.ATTENTION:
        step.become(State.WORKING, "it is being stopped")
    memory.ending_since, memory.ending_why = step.now, "stop"
    memory.fact.text = f"stopped by {by}"
    step.do(EndCli(polite=False))


def refit(step: Step, wanted: Refit) -> None:
    memory = step.memory
    if not wanted.keep:
        memory.session_id, memory.has_conversation = None, False
    if not memory.state.alive:
        return
    memory.retiring = False
    memory.ending_since, memory.ending_why = step.now, "refit"
    memory.fact.text = f"ended by {wanted.by}; its next start is another"
    step.do(EndCli(polite=wanted.polite))


def _give_back(step: Step, outcome: Outcome, failure: Failure) -> None:
    """End everything that is open."""
    memory = step.memory
    delivery.abandon(step, outcome, failure)
    if memory.turn:
        was, memory.state = memory.state, State.STOPPED  # no following turn, no "ready" in between
        if memory.turn.ending:
            turns.finish_ending(step)
        else:
            turns.finish(step, outcome, memory.turn.reply, failure)
        memory.state = was
    waiting = [*memory.steer_queue, *memory.queue, *(steer.message for steer in memory.steers)]
    memory.steer_queue, memory.queue, memory.steers = [], [], []
    for message in waiting:
        step.settle(message, outcome, error=failure)
    for message in memory.unconfirmed:
        step.messages.pop(message, None)
    memory.unconfirmed = []


def gone(step: Step, gone: Gone) -> None:
    memory = step.memory
    why = memory.ending_why if memory.ending_since is not None else ""
    memory.ending_since, memory.ending_why, memory.retiring = None, "", False
    memory.look_at = None
    if why == "stop":
        memory.session_id, memory.has_conversation = None, False
        _rest(step, State.STOPPED, memory.fact.text)
    elif why == "retire":
        _rest(step, State.RETIRED, f"idle for the whole retention; {_next_time(step)}")
    elif why == "refit":
        _rest(step, State.RETIRED if memory.has_conversation else State.STOPPED, memory.fact.text)
    elif why == "replaced":
        pass
    else:
        _died(step, gone)
    if (memory.queue or memory.steer_queue) and not memory.state.alive and why:
        start(step)


def _next_time(step: Step) -> str:
    """What the next prompt will find."""
    if not step.memory.has_conversation:
        return "the next prompt starts it anew"
    if step.adapter.capabilities.resume:
        return "the next prompt resumes its conversation"
    provider = step.adapter.provider
    return f"{provider} can't take its conversation up again: the next prompt begins a new one"


def _rest(step: Step, state: State, why: str) -> None:
    step.memory.starting_since = None
    step.memory.attention = None
    step.become(state, why)


def _died(step: Step, gone: Gone) -> None:
    memory = step.memory
    status = "" if gone.status is None else f" with status {gone.status}"
    text = f"{gone.what}{status}"
    step.emit(Kind.PANE_DEAD, status=gone.status)
    if memory.starting_since is not None:
        text = f"{text} before it was ready\n{readiness.screen_lines(gone.tail or memory.tail)}"
        if memory.has_conversation:
            text += f"\nIt was to resume a conversation; `agentd stop {step.name}` gives that one up."
        failure = Failure("start_failed", text, session=step.name)
        readiness.fail(step, Outcome.FAILED, failure)
        return
    if memory.state is State.FAILED:
        return
    memory.deaths += 1
    failure = Failure("lost", f"{text} in the middle of the turn", session=step.name)
    was_busy = bool(memory.delivery or (memory.turn and not memory.turn.ending))
    queue, steer_queue = memory.queue, memory.steer_queue
    memory.queue, memory.steer_queue = [], []
    delivery.abandon(step, Outcome.LOST, failure)
    requeued = memory.queue
    memory.queue = []
    _give_back(step, Outcome.LOST, failure)
    clean = memory.said_goodbye or gone.status == 0
    if not was_busy and clean:
        if not (queue or steer_queue):
            memory.deaths = 0
        if memory.has_conversation and step.adapter.capabilities.resume:
            _rest(step, State.RETIRED, f"{text}; {_next_time(step)}")
        else:
            _rest(step, State.STOPPED, f"{text}; {_next_time(step)}")
    else:
        _rest(step, State.LOST, f"{text}; {_next_time(step)}")
    memory.queue = [*requeued, *steer_queue, *queue]
    if not memory.queue:
        return
    if memory.deaths >= MOST_DEATHS:
        waiting, memory.queue = memory.queue, []
        for message in waiting:
            step.receipt(message, Receipt.REJECTED)
            step.settle(message, Outcome.LOST, error=Failure("lost", f"{text}, again and again"))
    else:
        start(step)
