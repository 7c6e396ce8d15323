"""The daemon's clock: seconds since the epoch, read once from the wall and counted from there.

A wall clock that is set while the daemon runs neither fires nor delays a timer. The count goes on while the
machine sleeps, as retention and a caller's deadline do; trio's clock stands still then (on Linux), as the
other timers do, which the owners see to (`asleep`). A new daemon reads the wall anew: `moved_since` tells by
how much the wall was set in between, as long as the machine has not been booted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import trio

from agentd.processes import boot_id

Anchor = tuple[str, float]
"""Which boot it was, and what the clock is ahead of the machine's own count."""


class Clock:
    """Must be made inside a trio run. `real` counts seconds, also while the machine sleeps."""

    def __init__(self, epoch: float, real: Callable[[], float] = trio.current_time, boot: str = "") -> None:
        self._real = real
        self._ahead = epoch - real()
        self._awake = real() - trio.current_time()
        self._boot = boot

    @classmethod
    def of_this_machine(cls) -> Clock:
        return cls(time.time(), _real, boot_id())

    def now(self) -> float:
        return self._real() + self._ahead

    def to_trio(self, when: float) -> float:
        """The same instant on trio's clock, if the machine doesn't sleep before."""
        return trio.current_time() + when - self.now()

    def asleep(self) -> float:
        """How long the machine has slept since this clock was made."""
        return self._real() - trio.current_time() - self._awake

    @property
    def anchor(self) -> Anchor:
        """What a later clock must know to compare itself."""
        return self._boot, self._ahead

    def moved_since(self, anchor: Anchor) -> float:
        """By how much times of the clock with this anchor are to be moved to mean the same here."""
        boot, ahead = anchor
        return self._ahead - ahead if boot and boot == self._boot else 0.0


def _real() -> float:
    # macOS counts the sleep in its monotonic clock, Linux in a clock of its own.
    return time.clock_gettime(time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC)
