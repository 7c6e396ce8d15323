"""An agent that is to be another one: what is wanted counts from the next start on, or nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agentd.agents.owner import Owner
from agentd.agents.supervisor import Supervisor, TargetError
from agentd.config import Config
from agentd.ledger import Unwritable
from agentd.model import Kind, Mode, State
from agentd.tmux.server import TmuxError, TmuxHangs
from tests.unit.house import House

TRUST = "! Do you trust this folder?"


async def refit(daemon: Supervisor, owner: Owner, **wanted: Any) -> None:
    wishes = {"cwd": None, "name": None, "model": None} | wanted
    await daemon.refit(owner.name, **wishes, by="agentd send --restart")


async def test_the_prompt_goes_to_the_new_one(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        owner = await house.ready_agent(daemon)
        await refit(daemon, owner, model="big")
        [row] = house.store.agents()
        assert (row.model, owner.state) == ("big", State.RETIRED)
        house.send(daemon, "m2")
        await trio.sleep(1)
        assert house.starter.resumed == [None, "s1"]


@pytest.mark.parametrize("trusts_new", [True, False])
async def test_it_is_trusted_where_it_is_now_and_not_where_it_was(
    house: House, tmp_path: Path, autojump_clock: MockClock, trusts_new: bool
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    house.config = Config(trusted=(str(new if trusts_new else old),))
    async with house.daemon() as daemon:
        owner = await house.ready_agent(daemon, cwd=str(old), name="x")
        await daemon.refit("tiny", cwd=str(new), name="x", model=None, by="agentd send --restart")
        daemon.submit(owner, "hi", mode=Mode.QUEUE)
        await trio.sleep(1)
        house.terminal["x"].show(TRUST)
        await trio.sleep(2)
        assert owner.state is (State.STARTING if trusts_new else State.ATTENTION)
        assert bool(house.terminal["x"].typed) is trusts_new


@pytest.mark.parametrize("problem", [TmuxHangs("tmux didn't answer"), TmuxError("tmux: no server")])
async def test_a_terminal_that_refuses_is_no_agent_in_use(
    house: House, autojump_clock: MockClock, problem: TmuxError
) -> None:
    async with house.daemon() as daemon:
        owner = await house.ready_agent(daemon)
        house.terminal.refuse = problem
        with pytest.raises(TmuxError, match=str(problem)):
            await refit(daemon, owner, model="big")
        house.terminal.refuse = None
        assert (owner.life.row.model, owner.state) == (None, State.READY)


async def test_a_disk_that_refuses_changes_nothing(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        owner = await house.ready_agent(daemon)
        house.store._db.execute("PRAGMA query_only = ON")
        house.hook(owner, Kind.TOOL_STARTED, tool="Bash", id="1")
        await trio.sleep(1)
        with pytest.raises(Unwritable, match="was not started anew"):
            await refit(daemon, owner, model="big")
        house.store._db.execute("PRAGMA query_only = OFF")
        assert (owner.life.row.model, house.store.agents()[0].model, owner.state) == (None, None, State.READY)


async def test_what_a_person_began_in_the_pane_is_not_ended(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        owner = await house.ready_agent(daemon)
        # Before a record says so, and where the record says so but was not read yet.
        house.terminal[owner.name].show("> ", "* works")
        with pytest.raises(TargetError, match="in use"):
            await refit(daemon, owner, model="big")
        house.terminal[owner.name].show("> ")
        house.write_hook(owner, Kind.PROMPT_TAKEN, text="typed", key="k2")
        with pytest.raises(TargetError, match="in use"):
            await refit(daemon, owner, model="big")
        assert (owner.life.row.model, owner.state) == (None, State.WORKING)
