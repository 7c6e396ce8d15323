"""The history's bounds: what is older than the config says goes, in steps that are too short to be felt."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from functools import partial

import trio

from agentd.config import History
from agentd.ledger import Unwritable
from agentd.store import Store

log = logging.getLogger(__name__)

EVERY_S = 3600.0
STEP = 50
"""Rows, or the file's pages, at a time. A step takes 1 ms, or 20 where SQLite takes its log into the file."""


async def keep_small(store: Store, bounds: Callable[[], History], now: Callable[[], float]) -> None:
    """Trim the store now and every hour, until cancelled."""
    while True:
        try:
            await trim(store, bounds(), now())
        except (sqlite3.Error, Unwritable) as error:
            # A full disk, say. The agents matter more, and the next time it may work.
            log.warning("the history can't be trimmed: %s", error)
        await trio.sleep(EVERY_S)


async def trim(store: Store, bounds: History, now: float) -> None:
    """Remove what is too old or too much, and give its space back."""
    before = now - bounds.keep_s
    for agent in store.names():
        await step_by_step(partial(store.trim_turns, agent, before, STEP))
    await step_by_step(partial(store.trim_events, before, bounds.events, STEP))
    await step_by_step(partial(store.give_back, STEP))


async def step_by_step(step: Callable[[], int]) -> None:
    """Repeat until nothing is left to do; everybody else has their turn after each step."""
    while step():
        await trio.lowlevel.checkpoint()
