"""The daemon's clock: seconds since the epoch that run with trio's clock.

Deadlines must survive a restart, so they are wall times; but a wall clock that is set while the
daemon runs must neither fire nor delay one, and tests must be able to move it. So the wall is read
once, and trio's clock counts from there. On Linux that clock stands still while a laptop sleeps:
a sleep is no idleness.
"""

from __future__ import annotations

import time

import trio


class Clock:
    """Must be made inside a trio run."""

    def __init__(self, epoch: float | None = None) -> None:
        self._offset = (time.time() if epoch is None else epoch) - trio.current_time()

    def now(self) -> float:
        return trio.current_time() + self._offset

    def to_trio(self, when: float) -> float:
        """The same instant on trio's clock."""
        return when - self._offset
