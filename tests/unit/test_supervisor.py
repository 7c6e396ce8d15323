"""The supervisor: a message is one message however often it is sent, and a caller comes back or has left."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from agentd.agents.callers import BACK_S, NOT_BACK
from agentd.agents.life import Life
from agentd.agents.supervisor import TargetError
from agentd.model import Mode, Outcome
from tests.unit.house import House


async def test_a_message_sent_again_is_the_same_message(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        assert house.send(daemon, "m1") == house.send(daemon, "m1") == "m1"
        await trio.sleep(1)
        assert house.agent(daemon).machine.memory.queue == ["m1"]
    async with house.daemon() as daemon:
        assert house.send(daemon, "m1", awaited=False) == "m1"
        await trio.sleep(1)
        assert house.agent(daemon).machine.memory.queue == ["m1"]


async def test_an_id_is_of_one_text_and_one_agent(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        house.send(daemon, "m1")
        with pytest.raises(TargetError, match="another message m1"):
            house.send(daemon, "m1", "something else")
        other = daemon.ensure("tiny", cwd=str(house.folder), name="other")
        sent = house.store.message("m1")
        assert sent and daemon.receiver(sent, "tiny", cwd=str(house.folder), name=None) is house.agent(daemon)
        for target, name in (("other", None), ("tiny", "other"), ("tiny", "nobody"), ("nobody", None)):
            with pytest.raises(TargetError, match=f"was sent to {house.agent(daemon).name}"):
                daemon.receiver(sent, target, cwd=str(house.folder), name=name)
        with pytest.raises(TargetError, match="another message m1"):
            daemon.submit(other, "hi", id="m1", mode=Mode.QUEUE)
        assert house.send(daemon, "m1") == "m1"
        await trio.sleep(1)
        assert [*other.machine.messages] == []


async def test_who_does_not_come_back_in_time_has_left(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        for id in ("dead", "alive"):
            house.send(daemon, id)
        house.send(daemon, "nobody waits", awaited=False)
        await trio.sleep(1)
    async with house.daemon() as daemon:
        with daemon.services.callers.waiting("alive"):
            house.send(daemon, "new")
            await trio.sleep(BACK_S - 0.1)
            assert house.outcome("dead") is None
            await trio.sleep(0.2)
            result = house.store.result("dead")
            assert result and result.error
            assert (result.outcome, result.error.message) == (Outcome.INTERRUPTED, f"cancelled by {NOT_BACK}")
            open_ones = ["alive", "nobody waits", "new"]
            assert [house.outcome(id) for id in open_ones] == [None] * 3
            assert house.agent(daemon).machine.memory.queue == open_ones
            await trio.sleep(2 * BACK_S)
            assert house.agent(daemon).machine.memory.queue == open_ones, "a caller is expected once"


async def test_every_daemon_expects_the_callers_anew(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        house.send(daemon, "m1")
        await trio.sleep(1)
    for _ in range(3):
        async with house.daemon():
            await trio.sleep(BACK_S - 1)
            assert house.outcome("m1") is None
    async with house.daemon():
        await trio.sleep(BACK_S + 1)
        assert house.outcome("m1") is Outcome.INTERRUPTED


async def test_a_daemon_that_goes_away_takes_nothing_back(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        house.send(daemon, "m1")
        await trio.sleep(1)
    async with house.daemon() as daemon:
        daemon.closing = True
        await trio.sleep(BACK_S + 1)
        assert house.outcome("m1") is None


async def test_an_agent_keeps_its_name_for_its_own_from_the_first_moment(
    house: House, autojump_clock: MockClock
) -> None:
    """A daemon that is killed between the agent's making and its first message: a named agent isn't taken
    for its provider's agent of the directory."""
    async with house.daemon() as daemon:
        daemon.ensure("tiny", cwd=str(house.folder), name="x")
        [row] = house.store.agents()
        assert not Life.load(row, house.folder / "x").default


async def test_another_model_leaves_the_life_as_it_is(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        owner = house.agent(daemon)
        owner.machine.memory.session_id = "s1"
        house.store.write(owner.life.save)
        daemon.ensure("tiny", cwd=str(house.folder), model="big")
        [row] = house.store.agents()
        assert (row.model, row.life["memory"]["session_id"]) == ("big", "s1")


async def test_two_callers_of_one_message(house: House, autojump_clock: MockClock) -> None:
    async with house.daemon() as daemon:
        callers = daemon.services.callers
        with callers.waiting("m1"):
            with callers.waiting("m1"):
                assert repr(callers) == "<Callers who wait for 2 messages>"
            assert callers.wait_for("m1")
        assert not callers.wait_for("m1")
