"""Events for those who listen: nothing grows for one who doesn't read, and one who is slow misses nothing."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import trio
import trio.testing

from agentd.agents.hub import KEPT, Hub, Published
from agentd.agents.supervisor import Supervisor
from agentd.api.app import Api
from agentd.model import Event, Kind, Source
from agentd.store import Store


def event(number: int) -> Event:
    return Event(Kind.WARNING, Source.AGENTD, float(number), {"n": number, "text": "x" * 100})


async def test_a_listener_who_does_not_read_costs_no_more_memory() -> None:
    hub = Hub()
    with hub.listen() as idle, hub.listen("a") as mine, hub.listen("b") as others:
        for number in range(KEPT):
            hub.publish(Published(number, "a", event(number)))
        tracemalloc.start()
        for number in range(5000):
            hub.publish(Published(number, "a", event(number)))
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert grown < 100_000
        for channel in (idle, mine):
            assert channel.statistics().current_buffer_used == KEPT
        assert others.statistics().current_buffer_used == 0
        assert (await idle.receive()).seq == 0


async def test_a_slow_reader_of_events_misses_none(tmp_path: Path) -> None:
    store, hub = Store(tmp_path / "agentd.db"), Hub()
    supervisor = SimpleNamespace(services=SimpleNamespace(store=store, hub=hub), owners={})
    nothing: Any = None
    app = Api(cast(Supervisor, supervisor), nothing, nothing, nothing, nothing).app()
    total, seen = 0, list[int]()
    reads = trio.Event()

    def publish(count: int) -> None:
        nonlocal total
        with store.transaction():
            for number in range(total, total + count):
                hub.publish(Published(store.add_event("a", event(number)), "a", event(number)))
        total += count

    async def receive() -> Any:
        await trio.sleep_forever()

    async def send(message: Any) -> None:
        for line in message.get("body", b"").decode().splitlines():
            if line.startswith("data: "):
                seen.append(json.loads(line[6:])["data"]["n"])
                if len(seen) > 20:
                    await reads.wait()

    publish(10)
    scope = {
        "type": "http", "method": "GET", "path": "/v1/events", "query_string": b"follow=1", "headers": [],
    }  # fmt: skip
    async with trio.open_nursery() as nursery:
        nursery.start_soon(app, scope, receive, send)
        await trio.testing.wait_all_tasks_blocked()
        assert len(seen) == 10
        publish(3 * KEPT)
        await trio.testing.wait_all_tasks_blocked()
        assert len(seen) == 21, "it stands still"
        publish(3 * KEPT)
        reads.set()
        await trio.testing.wait_all_tasks_blocked()
        publish(1)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert seen == list(range(total))
    store.close()
