"""Attention: the CLI asks a person. Seen, named, answered, and noticed when it is over."""

from __future__ import annotations

from agentd.agents.effects import AnswerDialog, Seen
from agentd.agents.memory import Attention
from agentd.agents.step import Step
from agentd.model import Event, Kind, Reason, State
from agentd.screen import Dialog

LOOK_S = 1.0
UNSEEN_S = 4.0
"""A request that was never seen on the screen was decided without a person (a hook, a rule of the user's):
it counts as over after this long. Claude Code draws its dialog within a second, Codex about 1 s later."""
CLEAR_LOOKS = 2
ANSWER_LOOK_S = 0.3
"""When the screen is read after something that changes it at once: a request, an answer."""


def need_person(step: Step, dialog: Dialog, source: str = "screen") -> None:
    """A dialog is on the screen."""
    memory = step.memory
    labels = [option.label for option in dialog.options]
    if dialog.reason is Reason.TRUST and step.trusted() and _by_trust_list(step):
        return
    attention = memory.attention
    if attention and (attention.reason, attention.options) == (dialog.reason, labels):
        attention.seen_on_screen = True
        attention.clear_looks = 0
        if attention.answered_at is not None and step.now - attention.answered_at > UNSEEN_S:
            attention.answered_at = None
            _announce(step, dialog.reason, dialog.text, labels, source)
        return
    since = attention.since if attention else step.now
    memory.attention = Attention(
        dialog.reason,
        dialog.text,
        since,
        labels,
        seen_on_screen=True,
        fixed=dialog.fixed,
        answerable=dialog.approve is not None,
    )
    memory.look_at = step.now + LOOK_S
    _announce(step, dialog.reason, dialog.text, labels, source)


def answered(step: Step, choice: str) -> None:
    """It was answered through agentd; the screen or the record will say that the CLI goes on."""
    memory = step.memory
    memory.fact.text += f"; answered {choice}"
    memory.look_at = step.now + ANSWER_LOOK_S
    if memory.attention:
        memory.attention.answered_at = step.now


def _by_trust_list(step: Step) -> bool:
    """Answer a trust dialog by the user's own list; False if that was tried and the dialog stays."""
    memory = step.memory
    if memory.trust_answered_at is None:
        memory.trust_answered_at = step.now
        step.emit(
            Kind.WARNING, text="the trust dialog was answered `yes`, as [trust] workspaces in the config says"
        )
        step.do(AnswerDialog("approve"))
    return step.now - memory.trust_answered_at < UNSEEN_S


def unknown_screen(step: Step, tail: str) -> None:
    """The screen is neither the composer nor a dialog that anybody knows."""
    todo = "attach and look; the message waits until the composer is back"
    need_person(step, Dialog(Reason.UNKNOWN_DIALOG, tail, fixed=todo))


def asked(step: Step, event: Event) -> None:
    """The record says that the CLI asks; the screen will show what can be answered."""
    memory = step.memory
    reason = Reason(event.get("reason") or Reason.APPROVAL)
    text = str(event.get("text") or "")
    since = memory.attention.since if memory.attention else step.now
    memory.attention = Attention(reason, text, since, tool=event.get("tool"), asked_at=step.now)
    memory.look_at = step.now + ANSWER_LOOK_S
    _announce(step, reason, text, [], event.source)


def _announce(step: Step, reason: Reason, text: str, options: list[str], source: str) -> None:
    step.become(
        State.ATTENTION, f"{reason}: {text.strip().splitlines()[0] if text.strip() else reason}", source
    )
    step.emit(Kind.ATTENTION, reason=reason, text=text, options=options)


def seen(step: Step, seen: Seen) -> None:
    """The screen was read while a person is needed."""
    attention = step.memory.attention
    if attention is None:
        return
    if seen.look.dialog:
        need_person(step, seen.look.dialog)
        return
    visible_work = seen.look.composer or seen.look.busy
    if attention.seen_on_screen:
        if visible_work or attention.reason in (Reason.TRUST, Reason.UPDATE):
            attention.clear_looks += 1
        if attention.clear_looks >= CLEAR_LOOKS:
            over(step, "the dialog is gone from the screen", "screen")
    elif step.now - (attention.asked_at or attention.since) > UNSEEN_S and visible_work:
        over(step, "no dialog was drawn: the request was decided without a person", "screen")


def went_on(step: Step, event: Event) -> None:
    """The tool that a person was asked about has ended. A mistake (two tools of one name) is seen on the
    screen at the next look."""
    attention = step.memory.attention
    if attention and attention.tool in (None, event.get("tool")):
        over(step, "the CLI went on", event.source)
        step.memory.look_at = step.now + LOOK_S


def over(step: Step, why: str, source: str) -> None:
    """The person is not needed any more."""
    memory = step.memory
    if memory.attention is None:
        return
    paused = step.now - memory.attention.since
    if memory.starting_since is not None:
        memory.paused_s += paused
        memory.last_sign_at = step.now
    memory.attention = None
    if memory.delivery and memory.delivery.give_up_at is not None:
        memory.delivery.look_at = step.now
        memory.delivery.give_up_at += paused
    if memory.state is State.ATTENTION:
        if memory.starting_since is not None:
            step.become(State.STARTING, why, source)
        else:
            step.become(State.WORKING if memory.turn else State.READY, why, source)
