"""Agents that no longer serve are removed; nothing that lives, waits or is wanted is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agentd.agents import effects as fx
from agentd.agents.calls import Running
from agentd.agents.dialogs import DialogError
from agentd.agents.owner import Owner
from agentd.agents.pruning import REMOVED, Pruner
from agentd.model import Event, Kind, Message, Outcome, Source, State
from agentd.store import AgentRow
from tests.unit.test_owner import Cli, running


def pruner(cli: Cli) -> tuple[Pruner, dict[str, Owner]]:
    owners = {"a": cli.owner}
    return Pruner(owners, cli.services, cli.folder), owners


async def stopped(cli: Cli) -> float:
    """An agent that had its turns and was stopped; the time of that."""
    await cli.ready()
    for number in range(3):
        cli.send(f"m{number}")
        await cli.settle()
        await cli.turn(f"m{number}", "done")
    await cli.owner.ask(fx.Stop("a test"))
    assert cli.owner.state is State.STOPPED
    return cli.services.clock.now()


def rows(cli: Cli) -> int:
    tables = ("agents", "messages", "turns", "events")
    return sum(
        cli.store._db.execute(f"SELECT count(*) FROM {table} WHERE {key} = 'a'").fetchone()[0]
        for table, key in zip(tables, ("name", "agent", "agent", "agent"), strict=True)
    )


async def test_it_goes_with_everything_that_is_its_own(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        now = await stopped(cli)
        folder = cli.owner.life.folder
        (folder / "tools").mkdir()
        (folder / "tools" / "x.out").write_text("output")
        cli.store.add_event("b", Event(Kind.WARNING, Source.AGENTD, 1.0))
        prune, owners = pruner(cli)
        assert (await prune.prune(now - 1)).agents == [], "it was in use since"
        assert (await prune.prune(now, dry_run=True)).agents == ["a"]
        assert rows(cli) > 10 and owners and folder.exists()
        pruned = await prune.prune(now)
        assert (pruned.agents, pruned.folders) == (["a"], [])
        assert rows(cli) == 0 and owners == {} and not folder.exists()
        assert [agent for _, agent, _ in cli.store.events(None)] == ["b"]
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "store.db",
            "store.db-shm",
            "store.db-wal",
        ]
        assert (await prune.prune(now)).agents == []


async def test_its_name_can_be_used_anew(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        now = await stopped(cli)
        await pruner(cli)[0].prune(now)
        cli.store.save_agent(AgentRow("a", "other tag", "tiny", "/", None, now))
        cli.row = cli.store.agents()[0]
        cli.owner = cli.own()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cli.owner.run)
            await cli.ready()
            last = cli.store.last_turn("a")
            assert last and last.message == "first"
            assert rows(cli) > 3
            nursery.cancel_scope.cancel()


Wish = Callable[[Cli], None]


def pane(cli: Cli) -> None:
    cli.owner.life.pane = cli.pane.ref


def message(cli: Cli) -> None:
    cli.store.add_message(Message("open", "a", "text"))


def call(cli: Cli) -> None:
    cli.services.calls._running.add(Running("c1", "a", "tool"))


def ending(cli: Cli) -> None:
    cli.owner.machine.memory.ending_since = 1.0


@pytest.mark.parametrize("what", [pane, message, call, ending])
async def test_what_is_wanted_still_stays(tmp_path: Path, autojump_clock: MockClock, what: Wish) -> None:
    async with running(tmp_path) as cli:
        now = await stopped(cli)
        what(cli)
        prune, owners = pruner(cli)
        assert (await prune.prune(now + 1000)).agents == []
        assert owners and cli.owner.life.folder.exists() and not cli.owner.gone
        cli.owner.life.pane = None


@pytest.mark.parametrize("state", State)
async def test_only_what_rests_is_removed(tmp_path: Path, autojump_clock: MockClock, state: State) -> None:
    async with running(tmp_path) as cli:
        now = await stopped(cli)
        cli.owner.machine.memory.state = state
        rests = state in (State.STOPPED, State.FAILED, State.LOST, State.RETIRED)
        assert (await pruner(cli)[0].prune(now)).agents == (["a"] if rests else [])


async def test_a_prompt_that_comes_first_keeps_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        now = await stopped(cli)
        prune, owners = pruner(cli)
        async with trio.open_nursery() as nursery:

            async def at_once() -> None:
                assert (await prune.prune(now)).agents == []

            nursery.start_soon(at_once)
            cli.send("late")
        await cli.settle()
        assert owners == {"a": cli.owner} and cli.owner.state is State.STARTING


async def test_a_prompt_in_the_middle_keeps_it_and_its_last_result(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as cli:
        now = await stopped(cli)
        trim, steps = cli.store.trim_turns, list[int]()

        def trimmed(agent: str, before: float, limit: int) -> int:
            steps.append(trim(agent, before, 1))
            if len(steps) == 2:
                cli.send("late")
            return steps[-1]

        monkeypatch.setattr(cli.store, "trim_turns", trimmed)
        prune, owners = pruner(cli)
        assert (await prune.prune(now)).agents == []
        assert len(steps) == 2 and owners
        await cli.settle()
        assert cli.owner.state is State.STARTING
        last = cli.store.last_turn("a")
        assert last and last.message == "m2" and last.outcome is Outcome.COMPLETED
        assert cli.owner.life.folder.exists()


async def test_nobody_waits_for_an_agent_that_is_no_more(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        now = await stopped(cli)
        said: list[str] = []

        async def stop() -> None:
            await cli.owner.ask(fx.Stop("another"))
            said.append("stopped")

        async def answer() -> None:
            with pytest.raises(DialogError, match=r"no pane|removed"):
                await cli.owner.answer("1")
            said.append("answered")

        prune, _ = pruner(cli)
        async with trio.open_nursery() as nursery:
            for task in (stop, answer):
                nursery.start_soon(task)
            await prune.prune(now + 5)
            for task in (stop, answer):
                nursery.start_soon(task)
        assert cli.owner.gone
        assert not await cli.owner.last(trio.sleep_forever)
        assert sorted(said) == ["answered", "answered", "stopped", "stopped"]
        cli.owner.tell(fx.Tick())
        assert not cli.watcher.woken, "its files are watched no more"


async def test_folders_of_no_agent_go_and_files_stay(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        elsewhere = tmp_path.parent / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "mine").write_text("x")
        (tmp_path / "link").symlink_to(elsewhere)
        for name in ("old", "older/tools", f"{REMOVED}half"):
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / "ledger.json").write_text("{}")
        prune, _ = pruner(cli)
        for dry_run in (True, False):
            pruned = await prune.prune(0.0, dry_run=dry_run)
            assert (pruned.agents, pruned.folders) == ([], [tmp_path / "old", tmp_path / "older"])
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"a", "ledger.json", "link", "store.db", "store.db-shm", "store.db-wal"}
        assert (elsewhere / "mine").exists()


async def test_an_agent_whose_adapter_is_gone(tmp_path: Path, autojump_clock: MockClock) -> None:
    def life(**more: Any) -> dict[str, Any]:
        return {"memory": {"state": "stopped"}} | more

    async with running(tmp_path) as cli:
        await cli.ready()
        pane = json.loads(json.dumps(cli.owner.life.to_json()))["pane"]
        cli.store.save_agent(AgentRow("b", "1", "gone", "/", None, 1.0, life()))
        cli.store.save_agent(AgentRow("c", "1", "gone", "/", None, 1.0, life(pane=pane)))
        (tmp_path / "b").mkdir()
        pruned = await pruner(cli)[0].prune(cli.services.clock.now())
        assert pruned.agents == ["b"] and not (tmp_path / "b").exists()
        assert cli.store.names() == ["a", "c"]
