"""Claude Code against the scripted model: the newest pin, and one old release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentd.testing.conformance import PATIENCE, Bench, Conformance, events
from agentd.testing.daemon import Daemon
from agentd.testing.model import ScriptedModel
from agentd.testing.until import until

from .claude_code import subject


@pytest.mark.xdist_group("claude-code")
class TestClaudeCode(Conformance):
    subject = subject("claude-code")


@pytest.mark.xdist_group("claude-code-2.1.160")
class TestClaudeCode2x1x160(Conformance):
    subject = subject("claude-code-2.1.160")


@pytest.mark.xdist_group("claude-code")
class TestClaudeCodeAlone:
    """What only Claude Code does: each test has a daemon and a home of its own."""

    @pytest.fixture
    def bench(self, request: pytest.FixtureRequest) -> Iterator[Bench]:
        settings = request.node.get_closest_marker("settings")
        what = subject("claude-code")
        with ScriptedModel() as model:
            daemon = Daemon()
            daemon.configure(what.setup(model.url, daemon.root))
            if settings:
                path = daemon.home / ".claude" / "settings.json"
                more = settings.args[0](daemon.root)
                path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
            with daemon:
                yield Bench(what, daemon, model)

    def test_a_turn_waits_for_its_background_agents(self, bench: Bench) -> None:
        agent = {"description": "d", "prompt": "@slow 3 sub done", "subagent_type": "general-purpose"}
        done = bench.send(f"@tool Agent {json.dumps(agent)}\n@say not yet", "--json")
        assert done.code == 0, done
        assert done.json["reply"] != "not yet"
        assert done.json["duration_s"] > 2.5

    @pytest.mark.settings.with_args(lambda root: {"disableAllHooks": True})
    def test_without_hooks_the_transcript_tells_everything(self, bench: Bench) -> None:
        assert bench.say("@say by the transcript alone") == "by the transcript alone"
        assert bench.say("@say and again") == "and again"
        failed = bench.send("@err 400", "--json")
        assert (failed.code, failed.json["outcome"]) == (1, "failed")
        running = bench.streaming("@slow 30 never")
        bench.daemon.run("interrupt", bench.name)
        assert running.finish(PATIENCE).code == 130
        assert not [event for event in events(bench) if event["source"] == "hook"]

    @pytest.mark.settings.with_args(lambda root: {"hooks": {"Stop": [{"hooks": [_again(root)]}]}})
    def test_a_stop_hook_that_goes_on_is_no_end(self, bench: Bench) -> None:
        """The user's own hook sends the CLI back to work once; the answer is the one after that."""
        done = bench.send("@say first draft", "--json")
        assert done.code == 0, done
        assert done.json["reply"] != "first draft"
        stops = [e for e in events(bench) if e["kind"] == "turn_done" and e["source"] == "hook"]
        assert len(stops) == 2

    def test_an_unknown_flag_of_the_users_is_told(self, bench: Bench) -> None:
        config_text = bench.daemon.config.read_text()
        bench.daemon.config.write_text(
            config_text.replace('"--permission-mode", "default"', '"--no-such-flag"')
        )
        until("the config was read", lambda: "config read again" in bench.daemon.log.read_text())
        done = bench.send("@say never", "--json")
        assert (done.code, done.json["outcome"]) == (1, "failed")
        assert "no-such-flag" in done.json["error"]["message"]


def _again(root: Path) -> dict[str, str]:
    """A Stop hook that blocks once: it says "go on" and leaves a mark."""
    mark = root / "went-on"
    script = f'[ -e {mark} ] || {{ touch {mark}; echo "check it once more" >&2; sleep 1; exit 2; }}'
    return {"type": "command", "command": script}
