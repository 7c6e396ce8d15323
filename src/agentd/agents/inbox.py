"""An owner's inbox: what it is told, and what it is asked by somebody who waits for the reply."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import trio

from agentd.agents import effects as fx
from agentd.agents.dialogs import DialogError


@dataclass(frozen=True)
class Ask:
    """An input whose sender waits until it was handled, effects included."""

    what: fx.Input
    done: trio.Event


@dataclass(frozen=True)
class Answer:
    """A choice for the dialog on the screen."""

    choice: str
    done: Callable[[DialogError | None], None]


@dataclass(frozen=True)
class Last:
    """A deed after which, if it returns True, the agent is no more."""

    deed: Callable[[], Awaitable[bool]]
    done: Callable[[bool], None]


class Inbox:
    """Anybody may put something in; the owner alone takes it out. After `shut` nobody waits in vain."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._in, self._out = trio.open_memory_channel[Any](math.inf)
        self._shut = False

    def put(self, what: Any) -> None:
        self._in.send_nowait(what)
        if self._shut:
            self._turn_away()

    async def take(self) -> Any:
        return await self._out.receive()

    def take_nowait(self) -> Any:
        """Raises trio.WouldBlock where nothing waits."""
        return self._out.receive_nowait()

    def shut(self) -> None:
        """The agent is no more: whoever asked, or asks from now on, is let go."""
        self._shut = True
        self._turn_away()

    async def ask(self, what: fx.Input) -> None:
        """Wait until this input was handled, effects included."""
        done = trio.Event()
        self.put(Ask(what, done))
        await done.wait()

    async def answer(self, choice: str) -> DialogError | None:
        """Wait until the dialog was answered; what kept it from being."""
        problem: DialogError | None = await self._reply(lambda done: Answer(choice, done))
        return problem

    async def last(self, deed: Callable[[], Awaitable[bool]]) -> bool:
        """Wait for the deed; False also where the agent was gone before."""
        gone: bool = await self._reply(lambda done: Last(deed, done))
        return gone

    async def _reply(self, request: Callable[[Callable[[Any], None]], Any]) -> Any:
        done = trio.Event()
        replies: list[Any] = []

        def reply(what: Any) -> None:
            replies.append(what)
            done.set()

        self.put(request(reply))
        await done.wait()
        return replies[0]

    def _turn_away(self) -> None:
        while True:
            try:
                what = self._out.receive_nowait()
            except trio.WouldBlock:
                return
            match what:
                case Ask(done=handled):
                    handled.set()
                case Answer(done=reply):
                    reply(DialogError("none", f"{self._name} was removed"))
                case Last(done=reply):
                    reply(False)
                case _:
                    pass
