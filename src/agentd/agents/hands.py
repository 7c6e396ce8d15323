"""The owner's hands: they run the machine's effects, start the CLI and end it. Only the owner uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from agentd.adapter import Adapter, Keys
from agentd.agents import effects as fx
from agentd.agents.body import Body
from agentd.agents.dialogs import DialogError, answer
from agentd.agents.life import Life
from agentd.agents.machine import Machine
from agentd.agents.services import LaunchError, Services
from agentd.model import Event, Failure, Kind, Source
from agentd.tmux.server import TmuxError, TmuxHangs

LAST_WORDS_S = 0.15
"""Hooks are processes of their own: the last ones of a dead CLI may still be writing."""
DIALOG_SETTLES_S = 0.7
"""A dialog that was just drawn may be drawn anew, with its first line selected: Claude Code does so 0.3 s
later where it has MCP servers to start. A key that meets that is lost, or chooses the wrong line."""
TOOLS_HOLD_S = 1.0
"""How long an interrupted tool's answer is kept from the CLI: it would go on with its turn before it has
read the key."""


class Hands:
    """`handle` gives the machine what came of an effect; `read` hears what the records say by now; `publish`
    tells an event."""

    def __init__(
        self,
        life: Life,
        adapter: Adapter,
        machine: Machine,
        services: Services,
        body: Body,
        handle: Callable[[fx.Input], Awaitable[None]],
        read: Callable[[], Awaitable[None]],
        publish: Callable[[Event], None],
    ) -> None:
        self._life = life
        self._name = life.row.name
        self._adapter = adapter
        self._machine = machine
        self._services = services
        self._body = body
        self._handle = handle
        self._read = read
        self._publish = publish

    async def act(self, effect: fx.Effect) -> None:
        """Run one effect of the machine's."""
        body = self._body
        match effect:
            case fx.StartCli(resume):
                await self._start(resume)
            case fx.EndCli(polite):
                await self._end(polite=polite)
            case _ if self._life.pane is None:
                pass
            case fx.ReadScreen():
                await self._look()
            case fx.Paste(message):
                await self._paste(message)
            case fx.PressEnter():
                await body.press(Keys(("Enter",)))
            case fx.ClearDraft():
                await body.press(self._adapter.clear)
            case fx.PressInterrupt():
                await body.press(self._adapter.interrupt)
                self._interrupt_tools()
            case fx.AnswerDialog(choice):
                await trio.sleep(DIALOG_SETTLES_S)
                await self.answer(choice, lambda _: None)
            case _:
                pass

    def _interrupt_tools(self) -> None:
        """Whatever the CLI does about its key, the work of its tools ends now."""
        turn = self._machine.memory.turn
        by = turn.interruption.by if turn and turn.interruption else "an interruption"
        self._services.calls.cancel(self._name, f"by {by}", hold_s=TOOLS_HOLD_S)

    async def _paste(self, message: str) -> None:
        if problem := self._services.store.problem:
            # A prompt that went in, and of which a next daemon doesn't know that, would go in twice.
            await self._handle(fx.PasteFailed(message, f"the store can't be written ({problem})"))
            return
        stored = self._machine.messages[message]
        text = self._adapter.guard(stored.text, raw=stored.raw)
        try:
            await self._body.paste(text)
        except OSError as error:
            # The file that tmux was to read could not be written.
            await self._handle(fx.PasteFailed(message, str(error)))
            return
        except TmuxHangs:
            raise  # nobody knows whether it went in
        except TmuxError as error:
            await self._handle(fx.PasteFailed(message, str(error)))
            raise
        if wait := self._adapter.capabilities.enter_after_s:
            await trio.sleep(wait)
        await self._body.press(Keys(("Enter",)))
        self._body.search()

    async def _look(self) -> None:
        screen = await self._body.screen()
        seen = fx.Seen(self._adapter.look(screen), screen.digest, screen.tail(), screen.attached)
        await self._handle(seen)

    async def answer(self, choice: str, done: Callable[[DialogError | None], None]) -> None:
        """Answer the dialog on the screen; `done` is told what kept it from being answered, or None."""
        if self._life.pane is None:
            done(DialogError("none", f"{self._name} has no pane"))
            return
        try:
            await answer(choice, look=self._body.look, press=self._body.press)
        except DialogError as error:
            done(error)
            return
        except BaseException:
            done(DialogError("failed", "the dialog could not be answered"))
            raise
        done(None)
        await self._handle(fx.Answered(choice))

    # The CLI's start and end ----------------------------------------------------------------------

    async def _start(self, resume: str | None) -> None:
        await self._drop()
        try:
            session_id = await self._body.start(resume)
        except LaunchError as error:
            await self._handle(fx.StartFailed(error.failure))
        except (TmuxError, OSError) as error:
            await self._handle(fx.StartFailed(Failure("start_failed", str(error), session=self._name)))
        else:
            await self._handle(fx.Started(session_id, self._life.await_bridge))

    async def pane_ended(self, status: int | None) -> None:
        """The CLI is gone: hear its last words first."""
        await trio.sleep(LAST_WORDS_S)
        try:
            await self._read()
        finally:
            tail = await self._body.last_lines()
            await self._drop()
            await self._handle(fx.Gone(status, tail))

    async def _drop(self) -> None:
        """End what is left of the pane and of its tools, and tell what outlived even that."""
        self._life.token = None
        self._services.calls.cancel(self._name, "by agentd, which ended the agent")
        left = await self._body.drop()
        await self._services.calls.gone(self._name)
        if left:
            warning = f"still alive after SIGKILL: {', '.join(left)}"
            self._publish(Event(Kind.WARNING, Source.TMUX, self._services.clock.now(), {"text": warning}))

    async def _end(self, *, polite: bool) -> None:
        if polite:
            await self._body.leave()
        await self._drop()
        await self._over("ended by agentd")

    async def _over(self, what: str) -> None:
        """Whatever keeps its last words from being heard, the machine must know that the CLI is gone."""
        try:
            await self._read()
        finally:
            await self._handle(fx.Gone(None, what=what))

    async def check_pane(self, problem: str) -> None:
        """tmux refused something: is the pane still there?"""
        if self._life.pane and not await self._body.exists():
            await self._drop()
            await self._over(f"the pane is gone ({problem})")
