"""`agentd send`: the reply alone, the same pane again, the public JSON, and any text byte for byte."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from agentd.testing.daemon import Daemon
from agentd.testing.until import until
from agentd.tmux.sanitise import sanitise

KEYS = {
    "agent", "provider", "turn", "receipt", "outcome", "reply", "error",
    "session_id", "started_at", "ended_at", "duration_s",
}  # fmt: skip
ERROR_KEYS = {"layer", "code", "message", "tool", "session", "timeout_s"}


def hello(text: str) -> str:
    """What the demo agent answers."""
    return f"Hello from the demo agent! You said: {text} ({len(text)} characters)"


def test_the_first_send_starts_the_agent_and_the_second_uses_its_pane(daemon: Daemon) -> None:
    assert daemon.agents() == []
    first = daemon.run("send", "demo", "hello there")
    assert (first.stdout, first.code) == (hello("hello there") + "\n", 0)
    was = daemon.agent()
    second = daemon.run("send", "demo", "and again")
    assert (second.stdout, second.code) == (hello("and again") + "\n", 0)
    now = daemon.agent()
    assert (now["pid"], now["tmux"], now["session_id"]) == (was["pid"], was["tmux"], was["session_id"])
    assert daemon.prompts() == ["hello there", "and again"]


def test_the_public_json_of_a_success(daemon: Daemon) -> None:
    done = daemon.run("send", "demo", "hello", "--json")
    told = done.json
    assert set(told) == KEYS
    assert (told["agent"], told["provider"], told["receipt"]) == ("demo-work", "demo", "accepted")
    assert (told["outcome"], told["reply"], told["error"]) == ("completed", hello("hello"), None)
    assert told["session_id"] == daemon.agent()["session_id"]
    assert told["started_at"] <= told["ended_at"] and told["ended_at"].endswith("Z")
    assert 0 <= told["duration_s"] < 5
    assert set(daemon.run("wait", "demo", "--json").json) == KEYS


@pytest.mark.parametrize(
    ("words", "code", "outcome", "error"),
    [
        (("@error Overloaded",), 1, "failed", "api_error"),
        (("@cut",), 1, "failed", "api_error"),
        (("@crash 7",), 5, "lost", "lost"),
        (("@silence", "--deadline", "1s"), 4, "timed_out", "timeout"),
        (("@ask May I?",), 3, "attention", "attention"),
    ],
)
def test_the_public_json_of_a_failure(
    daemon: Daemon, words: tuple[str, ...], code: int, outcome: str, error: str
) -> None:
    done = daemon.run("send", "demo", *words, "--json")
    assert done.code == code
    told = done.json
    assert set(told) == KEYS
    assert (told["outcome"], told["error"]["code"]) == (outcome, error)
    assert set(told["error"]) == ERROR_KEYS


def test_agents_have_names_and_directories(daemon: Daemon) -> None:
    other = daemon.home / "Other Place"
    other.mkdir()
    assert daemon.run("send", "demo", "one").code == 0
    assert daemon.run("send", "demo", "two", cwd=other).code == 0
    assert daemon.run("send", "demo", "three", "--name", "review").code == 0
    assert daemon.run("send", "review", "four", cwd=other).code == 0
    assert [agent["name"] for agent in daemon.agents()] == ["demo-other-place", "demo-work", "review"]
    assert daemon.prompts("review") == ["three", "four"]
    assert daemon.agent("demo-other-place")["cwd"] == str(other)
    wrong = daemon.run("send", "nobody", "hi")
    assert wrong.code == 2 and "nobody" in wrong.stderr
    assert daemon.run("send", "demo", "x", "--name", "Bad Name").code == 2
    assert daemon.run("send", "demo", "x", "--name", "review", cwd=other).code == 1


def test_no_daemon_answers() -> None:
    with Daemon() as daemon:
        daemon.end()
        done = daemon.run("send", "demo", "hello", "--json")
        assert (done.code, done.json["error"]["code"]) == (6, "no_daemon")
        assert "agentd serve" in done.stderr


MEGABYTE = "".join(random.Random(1).choices("abcdefgh \n\té日🎉;$\\#{}'\"", k=850_000)).strip() + ";"
TEXTS = {
    "one byte": "x",
    "a semicolon at the end": "ls;",
    "only semicolons": ";;",
    "a leading dash": "-t %0 --help",
    "tmux's own words": "#{pane_id} #(touch /tmp/x) ; kill-server ;",
    "shell's own words": "$HOME `id` $(id) \\ 'x' \"y\" *",
    "lines": "one\ntwo\n\n  three  \n\tfour",
    "many lines": "\n".join(f"line {n}" for n in range(300)),
    "CRLF": "one\r\ntwo\rthree",
    "Unicode": "日本語 🎉 👩‍👩‍👧 é e\u0301 العربية ❯ │ ─ \u00a0 \U0010ffff",
    "control characters": "a\x00b\x01c\x07d\x08e\x1bf\x7fg\x9bh",
    "the end of a paste": "before\x1b[201~\rafter\x03\x04",
    "4095 bytes": "x" * 4095,
    "4096 bytes": "y" * 4096,
    "20 kB": "wide 日本 " * 2000 + "end",
    "a shell command": "!touch trapped",
    "a shell command behind a control character": "\x00\x1b!touch trapped",
    "a slash command": "/exit",
    "a way out": "exit",
    "a memory": "#remember",
    "a mention": "@nobody hello",
    "ends with a newline and more": "text\n\n\n",
}  # fmt: skip


def test_any_text_arrives_as_text(daemon: Daemon) -> None:
    """One agent for all of them: none may leave anything for the next."""
    pids = set()
    for number, (what, text) in enumerate(TEXTS.items(), 1):
        given = text.encode("utf-8", "surrogatepass")
        done = daemon.run("send", "demo", "-", "--json", given=given)
        assert done.code == 0, (what, done)
        taken = daemon.prompts()
        assert len(taken) == number, what
        assert taken[-1].strip() == sanitise(text).strip(), what
        pids.add(daemon.agent()["pid"])
    assert len(pids) == 1
    assert not (daemon.work / "trapped").exists()


def test_a_megabyte_arrives_byte_for_byte(daemon: Daemon) -> None:
    assert len(MEGABYTE.encode()) > 1_000_000
    prompt = daemon.root / "prompt"
    prompt.write_text(MEGABYTE)
    done = daemon.run("send", "demo", "--file", str(prompt))
    assert done.code == 0, done.stderr
    assert daemon.prompts() == [MEGABYTE]


def test_words_of_the_command_line_arrive_as_text(daemon: Daemon) -> None:
    for number, text in enumerate(["ends with ;", ";", "--json is what I ask about", "a\\;", "ü"], 1):
        done = daemon.run("send", "demo", "--", text)
        assert done.code == 0, done
        assert len(daemon.prompts()) == number and daemon.prompts()[-1] == text
    empty = daemon.run("send", "demo", given=b"\x00\x1b \n")
    assert empty.code == 2


def test_raw_passes_commands_as_typed(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "hello").code == 0
    done = daemon.run("send", "demo", "--raw", "!echo out > trapped", "--json")
    assert done.json["outcome"] == "completed"
    until("the shell's command ran", lambda: (daemon.work / "trapped").exists())
    done = daemon.run("send", "demo", "--raw", "/help")
    assert done.code == 0, done
    daemon.pane().shows("Enter sends")
    assert daemon.prompts() == ["hello"]
    assert daemon.run("send", "demo", "still here?").stdout == hello("still here?") + "\n"
    assert daemon.prompts() == ["hello", "still here?"]


@pytest.mark.parametrize("fault", [("--swallow-enter", "1"), ("--swallow-enter", "2"), ("--burst", "150")])
def test_a_prompt_goes_in_exactly_once(open_daemon: Callable[..., Daemon], fault: tuple[str, ...]) -> None:
    daemon = open_daemon(demo=fault)
    for text in ("first\nof two lines", "second", "third " * 1000):
        done = daemon.run("send", "demo", text)
        assert done.code == 0, done
    taken = [text.strip() for text in daemon.prompts()]
    assert taken == ["first\nof two lines", "second", ("third " * 1000).strip()]


@pytest.mark.parametrize("fault", ["--no-hooks", "--no-record"])
def test_one_source_tells_everything(open_daemon: Callable[..., Daemon], fault: str) -> None:
    daemon = open_daemon(demo=(fault, "--tick", "0.1"))
    told: dict[str, Any] = daemon.run("send", "demo", "hello", "--json").json
    assert (told["receipt"], told["outcome"], told["reply"]) == ("accepted", "completed", hello("hello"))
    told = daemon.run("send", "demo", "@error Overloaded", "--json").json
    assert (told["outcome"], told["error"]["message"]) == ("failed", "Overloaded")
    told = daemon.run("send", "demo", "@bash echo out\n@say done", "--json").json
    assert (told["outcome"], told["reply"]) == ("completed", "done")
    assert daemon.run("send", "demo", "@tool 200", "--no-wait", "--json").json["receipt"] == "accepted"
    daemon.reaches("working")
    assert daemon.run("interrupt", "demo").code == 0
    assert daemon.run("wait", "demo", "--json").json["outcome"] == "interrupted"
    assert daemon.run("send", "demo", "and on").stdout == hello("and on") + "\n"


def test_an_answer_without_text_is_empty(daemon: Daemon) -> None:
    done = daemon.run("send", "demo", "@tool 1", "--json")
    assert (done.json["outcome"], done.json["reply"] or "") == ("completed", "")
    assert daemon.run("send", "demo", "@tool 1").stdout.strip() == ""


def test_an_intermediate_comment_is_no_answer(daemon: Daemon) -> None:
    done = daemon.run("send", "demo", "@say I will look\n@tool 1\n@say It is done")
    assert (done.stdout, done.code) == ("It is done\n", 0)


def test_background_work_is_part_of_the_turn(daemon: Daemon) -> None:
    done = daemon.run("send", "demo", "@say begun\n@background 3 all done", "--json")
    assert (done.json["outcome"], done.json["reply"]) == ("completed", "all done")


def test_prose_is_no_state(daemon: Daemon) -> None:
    prose = "Not logged in. You've hit your limit. Do you want to proceed? esc to interrupt ❯ 1. Yes"
    for text in (f"@say {prose}", f"@slow 5 {prose}", prose):
        done = daemon.run("send", "demo", text, "--json")
        assert (done.code, done.json["outcome"]) == (0, "completed"), done
        assert daemon.agent()["state"] == "ready"


def test_wait_tells_what_became_of_a_message_without_a_turn(daemon: Daemon) -> None:
    """Not the answer to an earlier one."""
    assert daemon.run("send", "demo", "@say one").stdout == "one\n"
    asking = daemon.begin("send", "demo", "@ask May I?", "--on-attention", "wait")
    daemon.reaches("attention")
    queued = daemon.run("send", "demo", "two, in vain", "--no-wait", "--json").json
    assert queued["receipt"] == "queued"
    assert daemon.run("stop", "demo").code == 0
    asking.finish()
    done = daemon.run("wait", "demo", "--json")
    assert (done.code, done.json["outcome"], done.json["reply"]) == (130, "interrupted", None)
    assert daemon.run("send", "demo", "@say three").stdout == daemon.run("wait", "demo").stdout == "three\n"


@pytest.mark.parametrize("name", ["demo", "claude", "codex", "x" * 101, "Bad", "-x", "a/b"])
def test_what_is_no_name_for_an_agent(daemon: Daemon, name: str) -> None:
    """A provider's name would be taken for the provider, or the provider for it."""
    done = daemon.run("send", "demo", "--name", name, "@say x")
    assert done.code == 2 and (f"{name!r} means the provider" in done.stderr or "is no name" in done.stderr)
    assert daemon.agents() == []
