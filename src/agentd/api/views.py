"""What the daemon knows, in the shapes of the public JSON."""

from __future__ import annotations

from typing import Any

from agentd.agents import readiness, retention
from agentd.agents.dialogs import answers
from agentd.agents.owner import Owner
from agentd.agents.supervisor import Supervisor
from agentd.contract import Layer
from agentd.model import Event, Failure, Outcome, Receipt, rfc3339
from agentd.screen import Dialog
from agentd.store import Result
from agentd.tmux.server import TmuxServer


class Views:
    """Reads the supervisor; changes nothing."""

    def __init__(self, supervisor: Supervisor, tmux: TmuxServer) -> None:
        self._supervisor = supervisor
        self._tmux = tmux

    def agent(self, owner: Owner) -> dict[str, Any]:
        """One agent, as `list` shows it."""
        row, memory, pane = owner.life.row, owner.machine.memory, owner.life.pane
        return {
            "name": row.name,
            "provider": row.provider,
            "state": memory.state,
            "attention": memory.attention.reason if memory.attention else None,
            "cwd": row.cwd,
            "model": row.model,
            "session_id": memory.session_id,
            "turn": memory.turn.id if memory.turn else None,
            "queued": len(memory.queue) + len(memory.steer_queue),
            "created_at": rfc3339(row.created_at),
            "last_used_at": rfc3339(memory.last_used_at or row.created_at),
            "retire_at": rfc3339(retention.retire_at(memory, owner.machine.retention_s)),
            "pid": pane.pid if pane else None,
            "tmux": {
                "socket": str(self._tmux.socket),
                "session": row.name,
                "pane": pane.pane if pane else None,
            },
        }

    def show(self, owner: Owner, dialog: Dialog | None) -> dict[str, Any]:
        """One agent in full. `dialog` is what its screen asks at the moment."""
        memory, store = owner.machine.memory, self._supervisor.services.store
        last = store.last_turn(owner.name)
        waiting = [*memory.steer_queue, *memory.queue]
        attention = memory.attention
        return {
            **self.agent(owner),
            "last": None
            if last is None
            else self._turn_result(
                owner,
                last.id,
                last.message,
                last.outcome,
                last.reply,
                last.error,
                last.started_at,
                last.ended_at,
            ),
            "queue": [
                {"message": m, "text": owner.machine.messages[m].text, "receipt": Receipt.QUEUED}
                for m in waiting
                if m in owner.machine.messages
            ],
            "deadlines": self._deadlines(owner),
            "files": {
                "folder": str(owner.life.folder),
                "spool": str(owner.life.spool),
                "record": str(owner.life.records[-1]) if owner.life.records else None,
            },
            "attach": self._tmux.attach_command(owner.name) if owner.life.pane else None,
            "dialog": {
                "reason": dialog.reason,
                "text": dialog.text,
                "options": [option.label for option in dialog.options],
                "answers": answers(dialog),
                "fixed": dialog.fixed,
            }
            if dialog and attention
            else None,
        }

    def _deadlines(self, owner: Owner) -> list[dict[str, Any]]:
        memory, machine = owner.machine.memory, owner.machine
        found: list[tuple[str, float, float]] = [
            (Layer.PROMPT_READINESS, when, value)
            for _, when, value in readiness.deadlines(memory, machine.readiness)
        ]
        found += [
            (Layer.WORKFLOW, m.created_at + m.deadline_s, m.deadline_s)
            for m in machine.messages.values()
            if m.deadline_s is not None
        ]
        if (retire := retention.retire_at(memory, machine.retention_s)) is not None:
            found.append((Layer.IDLE_RETENTION, retire, machine.retention_s))
        return [{"layer": layer, "at": rfc3339(at), "timeout_s": value} for layer, at, value in found]

    def result(self, owner: Owner, result: Result) -> dict[str, Any]:
        """What became of a message, as `send` shows it."""
        return {
            **self._turn_result(
                owner,
                result.turn,
                result.message,
                result.outcome,
                result.reply,
                result.error,
                result.started_at,
                result.ended_at,
            ),
            "receipt": result.receipt,
        }

    def turn_result(self, owner: Owner, turn: str | None) -> dict[str, Any] | None:
        """A turn, by default the newest that has ended, in the same shape."""
        store = self._supervisor.services.store
        last = store.turn(turn) if turn else store.last_turn(owner.name)
        if last is None:
            return None
        return self._turn_result(
            owner, last.id, last.message, last.outcome, last.reply, last.error, last.started_at, last.ended_at
        )

    def _turn_result(
        self,
        owner: Owner,
        turn: str | None,
        message: str | None,
        outcome: str | None,
        reply: str | None,
        error: Failure | None,
        started_at: float | None,
        ended_at: float | None,
    ) -> dict[str, Any]:
        both = started_at is not None and ended_at is not None
        return {
            "agent": owner.name,
            "provider": owner.life.row.provider,
            "turn": turn,
            "message": message,
            "receipt": Receipt.ACCEPTED,
            "outcome": outcome,
            "reply": reply,
            "error": error.public() if error else None,
            "session_id": owner.machine.memory.session_id,
            "started_at": rfc3339(started_at),
            "ended_at": rfc3339(ended_at),
            "duration_s": round(ended_at - started_at, 3) if both else None,  # type: ignore[operator]
        }

    def attention(self, owner: Owner) -> dict[str, Any] | None:
        """What a person is needed for, and how to answer."""
        attention = owner.machine.memory.attention
        if attention is None:
            return None
        if attention.fixed and not attention.options:
            how = f"{attention.fixed}: agentd attach {owner.name}"
        elif attention.options:
            how = f"agentd answer {owner.name} " + "|".join(
                [*(["approve", "deny"] if attention.answerable else []), f"1..{len(attention.options)}"]
            )
        else:  # asked by the record alone: the screen hasn't been read yet
            how = f"agentd answer {owner.name} approve|deny, or agentd attach {owner.name}"
        return {
            "reason": attention.reason,
            "text": attention.text,
            "options": attention.options,
            "how": how,
        }

    @staticmethod
    def failed(failure: Failure) -> dict[str, Any]:
        """What a result says of an agent that could not be started."""
        outcome = Outcome.TIMED_OUT if failure.code == "timeout" else Outcome.FAILED
        return {"outcome": outcome, "receipt": Receipt.REJECTED, "error": failure.public()}

    def needed(self, owner: Owner) -> dict[str, Any]:
        """What a result says instead of an end when a person is needed."""
        attention = self.attention(owner) or {"reason": "attention", "text": "", "how": ""}
        text = f"{owner.name} needs a person ({attention['reason']}); {attention['how']}"
        error = Failure("attention", text, session=owner.name)
        return {"outcome": "attention", "error": error.public(), "attention": attention}

    def explain(
        self, owner: Owner, screen: str | None, events: list[tuple[int, str, Event]]
    ) -> dict[str, Any]:
        """Why the agent is in its state: which fact, from which source, when."""
        memory = owner.machine.memory
        return {
            "agent": owner.name,
            "state": memory.state,
            "since": rfc3339(memory.since),
            "why": memory.fact.text,
            "source": memory.fact.source,
            "event": rfc3339(memory.fact.time),
            "waiting_for": self._waiting_for(owner),
            "history": [
                {
                    "time": rfc3339(event.time),
                    "kind": event.kind,
                    "source": event.source,
                    "text": summary(event),
                }
                for _, _, event in events
            ],
            "screen": screen,
        }

    @staticmethod
    def _waiting_for(owner: Owner) -> str | None:
        memory = owner.machine.memory
        if memory.attention:
            return f"a person ({memory.attention.reason})"
        if memory.starting_since is not None:
            return "the CLI's word that it takes prompts"
        if memory.bridge_until is not None and (memory.queue or memory.steer_queue):
            return "the bridge, with the agent's tools"
        if memory.delivery and memory.delivery.phase == "look":
            return f"an empty composer, for message {memory.delivery.message}"
        if memory.delivery:
            return f"the record's word that message {memory.delivery.message} was taken in"
        if memory.turn and memory.turn.interruption:
            return f"the end of turn {memory.turn.id}, interrupted by {memory.turn.interruption.by}"
        if memory.turn and memory.turn.ending:
            return f"the second source for the end of turn {memory.turn.id}"
        if memory.turn and memory.turn.background:
            return f"background work of turn {memory.turn.id}"
        if memory.turn:
            tools = ", ".join(memory.turn.tools.values())
            return f"the end of turn {memory.turn.id}" + (f" (in {tools})" if tools else "")
        return None


def summary(event: Event) -> str:
    """One line about an event."""
    parts = []
    for key, value in event.data.items():
        if value in (None, "", [], {}, False):
            continue
        text = str(value).replace("\n", " ")
        parts.append(f"{key}={text if len(text) <= 80 else text[:77] + '…'}")
    return " ".join(parts)


def event_line(seq: int, agent: str, event: Event) -> dict[str, Any]:
    """One event as `agentd events` prints it."""
    return {
        "seq": seq,
        "time": rfc3339(event.time),
        "agent": agent,
        "kind": event.kind,
        "source": event.source,
        "data": dict(event.data),
    }
