"""Waiting for facts, not for times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")
PATIENCE = 40.0
"""A loaded machine is slow; a fact that never comes is rare."""


def until(what: str, fact: Callable[[], T | Literal[False] | None], seconds: float = PATIENCE) -> T:
    """The fact's first value that is true. Fails with `what` where none comes in time."""
    end = time.monotonic() + seconds
    while True:
        value = fact()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.03)
