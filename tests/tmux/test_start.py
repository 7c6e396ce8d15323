"""Starts that are slow, silent, or fail; and the end of an idle agent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentd.testing.daemon import Daemon


def test_a_slow_start_loses_nothing(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(demo=("--slow-start", "2"))
    sending = daemon.begin("send", "demo", "@say one")
    daemon.reaches("starting")
    other = daemon.begin("send", "demo", "@say two")
    assert (sending.finish().stdout, other.finish().stdout) == ("one\n", "two\n")
    assert daemon.prompts() == ["@say one", "@say two"]


SILENT = '[adapters.demo]\nargs = {args}\nreadiness = {{ {rule} = "1s" }}\n'


@pytest.mark.parametrize("rule", ["inactivity", "absolute"])
def test_a_silent_start_names_its_layer(open_daemon: Callable[..., Daemon], rule: str) -> None:
    daemon = open_daemon(SILENT.format(args='["--silent-start"]', rule=rule))
    done = daemon.run("send", "demo", "hello", "--json")
    assert (done.code, done.json["outcome"], done.json["receipt"]) == (4, "timed_out", "rejected")
    error = done.json["error"]
    assert (error["layer"], error["session"], error["timeout_s"]) == ("prompt_readiness", "demo-work", 1.0)
    assert error["message"].startswith("TIMEOUT layer=prompt_readiness tool=- session=demo-work timeout=1s: ")
    assert "screen" in error["message"]
    assert "layer=prompt_readiness" in done.stderr
    assert daemon.agent()["state"] == "failed"


def test_the_screens_last_lines_are_part_of_the_error(open_daemon: Callable[..., Daemon]) -> None:
    # The program is asked for its version and its help before it is started.
    script = "case $1 in --version|--help) echo 1;; *) echo words and no prompt; sleep 1000;; esac"
    command = f'command = ["/bin/sh", "-c", "{script}", "sh"]'
    daemon = open_daemon(f'[adapters.demo]\n{command}\nreadiness = {{ inactivity = "1s" }}\n')
    done = daemon.run("send", "demo", "hello")
    assert done.code == 4
    assert "| words and no prompt" in done.stderr


def test_a_clock_is_no_sign_of_life(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(
        SILENT.format(args='["--silent-start", "--fidget"]', rule="inactivity").replace("1s", "3s")
    )
    done = daemon.run("send", "demo", "hello", "--json", timeout=60)
    assert (done.code, done.json["error"]["layer"]) == (4, "prompt_readiness")


def test_a_clock_keeps_no_turn_and_no_agent_alive(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon('[retention]\nidle = "3s"\n', demo=("--fidget",))
    assert daemon.run("send", "demo", "@say hi").stdout == "hi\n"
    daemon.reaches("retired")


def test_an_idle_agent_is_retired_and_comes_back(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon('[retention]\nidle = "1s"\n')
    assert daemon.run("send", "demo", "@say hi").stdout == "hi\n"
    was = daemon.agent()
    retired = daemon.reaches("retired")
    assert (retired["pid"], retired["tmux"]["pane"]) == (None, None)
    assert daemon.run("send", "demo", "@tool 20\n@say again").stdout == "again\n"
    assert daemon.agent()["session_id"] == was["session_id"]
    assert daemon.prompts() == ["@say hi", "@tool 20\n@say again"]


def test_a_crash_at_the_start_says_why(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(demo=("--crash-at-start", "3"))
    done = daemon.run("send", "demo", "hello", "--json")
    assert (done.code, done.json["outcome"], done.json["receipt"]) == (1, "failed", "rejected")
    message = done.json["error"]["message"]
    # tmux doesn't always learn the status of a dead pane.
    assert "status 3" in message or "status" not in message
    assert "| demo: cannot start: told to crash at start" in message
    assert daemon.agent()["state"] == "failed"
    daemon.run("send", "demo", "--no-wait", "hello")
    waited = daemon.run("wait", "demo", "--json")
    assert (waited.code, waited.json["outcome"], waited.json["error"]["code"]) == (
        1,
        "failed",
        "start_failed",
    )
    daemon.configure(demo=())
    daemon.restart()
    assert daemon.run("send", "demo", "@say well").stdout == "well\n"


def test_a_program_that_is_not_there(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon('[adapters.demo]\ncommand = ["no-such-program"]\n')
    done = daemon.run("send", "demo", "hello")
    assert done.code == 1
    assert "no-such-program" in done.stderr and "[adapters.demo] command" in done.stderr


def test_a_crash_is_told_and_the_next_prompt_takes_the_conversation_up(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    was = daemon.agent()
    done = daemon.run("send", "demo", "@crash 7")
    assert (done.stdout, done.code) == ("", 5)
    assert daemon.agent()["state"] == "lost"
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"
    now = daemon.agent()
    assert now["session_id"] == was["session_id"] and now["pid"] != was["pid"]
    assert daemon.prompts() == ["@say hi", "@crash 7", "@say back"]
