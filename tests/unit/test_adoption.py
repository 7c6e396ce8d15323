"""A new daemon takes an agent over in the middle of something: it goes on with just that."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agentd.adapter import LaunchRequest
from agentd.agents.effects import Effect
from agentd.agents.wishes import Wishes
from agentd.model import Kind, Outcome
from tests.unit.house import House
from tests.unit.story import Tiny


async def stand_still(todo: Sequence[Effect]) -> None:
    await trio.sleep_forever()


@pytest.mark.parametrize("moment", ["before the end", "during the end"])
async def test_a_refit_that_was_cut_short_gives_the_prompt_to_no_old_cli(
    house: House, autojump_clock: MockClock, moment: str
) -> None:
    async with house.daemon() as daemon:
        owner = await house.ready_agent(daemon)
        if moment == "before the end":
            owner._run = stand_still  # type: ignore[method-assign]
        with trio.move_on_after(1):  # the CLI has 10 s to leave
            await owner.last(lambda: owner.refit(Wishes(model="big"), "x"))
    assert not house.terminal.panes[0].dead
    async with house.daemon() as daemon:
        owner = house.agent(daemon)
        assert owner.life.row.model == "big"
        house.send(daemon, "m2", "second")
        await trio.sleep(1)
        assert house.starter.resumed == ["s1"], "the old CLI was ended, and its conversation taken up"
        assert "text:second" not in house.terminal.panes[0].typed


class Hidden(Tiny):
    """A CLI whose record is found among the files that it holds open."""

    found: Mapping[str, Path] = {}

    def records(self, open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
        return self.found


async def test_a_record_that_was_not_found_in_time_is_looked_for_again(house: House, tmp_path: Path) -> None:
    """The daemon ends right behind Enter."""
    house.adapter = adapter = Hidden()
    async with house.daemon() as daemon:
        owner = await house.ready_agent(daemon)
        owner.life.search = True
        house.send(daemon, "m2", "second")
        with trio.fail_after(20):
            while house.terminal[owner.name].typed[-2:] != ["text:second", "Enter"]:
                await trio.sleep(0.01)
    record = tmp_path / "record.jsonl"
    rows = [
        {"kind": Kind.PROMPT_TAKEN, "text": "second", "key": "k2"},
        {"kind": Kind.TURN_DONE, "reply": "done", "key": "k2"},
    ]
    record.write_text("".join(json.dumps(row) + "\n" for row in rows))
    adapter.found = {"record": record}
    async with house.daemon():
        with trio.fail_after(20):
            while house.outcome("m2") is None:
                await trio.sleep(0.01)
    assert house.outcome("m2") is Outcome.COMPLETED
    assert house.terminal[owner.name].typed.count("text:second") == 1


class Lodger(Tiny):
    """A CLI that needs files in its workspace. `log` has what was done, in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def prepare(self, request: LaunchRequest) -> None:
        self.log.append("prepare")

    def release(self, agent: str, folder: Path) -> None:
        self.log.append("release")


async def test_the_workspace_is_given_back_before_a_waiting_message_takes_it(
    house: House, autojump_clock: MockClock
) -> None:
    """A daemon was killed between a message's arrival and the start that it needs."""
    house.adapter = lodger = Lodger()
    async with house.daemon() as daemon:
        owner = house.agent(daemon)
        owner._inbox.put = lambda what: None  # type: ignore[method-assign]
        house.send(daemon, "m1", awaited=False)
        await trio.sleep(1)
    assert house.starter.resumed == []
    house.launched = lambda: lodger.log.append("launch")
    async with house.daemon():
        await trio.sleep(1)
    assert lodger.log == ["release", "launch"]
