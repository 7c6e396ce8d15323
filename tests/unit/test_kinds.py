"""Kinds of failure that belong to no module alone: reuse, PATH, what idleness costs, words of limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from agentd.agents import effects as fx
from agentd.agents.launching import CliLauncher
from agentd.agents.life import Life, Records
from agentd.agents.services import LaunchError
from agentd.agents.supervisor import Supervisor, TargetError
from agentd.config import Config
from agentd.contract import Policy
from agentd.environment import Programs, login_path
from agentd.model import Kind, State
from agentd.screen import Screen
from agentd.store import AgentRow
from agentd.testing.terminal import FakeTerminal
from agentd.tmux.terminal import PaneRef
from agentd_claude_code.record import ClaudeReader
from tests.unit.story import Tiny
from tests.unit.test_owner import Cli, StillWatcher, running


def supervisor(cli: Cli) -> Supervisor:
    found = Supervisor({"tiny": Tiny()}, cli.services, cli.folder, Config, Policy, cli.folder)
    found.owners["a"] = cli.owner
    return found


@pytest.mark.parametrize(
    ("wish", "difference"),
    [({"model": "big"}, "the default model, not big"), ({"cwd": "/tmp"}, "directory /, not /tmp")],
)
async def test_a_living_agent_is_not_reused_for_another_wish(
    tmp_path: Path, autojump_clock: MockClock, wish: Mapping[str, str], difference: str
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        with pytest.raises(TargetError, match=f"a has {difference}; start it anew") as refused:
            supervisor(cli).ensure("tiny", name="a", cwd=wish.get("cwd", "/"), model=wish.get("model"))
        assert refused.value.code == "conflict"
        assert supervisor(cli).ensure("tiny", name="a", cwd="/") is cli.owner


async def test_what_helps_against_a_difference_is_what_is_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        found = supervisor(cli)
        found.adapters = {"tiny": Tiny(), "other": Tiny()}
        with pytest.raises(TargetError, match=r"a has provider tiny, not other; use another --name$"):
            found.ensure("other", name="a", cwd="/")
        with pytest.raises(TargetError, match=r"start it anew with --restart, or use another --name$"):
            found.ensure("tiny", name="a", cwd="/", model="big")


async def test_another_model_counts_from_the_next_start_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        life = cli.store.agents()[0].life
        await cli.owner.ask(fx.Stop("a person"))
        assert cli.owner.state == State.STOPPED
        supervisor(cli).ensure("a", cwd=None, model="big")
        [row] = cli.store.agents()
        assert row.model == "big" and row.life["run"] == life["run"], "its life is not written over"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('PATH="$HOME/.local/bin:/login"; export PATH; eval "$2"', "/home/me/.local/bin:/login:/own"),
        ('echo "a greeting"; PATH=/login; eval "$2"', "/login:/own"),
        ("exit 3", "/own"),
    ],
    ids=["a login shell that sets it", "one that talks", "one that fails"],
)
async def test_the_login_shells_path_comes_before_the_services(
    tmp_path: Path, script: str, expected: str
) -> None:
    """launchd and systemd know neither `~/.local/bin` nor what nvm adds."""
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexport HOME=/home/me\n{script}\n")
    shell.chmod(0o755)
    assert await login_path({"SHELL": str(shell), "PATH": "/own"}) == expected
    assert await login_path({"SHELL": "/no/such/shell", "PATH": "/own"}) == "/own"


async def test_an_idle_agent_costs_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        await trio.sleep(60)
        looks, events = cli.terminal.looks, len(cli.store.events("a"))
        await trio.sleep(3000)
        assert (cli.terminal.looks, len(cli.store.events("a"))) == (looks, events)


async def test_a_working_agent_is_looked_at_rarely_and_without_its_history(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as cli:
        await cli.ready()
        asked: list[int] = []
        screen = cli.terminal.screen

        async def remembered(pane: PaneRef, history: int = 0) -> Screen:
            asked.append(history)
            return await screen(pane, history)

        monkeypatch.setattr(cli.terminal, "screen", remembered)
        cli.send("m1")
        await cli.settle()
        cli.pane.show("> ", "*")
        await cli.hook(Kind.PROMPT_TAKEN, text="m1", key="k1")
        await cli.hook(Kind.TOOL_STARTED, tool="Bash", id="1")
        asked.clear()
        await trio.sleep(600)
        assert 0 < len(asked) <= 600 / 5 + 2
        assert set(asked) == {0}


@pytest.mark.parametrize(
    "words", ["You've hit your session limit", "You've reached your usage limit", "5-hour limit reached"]
)
def test_a_limit_is_known_by_its_code_whatever_its_words(words: str) -> None:
    row: dict[str, object] = {
        "hook_event_name": "StopFailure",
        "error": "rate_limit",
        "last_assistant_message": words,
    }
    [event] = ClaudeReader({}).feed("hook", row)
    assert (event.kind, event.get("code"), event.get("error")) == (Kind.TURN_FAILED, "rate_limit", words)
    row = {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}
    [event] = ClaudeReader({}).feed("transcript", row)
    assert event.kind is Kind.TEXT, "what a model says is text"


async def test_a_directory_that_is_gone_is_named(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A conversation belongs to its directory: it isn't taken up anywhere else."""
    programs = Programs(tmp_path / "programs.json", {})
    launcher = CliLauncher(
        {"tiny": Tiny()}, FakeTerminal(), programs, Config, Policy, tmp_path / "agentd.sock"
    )
    life = Life(AgentRow("a", "tag", "tiny", str(tmp_path / "gone"), None, 0.0), tmp_path / "a")
    with pytest.raises(LaunchError, match="gone is no directory any more") as refused:
        await launcher.launch(life, Records(life, Tiny(), StillWatcher(), print), "s1")
    assert refused.value.failure.code == "no_directory"
