"""The routes: each one a thin translation between HTTP and the supervisor."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentd import __version__
from agentd.adapter import Adapter
from agentd.agents import effects as fx
from agentd.agents.hands import TOOLS_HOLD_S
from agentd.agents.owner import Owner
from agentd.agents.supervisor import Supervisor
from agentd.api import asked
from agentd.api.following import Awaited, Follower
from agentd.api.refusals import HANDLERS, Refused
from agentd.api.stream import CancelOnDisconnect, EventStream, SendEvent, wants_events
from agentd.api.views import Views, event_line
from agentd.contract import Policy
from agentd.contract.policy import NativeSetting
from agentd.ledger import Unwritable
from agentd.model import Failure, Mode
from agentd.screen import Dialog
from agentd.tmux.sanitise import sanitise
from agentd.tmux.server import TmuxError

_ID = re.compile(r"[A-Za-z0-9_-]{16,64}\Z")


class Api:
    """What the routes need."""

    def __init__(
        self,
        supervisor: Supervisor,
        views: Views,
        health: Callable[[], Mapping[str, Any]],
        policy: Callable[[], Policy],
        describe: Callable[[Adapter], Awaitable[Mapping[str, Any]]],
        more: Sequence[Route] = (),
    ) -> None:
        self._supervisor = supervisor
        self._views = views
        self._follower = Follower(supervisor, views)
        self._health = health
        self._policy = policy
        self._describe = describe
        self._more = more

    def app(self) -> Starlette:
        one = "/v1/agents/{target}"
        routes = [
            Route("/v1/health", self.health),
            Route("/v1/timeouts", self.timeouts),
            Route("/v1/adapters", self.adapters),
            Route("/v1/events", self.events),
            Route("/v1/agents", self.list_agents, methods=["GET"]),
            Route("/v1/agents", self.create, methods=["POST"]),
            Route("/v1/agents", self.stop_all, methods=["DELETE"]),
            Route("/v1/prune", self.prune, methods=["POST"]),
            Route(one, self.show, methods=["GET"]),
            Route(one, self.stop, methods=["DELETE"]),
            Route(f"{one}/messages", self.messages, methods=["POST"]),
            Route(f"{one}/messages/{{message}}", self.message, methods=["GET"]),
            Route(f"{one}/wait", self.wait, methods=["GET"]),
            Route(f"{one}/interrupt", self.interrupt, methods=["POST"]),
            Route(f"{one}/answer", self.answer, methods=["POST"]),
            Route(f"{one}/explain", self.explain, methods=["GET"]),
            *self._more,
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(CancelOnDisconnect)],
            exception_handlers=HANDLERS,
        )

    # The daemon -----------------------------------------------------------------------------------

    async def health(self, request: Request) -> Response:
        return JSONResponse(
            {
                "status": "ok",
                "version": __version__,
                "pid": os.getpid(),
                "agents": len(self._supervisor.owners),
                **self._health(),
            }
        )

    async def timeouts(self, request: Request) -> Response:
        natives: dict[str, NativeSetting | None] = {}
        for name, adapter in self._supervisor.adapters.items():
            native = (await self._describe(adapter))["mcp_timeout"]
            natives[name] = NativeSetting(native["setting"], native["unit"]) if native else None
        entries = self._policy().matrix(natives)
        return JSONResponse({"layers": [vars(entry) for entry in entries]})

    async def adapters(self, request: Request) -> Response:
        found = [await self._describe(adapter) for adapter in self._supervisor.adapters.values()]
        return JSONResponse({"adapters": found})

    async def events(self, request: Request) -> Response:
        target = request.query_params.get("agent")
        agent = self._owner(request, target).name if target else None
        follow = request.query_params.get("follow") in ("1", "true")
        store = self._supervisor.services.store
        after = asked.last_event(request)
        if after is not None:
            # More than there are: the last ones went with a daemon whose disk was full to its end.
            after = min(after, store.last_event())

        async def produce(send: SendEvent) -> None:
            with self._supervisor.services.hub.listen(agent) as channel:
                last = after or 0
                if after is None:
                    for seq, name, event in store.events(agent):
                        last = seq
                        await send("event", event_line(seq, name, event), id=seq)
                while after is not None or follow:
                    # A reader that is slow misses nothing: what didn't wait for it is in the store.
                    while news := store.events_after(last, agent):
                        for seq, name, event in news:
                            last = seq
                            await send("event", event_line(seq, name, event), id=seq)
                    if not follow:
                        return
                    await channel.receive()

        return EventStream(produce)

    # Agents ---------------------------------------------------------------------------------------

    async def list_agents(self, request: Request) -> Response:
        owners = sorted(self._supervisor.owners.values(), key=lambda o: o.name)
        return JSONResponse([self._views.agent(owner) for owner in owners])

    async def create(self, request: Request) -> Response:
        body = await asked.json_object(request)
        target = asked.text(body, "provider") or ""
        owner = self._supervisor.ensure(
            target,
            cwd=asked.text(body, "cwd"),
            name=asked.text(body, "name"),
            model=asked.text(body, "model"),
        )
        return JSONResponse(self._views.agent(owner), 201)

    async def show(self, request: Request) -> Response:
        owner = self._owner(request)
        return JSONResponse(self._views.show(owner, await self._dialog(owner)))

    async def stop(self, request: Request) -> Response:
        owner = self._supervisor.find(asked.target(request), request.query_params.get("cwd"))
        stopped = [owner.name] if owner and await self._supervisor.stop(owner, "agentd stop") else []
        return JSONResponse({"stopped": stopped})

    async def stop_all(self, request: Request) -> Response:
        return JSONResponse({"stopped": await self._supervisor.stop_all("agentd stop --all")})

    async def prune(self, request: Request) -> Response:
        body = await asked.json_object(request)
        age = body.get("older_than_s")
        if age is not None and not (
            isinstance(age, int | float) and not isinstance(age, bool) and math.isfinite(age) and age >= 0
        ):
            raise Refused(400, "usage", "`older_than_s` must be a number of seconds from zero on")
        dry_run = body.get("dry_run") is True
        pruned = await self._supervisor.prune(age, dry_run=dry_run)
        return JSONResponse(
            {"agents": pruned.agents, "folders": list(map(str, pruned.folders)), "dry_run": dry_run}
        )

    async def interrupt(self, request: Request) -> Response:
        body = await asked.json_object(request)
        owner = self._owner(request, cwd=asked.text(body, "cwd"))
        memory, calls = owner.machine.memory, self._supervisor.services.calls
        turn = memory.turn.id if memory.turn else None
        running = bool(memory.turn or memory.delivery)
        # Its tools end whatever becomes of a turn: there may be none, it may be asked to end already.
        by, hold_s = "by agentd interrupt", TOOLS_HOLD_S if running else 0.0
        ended = calls.cancel(owner.name, by, hold_s=hold_s)
        if running:
            await owner.ask(fx.Interrupt("agentd interrupt"))
            ended += calls.cancel(owner.name, by, hold_s=hold_s)
        await calls.gone(owner.name)
        running = running or bool(ended)
        return JSONResponse({"agent": owner.name, "interrupted": running, "turn": turn})

    async def answer(self, request: Request) -> Response:
        body = await asked.json_object(request)
        owner = self._owner(request, cwd=asked.text(body, "cwd"))
        choice = asked.text(body, "choice")
        if not choice:
            raise Refused(400, "usage", "`choice` is missing: approve, deny, or an option's number")
        await owner.answer(choice)
        return JSONResponse({"agent": owner.name, "answered": choice, "state": owner.state})

    async def explain(self, request: Request) -> Response:
        owner = self._owner(request)
        screen = None
        if owner.life.pane:
            try:
                screen = (await self._supervisor.services.terminal.screen(owner.life.pane)).tail(15)
            except TmuxError as error:
                screen = f"(the pane can't be read: {error})"
        events = self._supervisor.services.store.events(owner.name, 12)
        return JSONResponse(self._views.explain(owner, screen, events))

    # Messages -------------------------------------------------------------------------------------

    async def messages(self, request: Request) -> Response:
        body = await asked.json_object(request)
        text = sanitise(asked.text(body, "text") or "")
        if not text.strip():
            raise Refused(
                400, "usage", "the prompt is empty, or nothing is left of it without control characters"
            )
        mode = asked.choice(body, "mode", [m.value for m in Mode], Mode.QUEUE.value)
        on_attention = asked.choice(body, "on_attention", ["wait", "exit"], "wait")
        deadline = body.get("deadline_s")
        if deadline is not None and not (
            isinstance(deadline, int | float) and math.isfinite(deadline) and deadline > 0
        ):
            raise Refused(400, "usage", "`deadline_s` must be a number of seconds above zero")
        id = asked.text(body, "id")
        if id is not None and not _ID.match(id):
            raise Refused(400, "usage", "`id` must be 16 to 64 letters, digits, `_` or `-`")
        target, cwd, name, model = (
            asked.target(request),
            *(asked.text(body, key) for key in ("cwd", "name", "model")),
        )
        known = self._supervisor.services.store.message(id) if id else None
        if known:
            # It was sent before: what its agent is by now is no question any more.
            wanted = partial(self._supervisor.receiver, known, target, cwd=cwd, name=name)
        else:
            who: dict[str, Any] = {"cwd": cwd, "name": name, "model": model}
            if body.get("restart") is True:
                await self._supervisor.refit(target, **who, by="agentd send --restart")
            # What is said into a running turn is said to the CLI as it is.
            wanted = partial(self._supervisor.ensure, target, **who, tools=mode != Mode.STEER)
        awaited = body.get("wait") is not False
        submit = partial(
            self._supervisor.submit,
            text=text,
            id=id,
            mode=Mode(mode),
            raw=body.get("raw") is True,
            deadline_s=deadline,
            awaited=awaited,
        )

        async def work(send: SendEvent) -> dict[str, Any]:
            owner = wanted()  # anew: an agent may have been pruned in between
            with self._supervisor.services.hub.listen(owner.name) as channel:
                try:
                    message = submit(owner)
                except Unwritable as error:
                    return self._follower.refused(
                        owner, Failure("store_unwritable", str(error), session=owner.name)
                    )
                if not awaited:
                    return await self._follower.submitted(owner, message, channel)
                return await self._follower.followed(owner, message, on_attention, channel, send)

        owner = wanted()  # what can't be met is refused before an answer begins
        if known:
            submit(owner)  # likewise: the id may be another message's
        return await self._reply(request, work)

    async def message(self, request: Request) -> Response:
        """A caller comes back for the message that it sent."""
        owner, id = self._owner(request), str(request.path_params["message"])
        on_attention = request.query_params.get("on_attention") or "wait"
        self._known_message(owner, id)

        async def work(send: SendEvent) -> dict[str, Any]:
            with self._supervisor.services.hub.listen(owner.name) as channel:
                return await self._follower.followed(owner, id, on_attention, channel, send)

        return await self._reply(request, work)

    async def wait(self, request: Request) -> Response:
        owner = self._owner(request)
        query = request.query_params
        on_attention = query.get("on_attention") or "wait"
        awaited = Awaited(query.get("turn"), query.get("message"))
        if awaited.message:
            self._known_message(owner, awaited.message)
        if awaited.turn:
            turn = self._supervisor.services.store.turn(awaited.turn)
            if turn is None or turn.agent != owner.name:
                raise Refused(404, "unknown_turn", f"{owner.name} has had no turn {awaited.turn}")

        async def work(send: SendEvent) -> dict[str, Any]:
            with self._supervisor.services.hub.listen(owner.name) as channel:
                return await self._follower.idle(owner, awaited, on_attention, channel, send)

        return await self._reply(request, work)

    async def _reply(
        self, request: Request, work: Callable[[SendEvent], Awaitable[dict[str, Any]]]
    ) -> Response:
        """The result alone, or with its progress where the client takes events."""
        if not wants_events(request):

            async def silent(name: str, data: Any, *, id: int | None = None) -> None:
                pass

            return JSONResponse(await work(silent))

        async def produce(send: SendEvent) -> None:
            await send("result", await work(send))

        return EventStream(produce)

    # Helpers --------------------------------------------------------------------------------------

    def _owner(self, request: Request, target: str | None = None, cwd: str | None = None) -> Owner:
        wanted = target or asked.target(request)
        owner = self._supervisor.find(wanted, cwd or request.query_params.get("cwd"))
        if owner is None:
            known = ", ".join(sorted(self._supervisor.owners)) or "none yet"
            raise Refused(404, "unknown", f"there is no agent {wanted!r} here; agents: {known}")
        return owner

    def _known_message(self, owner: Owner, id: str) -> None:
        message = self._supervisor.services.store.message(id)
        if message is None or message.agent != owner.name:
            raise Refused(404, "unknown_message", f"{owner.name} was sent no message {id}")

    async def _dialog(self, owner: Owner) -> Dialog | None:
        if owner.life.pane is None or owner.machine.memory.attention is None:
            return None
        try:
            return owner.adapter.look(await self._supervisor.services.terminal.screen(owner.life.pane)).dialog
        except TmuxError:
            return None
