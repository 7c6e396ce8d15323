"""The agent needs a person: approvals, trust, login; answered by command or in the pane."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentd.testing.daemon import Daemon


@pytest.mark.parametrize(("choice", "reply"), [("approve", "thanks"), ("deny", "denied"), ("2", "denied")])
def test_an_approval_is_answered_by_command(daemon: Daemon, choice: str, reply: str) -> None:
    asked = daemon.run("send", "demo", "@ask May I remove it?\n@say thanks")
    assert (asked.stdout, asked.code) == ("", 3)
    assert "May I remove it?" in asked.stderr
    assert "agentd answer demo-work approve|deny" in asked.stderr
    agent = daemon.agent()
    assert (agent["state"], agent["attention"]) == ("attention", "approval")
    assert agent["dialog"]["answers"] == ["approve", "deny", "1", "2"]
    assert daemon.run("answer", "demo", choice).code == 0
    done = daemon.run("wait", "demo")
    assert (done.stdout, done.code) == (f"{reply}\n", 0)
    assert daemon.prompts() == ["@ask May I remove it?\n@say thanks"]


def test_an_approval_is_answered_in_the_pane(daemon: Daemon) -> None:
    asking = daemon.begin("send", "demo", "@ask May I?\n@say thanks", "--on-attention", "wait")
    daemon.reaches("attention")
    daemon.pane().shows("Do you want to proceed?")
    daemon.pane().keys("1")
    done = asking.finish()
    assert (done.stdout, done.code) == ("thanks\n", 0)
    assert "agentd answer demo" in done.stderr
    assert daemon.agent()["attention"] is None


def test_escape_in_an_approval_interrupts(daemon: Daemon) -> None:
    asking = daemon.begin("send", "demo", "@ask May I?", "--on-attention", "wait", "--json")
    daemon.reaches("attention")
    daemon.pane().shows("Do you want to proceed?")
    daemon.pane().keys("Escape")
    assert asking.finish().json["outcome"] == "interrupted"
    assert daemon.reaches("ready")["attention"] is None


def test_an_interrupt_takes_the_approval_away(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@ask May I?").code == 3
    assert daemon.run("interrupt", "demo").code == 0
    daemon.reaches("ready")
    assert daemon.run("wait", "demo", "--json").json["outcome"] == "interrupted"
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"


def test_a_deadline_runs_on_while_a_person_is_needed(daemon: Daemon) -> None:
    done = daemon.run("send", "demo", "@ask May I?", "--on-attention", "wait", "--deadline", "2s", "--json")
    assert (done.code, done.json["error"]["layer"]) == (4, "workflow")
    daemon.reaches("ready")


def test_wrong_answers(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    none = daemon.run("answer", "demo", "approve", "--json")
    assert (none.code, none.json["error"]["code"]) == (1, "dialog_none")
    assert daemon.run("send", "demo", "@ask May I?\n@say thanks").code == 3
    for choice in ("7", "0", "perhaps"):
        wrong = daemon.run("answer", "demo", choice)
        assert wrong.code == 2 and "approve, deny, 1, 2" in wrong.stderr
    assert daemon.agent()["state"] == "attention"


def test_messages_wait_for_the_dialog_to_go(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@ask May I?\n@say thanks").code == 3
    queued = daemon.run("send", "demo", "--no-wait", "@say next", "--json").json
    assert queued["receipt"] == "queued"
    assert daemon.run("answer", "demo", "approve").code == 0
    daemon.wrote("turn_end", count=2)
    assert daemon.prompts() == ["@ask May I?\n@say thanks", "@say next"]


def test_trust_is_asked_of_a_person(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(demo=("--trust",))
    asked = daemon.run("send", "demo", "@say hi", "--json")
    assert (asked.code, asked.json["outcome"]) == (3, "attention")
    assert "trust" in asked.stderr
    assert (daemon.agent()["attention"], daemon.prompts()) == ("trust", [])
    assert daemon.run("answer", "demo", "approve").code == 0
    assert daemon.run("wait", "demo").stdout == "hi\n"
    assert daemon.prompts() == ["@say hi"]


def test_trust_is_denied(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(demo=("--trust",))
    assert daemon.run("send", "demo", "@say hi").code == 3
    assert daemon.run("answer", "demo", "deny").code == 0
    daemon.reaches("failed")
    done = daemon.run("wait", "demo", "--json")
    assert (done.code, done.json["outcome"], done.json["error"]["code"]) == (1, "failed", "start_failed")
    assert "isn't trusted" in done.json["error"]["message"]
    assert daemon.prompts() == []


def test_the_trust_list_answers(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon('[trust]\nworkspaces = ["~/src/*"]\n', demo=("--trust",))
    trusted, below = daemon.home / "src" / "a", daemon.home / "src" / "a" / "b"
    below.mkdir(parents=True)
    assert daemon.run("send", "demo", "@say hi", cwd=trusted).stdout == "hi\n"
    assert daemon.run("send", "demo", "@say hi", cwd=below).code == 3
    assert daemon.run("send", "demo", "@say hi").code == 3


def test_a_login_says_what_to_do(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(demo=("--login",))
    asked = daemon.run("send", "demo", "@say hi")
    assert asked.code == 3
    assert "log in there" in asked.stderr and "agentd attach demo-work" in asked.stderr
    assert daemon.agent()["dialog"]["fixed"]
    assert daemon.run("answer", "demo", "approve").code == 2
    assert daemon.agent()["state"] == "attention"


def test_an_update_is_never_installed_unasked(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(demo=("--update",))
    assert daemon.run("send", "demo", "@say hi").code == 3
    assert daemon.agent()["attention"] == "update"
    assert daemon.run("answer", "demo", "deny").code == 0
    assert daemon.run("wait", "demo").stdout == "hi\n"


def test_a_changed_config_counts_for_living_agents(open_daemon: Callable[..., Daemon]) -> None:
    """The retention and the trust list of the file as it is now, not as it was when the agent was made."""
    daemon = open_daemon()
    assert daemon.run("send", "demo", "@say hi", "-q").code == 0
    assert daemon.agent()["state"] == "ready"
    daemon.configure('[retention]\nidle = "1s"\n')
    daemon.reaches("retired")
