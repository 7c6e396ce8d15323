"""What is watched while a run lasts: the states that `agentd list` shows are true, and the daemon lives."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from agentd.api.client import ClientError
from agentd.model import State
from agentd.testing import processes
from agentd.testing.chaos.world import World

EVERY_S = 0.4
SHOWN_DEAD_S = 20.0
"""How long a dead CLI may be shown as living: a frozen tmux holds the daemon up for ten."""
ANSWER_AFTER_S = 3.0
"""A dialog that nobody answered is answered then, so that a run goes on."""


class Watch:
    """A thread that looks; as a context manager it ends with the run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._dead: dict[tuple[str, int], float] = {}
        self._asking: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch")

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            world = self.world
            if not world.power.acquire(timeout=EVERY_S):
                self._dead.clear()
                continue
            try:
                if not world.down and not world.daemon.runs:
                    world.breaks("the daemon died by itself")
                    self._over.set()
                    return
                agents = world.agents()
            finally:
                world.power.release()
            for agent in agents:
                self._look(agent)

    def _look(self, agent: dict[str, Any]) -> None:
        world, name, state = self.world, agent["name"], agent["state"]
        if state not in list(State):
            world.breaks(f"{name} has the state {state!r}")
        if (agent["attention"] is not None) != (state == "attention"):
            world.breaks(f"{name} is {state}, and needs a person for {agent['attention']}")
        if agent["turn"] and state not in ("working", "attention"):
            world.breaks(f"{name} is {state} with the running turn {agent['turn']}")
        self._lives(name, agent["pid"])
        self._asks(name, state)

    def _lives(self, name: str, pid: int | None) -> None:
        for key in [key for key in self._dead if key[0] == name and key[1] != pid]:
            del self._dead[key]
        if pid is None or processes.alive(pid):
            self._dead.pop((name, pid or 0), None)
            return
        since = self._dead.setdefault((name, pid), time.monotonic())
        if time.monotonic() - since > SHOWN_DEAD_S:
            self.world.breaks(f"{name} is shown with the process {pid}, which is dead")
            self._dead[name, pid] = float("inf")

    def _asks(self, name: str, state: str) -> None:
        if state != "attention":
            self._asking.pop(name, None)
        elif time.monotonic() - self._asking.setdefault(name, time.monotonic()) > ANSWER_AFTER_S:
            del self._asking[name]
            with suppress(ClientError), self.world.trouble("answer", name):
                self.world.daemon.client.request("POST", f"/v1/agents/{name}/answer", {"choice": "approve"})
