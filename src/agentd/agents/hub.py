"""Events on their way to whoever listens: requests that wait, and `agentd events --follow`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from agentd.model import Event


@dataclass(frozen=True)
class Published:
    """An event of one agent, with its number in the store."""

    seq: int
    agent: str
    event: Event


class Hub:
    """Publishing never waits: a listener's channel grows until the listener reads or leaves."""

    def __init__(self) -> None:
        self._listeners: dict[trio.MemorySendChannel[Published], str | None] = {}

    def publish(self, published: Published) -> None:
        for channel, agent in list(self._listeners.items()):
            if agent is None or agent == published.agent:
                channel.send_nowait(published)

    @contextmanager
    def listen(self, agent: str | None = None) -> Iterator[trio.MemoryReceiveChannel[Published]]:
        """Every event from now on, of one agent or of all."""
        send, receive = trio.open_memory_channel[Published](math.inf)
        self._listeners[send] = agent
        try:
            with send, receive:
                yield receive
        finally:
            del self._listeners[send]
