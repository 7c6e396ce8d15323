"""Waiting for what becomes of a message or a turn, and telling its caller on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import trio

from agentd.agents import effects as fx
from agentd.agents.callers import LEFT
from agentd.agents.hub import Published
from agentd.agents.owner import Owner
from agentd.agents.supervisor import Supervisor
from agentd.api.stream import SendEvent
from agentd.api.views import Views
from agentd.model import Failure, Kind, Receipt, State
from agentd.store import Result

ATTENTION_S = 2.0
"""How long a request for a person must stand before a caller is told, where the screen doesn't show it:
a rule or a hook of the user's may answer it at once."""


@dataclass(frozen=True)
class Awaited:
    """What one who waits for an agent waits for: the turn that ran when it came, else the message that was
    the last one in line. A caller who comes back says it again."""

    turn: str | None = None
    message: str | None = None


class Follower:
    """One for all requests: it keeps nothing."""

    def __init__(self, supervisor: Supervisor, views: Views) -> None:
        self._supervisor = supervisor
        self._views = views

    def refused(self, owner: Owner, failure: Failure) -> dict[str, Any]:
        """The result of a message that was not accepted."""
        return {**self._empty(owner), **self._views.failed(failure)}

    async def submitted(
        self, owner: Owner, message: str, channel: trio.MemoryReceiveChannel[Published]
    ) -> dict[str, Any]:
        """Until there is a receipt."""
        store = self._supervisor.services.store
        while True:
            result = store.result(message)
            assert result is not None
            if result.receipt is not Receipt.PENDING or result.outcome:
                break
            await channel.receive()
        shown = self._views.result(owner, result)
        return shown if result.outcome else {**shown, "outcome": "submitted"}

    async def followed(
        self,
        owner: Owner,
        message: str,
        on_attention: str,
        channel: trio.MemoryReceiveChannel[Published],
        send: SendEvent,
    ) -> dict[str, Any]:
        """Until the message has its outcome. A caller who leaves before takes the message back, if it is one
        that a caller waits for."""
        services = self._supervisor.services
        done = left = False
        try:
            with services.callers.waiting(message):
                async with trio.open_nursery() as nursery:

                    async def settle() -> None:
                        await owner.settled(message)
                        nursery.cancel_scope.cancel(reason="the message is settled")

                    nursery.start_soon(settle)
                    about = {"message": message, **self._receipt(message)}
                    left = await self._progress(owner, about, on_attention, channel, send)
                    nursery.cancel_scope.cancel(reason="a person is needed")
            done = True
        finally:
            if not done:
                self._left(owner, message)
        result = services.store.result(message)
        assert result is not None
        shown = self._views.result(owner, result)
        if left and not result.outcome:
            services.store.write(lambda book: book.not_awaited(message))
            return {**shown, **self._views.needed(owner)}
        return shown

    def _left(self, owner: Owner, message: str) -> None:
        services = self._supervisor.services
        if self._supervisor.closing or services.callers.wait_for(message):
            return
        stored = services.store.message(message)
        if stored and stored.awaited:
            owner.tell(fx.Withdraw(message, LEFT))

    def _receipt(self, message: str) -> dict[str, Any]:
        result = self._supervisor.services.store.result(message)
        return {"receipt": result.receipt} if result and result.receipt is not Receipt.PENDING else {}

    async def _progress(
        self,
        owner: Owner,
        about: Mapping[str, Any],
        on_attention: str,
        channel: trio.MemoryReceiveChannel[Published],
        send: SendEvent,
    ) -> bool:
        """Tell what happens; returns True when a person is needed and the caller doesn't wait for one. The
        first word says what it is `about`, so that the caller can come back for it."""
        first = {"text": f"{owner.name} is {owner.state}", "state": owner.state, "agent": owner.name, **about}
        needed = owner.machine.memory.attention
        if needed and needed.answered_at is None and on_attention == "wait":
            first["attention"] = self._views.attention(owner)
        await send("progress", first)
        while True:
            needed = owner.machine.memory.attention
            if needed and needed.answered_at is None and on_attention == "exit":
                age = self._supervisor.services.clock.now() - needed.since
                if needed.seen_on_screen or age >= ATTENTION_S:
                    return True
            published = None
            with trio.move_on_after(ATTENTION_S if needed else math.inf):
                published = await channel.receive()
            if published and (told := self._told(owner, about.get("message"), published)):
                await send("progress", told)

    def _told(self, owner: Owner, message: str | None, published: Published) -> dict[str, Any] | None:
        """An event as one line for a person, or None."""
        event, base = published.event, {"state": owner.state}
        match event.kind:
            case Kind.STATE:
                return {**base, "text": f"{owner.name} is {event.get('state')}: {event.get('why')}"}
            case Kind.MESSAGE if event.get("message") == message and event.get("receipt"):
                return {
                    **base,
                    "text": f"the message is {event.get('receipt')}",
                    "receipt": event.get("receipt"),
                }
            case Kind.ATTENTION:
                attention = self._views.attention(owner)
                how = f" ({attention['how']})" if attention else ""
                return {
                    **base,
                    "text": f"{owner.name} needs a person: {event.get('reason')}{how}",
                    "attention": attention,
                }
            case Kind.TOOL_STARTED:
                return {**base, "text": f"tool {event.get('tool')}"}
            case Kind.WARNING:
                return {**base, "text": str(event.get("text"))}
            case _:
                return None

    async def idle(
        self,
        owner: Owner,
        awaited: Awaited,
        on_attention: str,
        channel: trio.MemoryReceiveChannel[Published],
        send: SendEvent,
    ) -> dict[str, Any]:
        """Until the turn is over, or where there is none until nothing runs or waits: the result of what
        ended last, or why the last message had no turn."""
        services, memory = self._supervisor.services, owner.machine.memory
        if awaited == Awaited():
            awaited = self._current(owner)
        turn = awaited.turn
        left = False
        async with trio.open_nursery() as nursery:

            async def over() -> None:
                with services.hub.listen(owner.name) as own:
                    while self._busy(owner, turn):
                        await own.receive()
                nursery.cancel_scope.cancel(reason="the turn is over")

            nursery.start_soon(over)
            left = await self._progress(owner, {"awaits": vars(awaited)}, on_attention, channel, send)
            nursery.cancel_scope.cancel(reason="a person is needed")
        if not left and not turn:
            last = services.store.result(awaited.message) if awaited.message else None
            if last and last.outcome:
                return self._views.result(owner, last)
            if memory.failure and owner.state is State.FAILED:
                return {**self._empty(owner), **self._views.failed(memory.failure)}
            if newest := self._newest_without_turn(owner):
                return self._views.result(owner, newest)
        shown = self._views.turn_result(owner, turn)
        if left:
            base = shown or self._empty(owner)
            return {**base, "reply": None, "turn": turn, **self._views.needed(owner)}
        return shown or self._empty(owner)

    def _newest_without_turn(self, owner: Owner) -> Result | None:
        """The message that ended last, where no turn was its own or ended after it."""
        store = self._supervisor.services.store
        last, turn = store.last_result(owner.name), store.last_turn(owner.name)
        if last is None or last.turn is not None:
            return None
        later = turn is not None and (turn.ended_at or 0.0) > (last.ended_at or 0.0)
        return None if later else last

    @staticmethod
    def _current(owner: Owner) -> Awaited:
        memory = owner.machine.memory
        if memory.turn:
            return Awaited(turn=memory.turn.id)
        waiting = [*memory.steer_queue, *memory.queue]
        if memory.delivery and not waiting:
            waiting = [memory.delivery.message]
        return Awaited(message=waiting[-1] if waiting else None)

    @staticmethod
    def _busy(owner: Owner, turn: str | None) -> bool:
        memory = owner.machine.memory
        if turn:
            return memory.turn is not None and memory.turn.id == turn
        waits = bool(memory.turn or memory.delivery or memory.queue or memory.steer_queue)
        return waits or memory.state in (State.STARTING, State.ATTENTION)

    def _empty(self, owner: Owner) -> dict[str, Any]:
        """The result of an agent that has had no turn yet."""
        return {
            "agent": owner.name, "provider": owner.life.row.provider, "turn": None, "receipt": None,
            "outcome": "completed", "reply": None, "error": None,
            "session_id": owner.machine.memory.session_id, "started_at": None, "ended_at": None,
            "duration_s": None,
        }  # fmt: skip
