"""Following what outlives the daemon: a turn, a message, the events of all agents.

A daemon that is restarted, upgraded or killed closes its connections without an answer. Who follows waits
for it and asks again; what it says no to is never asked again. That nothing is done twice is the part of
the question: see `Ask`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from agentd.api.client import ApiError, Client, ClientError, Garbled, Gone, NoDaemon, Query

PATIENCE_S = 60.0
"""How long the daemon may be away. A restart takes a second or two, an upgrade may take some more."""
STEADY_S = 10.0
"""A daemon that answered for so long was back: the patience with it begins anew."""
FIRST_PAUSE_S, LONGEST_PAUSE_S, GROWTH = 0.1, 1.0, 1.5


class Away(Gone):
    """The daemon went away and has not come back in time."""


class Forgotten(ClientError):
    """The daemon that answers now doesn't know what an earlier one was asked."""


class Ask(NamedTuple):
    """One question whose answer is a stream of events. It must be safe to ask it twice.

    `resumes`: it is about something that the daemon was heard to have.
    """

    method: str
    path: str
    body: Any = None
    query: Query | None = None
    headers: Mapping[str, str] | None = None
    resumes: bool = False


class Line:
    """A line to the daemon that is connected again when it breaks.

    Args:
        notice: is told once each time that the daemon is away.
        sleep, clock: for the tests.
    """

    patience_s = PATIENCE_S

    def __init__(
        self,
        client: Client,
        notice: Callable[[str], None],
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.away = False
        """The daemon was there, and is not at the moment."""
        self._client = client
        self._notice = notice
        self._sleep = sleep
        self._clock = clock

    def __repr__(self) -> str:
        return f"<Line to {self._client.path}: {'away' if self.away else 'there'}>"

    def events(
        self, ask: Callable[[], Ask], last: Collection[str] = ()
    ) -> Generator[tuple[str, Any], None, None]:
        """The events, up to one that is named in `last`. `ask` is called for each connection.

        Raises:
            NoDaemon: nobody listened when it was asked first.
            Away: the daemon went away, and its caller's patience is over.
            Forgotten: it came back, and doesn't know what is asked for.
            ApiError: it refused.
            Garbled: what listens there is no agentd.
        """
        lost_at: float | None = None
        pause = FIRST_PAUSE_S
        while True:
            opened = self._clock()
            question = ask()
            try:
                with closing(self._open(question)) as events:
                    for name, data in events:
                        self.away = False
                        yield name, data
                        if name in last:
                            return
                raise Gone("the daemon ended its answer before the end")
            except Garbled:
                raise
            except NoDaemon as error:
                if lost_at is None:
                    raise
                problem: ClientError = error
            except Gone as error:
                problem = error
            except ApiError as error:
                if question.resumes and error.status == 404:
                    raise Forgotten(
                        f"the daemon that answers now doesn't know what was asked for ({error}): it is "
                        "another release, or keeps its state elsewhere; what became of it is not known"
                    ) from error
                raise
            now = self._clock()
            if lost_at is None or (not isinstance(problem, NoDaemon) and now - opened >= STEADY_S):
                lost_at, pause = now, FIRST_PAUSE_S
            if now - lost_at + pause > self.patience_s:
                what = f"the daemon went away and did not come back within {self.patience_s:g} s"
                raise Away(f"{what} ({problem})")
            if not self.away:
                self.away = True
                self._notice("the daemon is away; waiting for it")
            self._sleep(pause)
            pause = min(LONGEST_PAUSE_S, pause * GROWTH)

    def _open(self, ask: Ask) -> Generator[tuple[str, Any], None, None]:
        return self._client.stream(ask.method, ask.path, ask.body, ask.query, ask.headers)
