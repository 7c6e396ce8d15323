"""Another model, directory or tool set for an agent that lives: told, or given by --restart."""

from __future__ import annotations

from typing import Any

from agentd.testing.daemon import HOLD, Completed, Daemon
from agentd.testing.until import until


def send(daemon: Daemon, *words: str) -> Completed:
    return daemon.run("send", "demo", "-q", *words)


def sessions(daemon: Daemon) -> list[dict[str, Any]]:
    """Every start of the CLI, as it wrote it down."""
    return [row for row in daemon.record() if row["type"] == "session"]


def refused(done: Completed, what: str) -> None:
    assert done.code == 1, done
    assert what in done.stderr and "--restart" in done.stderr, done


def test_another_model_is_refused_or_given(daemon: Daemon) -> None:
    assert send(daemon, "@say one").stdout == "one\n"
    pid = daemon.agent()["pid"]
    refused(send(daemon, "--model", "tiny", "@say two"), "the default model, not tiny")
    assert (daemon.agent()["pid"], daemon.prompts()) == (pid, ["@say one"]), "nothing was touched"
    done = send(daemon, "--model", "tiny", "--restart", "@say two", "--json")
    assert (done.code, done.json["reply"]) == (0, "two"), done
    agent = daemon.agent()
    assert agent["model"] == "tiny" and agent["pid"] != pid
    first, second = sessions(daemon)
    assert (second["model"], second["source"], second["session_id"]) == (
        "tiny",
        "resume",
        first["session_id"],
    )
    again = send(daemon, "--model", "tiny", "--restart", "@say three")
    assert again.stdout == "three\n" and daemon.agent()["pid"] == agent["pid"], "nothing differs any more"


def test_another_directory_begins_a_new_conversation(daemon: Daemon) -> None:
    other = daemon.root / "other"
    other.mkdir()
    assert send(daemon, "--name", "a", "@say one").code == 0
    there = ("--name", "a", "--cwd", str(other))
    refused(send(daemon, *there, "@say two"), f"directory {daemon.work}, not {other}")
    session = daemon.agent("a")["session_id"]
    assert send(daemon, *there, "--restart", "@bash pwd").stdout.strip() == str(other)
    agent = daemon.agent("a")
    assert agent["cwd"] == str(other) and agent["session_id"] != session
    missing = send(daemon, "--name", "a", "--restart", "--cwd", str(daemon.root / "missing"), "@say three")
    assert missing.code == 2 and daemon.agent("a")["pid"] == agent["pid"]


def test_the_tools_of_a_changed_config(daemon: Daemon) -> None:
    assert send(daemon, "@say one").code == 0
    pid = daemon.agent()["pid"]
    reread = daemon.log.read_text().count("config read again")
    daemon.configure('[bridge]\ntools = ["execute_shell_command"]\n')
    until("the config was read", lambda: daemon.log.read_text().count("config read again") > reread)
    refused(send(daemon, "@say two"), "tools none, not execute_shell_command")
    assert send(daemon, "--restart", "@say two").stdout == "two\n"
    assert daemon.agent()["pid"] != pid
    assert (daemon.state / "agents" / "demo-work" / "bridge-token").exists()
    assert send(daemon, "@say three").stdout == "three\n"


def test_an_agent_in_use_is_not_started_anew(daemon: Daemon) -> None:
    running = daemon.begin("send", "demo", f"{HOLD}\n@say done")
    daemon.reaches("working")
    done = send(daemon, "--model", "tiny", "--restart", "@say never")
    assert done.code == 1 and "in use" in done.stderr, done
    daemon.let_go()
    assert running.finish().stdout == "done\n"
    assert len(sessions(daemon)) == 1


def test_another_provider_is_never_given(daemon: Daemon) -> None:
    assert send(daemon, "--name", "a", "@say one").code == 0
    done = daemon.run("send", "codex", "--name", "a", "--restart", "@say two")
    assert done.code == 1 and "provider demo, not codex" in done.stderr, done
    assert daemon.prompts("a") == ["@say one"]
