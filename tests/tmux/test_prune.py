"""`agentd prune` with a real daemon: what it leaves, and what is free afterwards."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from agentd.api.client import ApiError
from agentd.testing.daemon import Daemon
from agentd.testing.until import until


def test_a_stopped_agent_is_pruned_and_its_name_is_free(daemon: Daemon) -> None:
    for name in ("one", "two"):
        assert daemon.run("send", "demo", "--name", name, f"@say {name}").code == 0
    assert daemon.run("stop", "one").code == 0
    assert daemon.run("prune").stdout == "nothing to prune\n", "it was in use a moment ago"
    assert daemon.run("prune", "--all", "--dry-run").stdout == "would prune one\n"
    assert daemon.run("prune", "--all").stdout == "pruned one\n"
    assert [agent["name"] for agent in daemon.agents()] == ["two"]
    assert [path.name for path in (daemon.state / "agents").iterdir()] == ["two"]
    assert daemon.run("send", "one", "x").code == 2
    assert '"one"' not in daemon.run("events").stdout
    assert daemon.run("wait", "two").stdout == "two\n"
    elsewhere = daemon.root / "elsewhere"
    elsewhere.mkdir()
    again = daemon.run("send", "demo", "--name", "one", "--cwd", str(elsewhere), "@say anew")
    assert again.stdout == "anew\n"
    assert daemon.prompts("one") == ["@say anew"]


def test_a_pruned_agent_stays_pruned(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    daemon.run("stop", "demo")
    (daemon.state / "agents" / "left-over").mkdir()
    pruned = daemon.run("prune", "--all", "--json").json
    orphan = str(daemon.state / "agents" / "left-over")
    assert pruned == {"agents": ["demo-work"], "folders": [orphan], "dry_run": False}
    daemon.restart()
    assert daemon.agents() == [] and daemon.run("events").stdout == ""
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"
    assert daemon.run("prune", "--all", "--json").json == {"agents": [], "folders": [], "dry_run": False}
    assert daemon.prompts() == ["@say on"]


def test_sending_and_pruning_at_the_same_time_loses_no_prompt(daemon: Daemon) -> None:
    """Whoever comes first: the prompt is answered, by the agent or by its successor of the same name."""
    for number in range(4):
        daemon.client.request("DELETE", "/v1/agents")
        sending = daemon.begin("send", "demo", f"@say {number}", "--json")
        while sending.process.poll() is None:
            daemon.client.request("POST", "/v1/prune", {"older_than_s": 0})
        told = sending.finish().json
        assert (told["outcome"], told["reply"]) == ("completed", str(number)), told
    assert daemon.run("send", "demo", "@say end").stdout == "end\n"


def test_a_wrong_age_is_refused(daemon: Daemon) -> None:
    for age in (-1, "1h", True, [1]):
        with pytest.raises(ApiError, match="number of seconds from zero on") as refused:
            daemon.client.request("POST", "/v1/prune", {"older_than_s": age})
        assert refused.value.status == 400


def test_the_config_says_what_is_old(daemon: Daemon) -> None:
    """The default age is that of the history."""
    assert daemon.run("send", "demo", "@say hi").code == 0
    daemon.run("stop", "demo")
    with closing(sqlite3.connect(daemon.state / "agentd.db")) as db:
        [life] = db.execute("SELECT life FROM agents").fetchone()
    daemon.end()
    memory = json.loads(life)
    for name in ("since", "last_used_at"):
        memory["memory"][name] -= 100 * 3600
    with closing(sqlite3.connect(daemon.state / "agentd.db", isolation_level=None)) as db:
        db.execute("UPDATE agents SET life = ?, created_at = 0", (json.dumps(memory),))
    daemon.start()
    assert daemon.run("prune").stdout == "nothing to prune\n"
    assert daemon.run("prune", "--older-than", "101h").stdout == "nothing to prune\n"
    daemon.configure('[history]\nkeep = "99h"\n')
    until("the config is read", lambda: "config read again" in daemon.log.read_text())
    assert daemon.run("prune", "--dry-run").stdout == "would prune demo-work\n"
    assert daemon.run("prune").stdout == "pruned demo-work\n"
