"""Events on their way to whoever listens: requests that wait, and `agentd events --follow`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import trio

from agentd.model import Event


@dataclass(frozen=True)
class Published:
    """An event of one agent, with its number in the store."""

    seq: int
    agent: str
    event: Event


KEPT = 1000
"""How many events wait for a listener."""


class Hub:
    """Publishing never waits, and nothing grows for a listener who doesn't read: it gets no more than a
    thousand events then. Whoever must have every one looks them up in the store, where they are by then."""

    def __init__(self) -> None:
        self._listeners: dict[trio.MemorySendChannel[Published], str | None] = {}

    def publish(self, published: Published) -> None:
        for channel, agent in list(self._listeners.items()):
            if agent is None or agent == published.agent:
                with suppress(trio.WouldBlock):
                    channel.send_nowait(published)

    @contextmanager
    def listen(self, agent: str | None = None) -> Iterator[trio.MemoryReceiveChannel[Published]]:
        """Every event from now on, of one agent or of all."""
        send, receive = trio.open_memory_channel[Published](KEPT)
        self._listeners[send] = agent
        try:
            with send, receive:
                yield receive
        finally:
            del self._listeners[send]
