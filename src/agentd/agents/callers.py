"""Who waits for which message: a caller who leaves takes its message back.

A caller whose daemon ends has not left: it comes back for its message. So that it was waited for is on
disk with the message, and a new daemon expects the caller within `BACK_S`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

BACK_S = 20.0
"""How long a caller has to come back to a daemon that was restarted. `agentd send` asks every second;
this is for a machine that is busy with its start."""
LEFT = "its caller, who left"
NOT_BACK = "its caller, who left while the daemon was away"


class Callers:
    """One for all agents."""

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Callers who wait for {self._waiting.total()} messages>"

    @contextmanager
    def waiting(self, message: str) -> Iterator[None]:
        """A caller waits for this message."""
        self._waiting[message] += 1
        try:
            yield
        finally:
            self._waiting[message] -= 1
            if not self._waiting[message]:
                del self._waiting[message]

    def wait_for(self, message: str) -> bool:
        """Whether any caller does. Two may for a moment: one that broke off, and the same one again."""
        return message in self._waiting
