"""The other verbs: what each asks of the daemon, and what it prints."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from agentd.cli import VERBS, main
from agentd.cli.table import ago, columns, table

if TYPE_CHECKING:
    from tests.unit.fake_daemon import (
        END,
        PATIENCE,
        STREAM,
        FakeDaemon,
        event,
        events,
        fake_daemon,
        refusal,
        reply,
    )
else:
    from fake_daemon import END, PATIENCE, STREAM, FakeDaemon, event, events, fake_daemon, refusal, reply

Shown = pytest.CaptureFixture[str]
PROGRAM = [sys.executable, "-c", "import sys; from agentd.cli import main; sys.exit(main())"]


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon() as it:
        monkeypatch.setenv("AGENTD_SOCKET", str(it.path))
        yield it


def agent(**more: Any) -> dict[str, Any]:
    return {
        "name": "demo-here",
        "provider": "demo",
        "state": "ready",
        "attention": None,
        "cwd": "/src/here",
        "model": None,
        "session_id": "s1",
        "turn": None,
        "queued": 0,
        "created_at": "2026-01-02T03:04:05.000Z",
        "last_used_at": (datetime.now(UTC) - timedelta(hours=2, minutes=5)).isoformat(),
        "retire_at": None,
        "pid": 42,
        "tmux": {"socket": "/run/t.sock", "session": "demo-here", "pane": "%1"},
    } | more


def page(**more: Any) -> dict[str, Any]:
    return agent(
        **{
            "last": None,
            "queue": [],
            "deadlines": [],
            "files": {"folder": "/state/demo-here", "record": "/r.jsonl", "spool": "/spool"},
            "attach": "tmux -S /run/t.sock attach -t '=demo-here'",
            "dialog": None,
        }
        | more
    )


# All of them

NONE: dict[str, list[str]] = {verb: [] for verb in ("list", "events", "timeouts", "adapters", "prune")}
WORDS = {"send": ["x", "p"], "answer": ["x", "1"], **NONE}
ASKING = [verb for verb in VERBS if verb not in ("serve", "bridge")]


@pytest.mark.parametrize("verb", ASKING)
def test_without_a_daemon_every_verb_says_how_to_start_one(tmp_path: Path, capsys: Shown, verb: str) -> None:
    words = [verb, *WORDS.get(verb, ["x"]), "--socket", str(tmp_path / "s"), "--json"]
    assert main(words) == 6
    shown = capsys.readouterr()
    assert shown.err.startswith("agentd: no daemon answers on ")
    assert f"`agentd serve --socket {tmp_path / 's'}`" in shown.err
    assert json.loads(shown.out)["error"]["code"] == "no_daemon"


@pytest.mark.parametrize("verb", ASKING)
def test_an_unknown_agent_is_a_wrong_word(daemon: FakeDaemon, capsys: Shown, verb: str) -> None:
    assert main([verb, *WORDS.get(verb, ["x"])]) == 2
    assert capsys.readouterr() == ("", "agentd: no such agent\n")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_verb_explains_itself(capsys: Shown, verb: str, flag: str) -> None:
    assert main([verb, flag]) == 0
    shown = capsys.readouterr().out
    for part in ("Usage: agentd " + verb, "Examples:", "Exit codes:", "--json", "--socket PATH"):
        assert part in shown
    command: click.Command = import_module(f"agentd.cli.cmd_{verb}").command
    assert command.callback


def test_the_help_of_the_program(capsys: Shown) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {verb} " in shown for verb in VERBS)
    assert "_AGENTD_COMPLETE=zsh_source" in shown
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "agentd 0.1.0\n"


def test_socket_and_json_may_come_first(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: Shown
) -> None:
    monkeypatch.setenv("AGENTD_SOCKET", "/nonexistent")
    daemon.on("GET", "/v1/agents", reply([]))
    assert main(["--socket", str(daemon.path), "--json", "list"]) == 0
    assert capsys.readouterr().out == "[]\n"


# prune


@pytest.mark.parametrize(
    ("words", "age"),
    [((), None), (("--older-than", "36h"), 36 * 3600.0), (("--all",), 0.0), (("--older-than", "0"), 0.0)],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_prune_says_what_it_removed(
    daemon: FakeDaemon, capsys: Shown, words: tuple[str, ...], age: float | None, dry_run: bool
) -> None:
    told = {"agents": ["a", "b\n"], "folders": ["/state/agents/old"], "dry_run": dry_run}
    daemon.on("POST", "/v1/prune", reply(told))
    assert main(["prune", *words, *(["--dry-run"] if dry_run else [])]) == 0
    assert daemon.request.body == {"older_than_s": age, "dry_run": dry_run}
    did = "would prune" if dry_run else "pruned"
    assert capsys.readouterr().out == (f"{did} a\n{did} b \n{did} /state/agents/old, a folder of no agent\n")


def test_prune_in_json_and_of_nothing(daemon: FakeDaemon, capsys: Shown) -> None:
    nothing: dict[str, Any] = {"agents": [], "folders": [], "dry_run": False}
    daemon.on("POST", "/v1/prune", reply(nothing))
    assert main(["prune"]) == 0
    assert capsys.readouterr().out == "nothing to prune\n"
    assert main(["prune", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == nothing


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--older-than", "30d"), "'30d' is no duration; write it like 90m"),
        (("--older-than", "-1h"), "must not be negative"),
        (("--all", "--older-than", "1h"), "not both"),
    ],
)
def test_prune_refuses_wrong_words(capsys: Shown, words: tuple[str, ...], says: str) -> None:
    assert main(["prune", *words]) == 2
    assert says in capsys.readouterr().err


# list, show, explain


def test_list(daemon: FakeDaemon, capsys: Shown) -> None:
    agents = [
        agent(),
        agent(name="x", state="attention", attention="trust", turn="t7", queued=2, cwd="/a\x1b[2J\nb"),
    ]
    daemon.on("GET", "/v1/agents", reply(agents))
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NAME       PROVIDER  STATE              TURN/QUEUE  CWD        LAST USED",
        "demo-here  demo      ready              -/0         /src/here  2h ago",
        "x          demo      attention (trust)  t7/2        /a�[2J b   2h ago",
    ]
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == agents


def test_list_of_nobody(daemon: FakeDaemon, capsys: Shown) -> None:
    daemon.on("GET", "/v1/agents", reply([]))
    assert main(["list"]) == 0
    assert capsys.readouterr().out.startswith("no agents")


def test_show(daemon: FakeDaemon, tmp_path: Path, capsys: Shown) -> None:
    last = {"outcome": "failed", "ended_at": None, "error": {"message": "it broke"}, "reply": "so\nfar"}
    shown = page(
        state="attention",
        attention="approval",
        last=last,
        queue=[{"message": "m1", "text": "next\n" + "x" * 200, "receipt": "queued"}],
        deadlines=[{"layer": "workflow", "at": "2026-01-02T03:04:05.000Z", "timeout_s": 5400}],
        dialog={
            "reason": "approval",
            "text": "Run ls?",
            "options": ["Yes", "No"],
            "answers": ["approve", "1"],
        },
    )
    daemon.on("GET", "/v1/agents/demo", reply(shown))
    assert main(["show", "demo", "--cwd", str(tmp_path)]) == 0
    assert daemon.request.query == {"cwd": str(tmp_path)}
    out = capsys.readouterr().out
    for line in (
        "name       demo-here",
        "state      attention (approval)",
        "attach     tmux -S /run/t.sock attach -t '=demo-here'",
        "record     /r.jsonl",
        "  2. No",
        "  agentd answer demo-here approve | 1",
        "Last turn: failed",
        "  it broke",
        "  far",
    ):
        assert line in out.splitlines()
    assert "limit 1h30m" in out
    assert "…" in out
    assert main(["show", "demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == shown


def test_show_of_a_retired_agent(daemon: FakeDaemon, capsys: Shown) -> None:
    daemon.on("GET", "/v1/agents/x", reply(page(state="retired", pid=None, attach=None, files=None)))
    assert main(["show", "x"]) == 0
    assert "attach" not in capsys.readouterr().out


def test_explain(daemon: FakeDaemon, capsys: Shown) -> None:
    facts = {
        "agent": "demo-here", "state": "ready", "since": "2026-01-02T03:04:05.000Z", "why": "its turn ended",
        "source": "hook", "event": "turn_done", "waiting_for": "a prompt", "screen": ["> ", "\x1b[7m?"],
        "history": [{"time": "03:04", "kind": "turn_done", "source": "hook", "text": "pong"}],
    }  # fmt: skip
    daemon.on("GET", "/v1/agents/demo/explain", reply(facts))
    assert main(["explain", "demo"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("demo-here is ready since 2026-01-02T03:04:05.000Z (")
    assert "because its turn ended  [turn_done from hook]\nit waits for a prompt\n" in shown
    assert "  03:04  hook    turn_done  pong\n" in shown
    assert "  | �[7m?\n" in shown
    assert main(["explain", "demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == facts
    empty = dict.fromkeys(facts) | {"agent": "x", "state": "lost", "why": "?"}
    daemon.on("GET", "/v1/agents/x/explain", reply(empty))
    assert main(["explain", "x"]) == 0
    assert capsys.readouterr().out == "x is lost\nbecause ?\n"


# stop, interrupt, answer


def test_stop(daemon: FakeDaemon, tmp_path: Path, capsys: Shown) -> None:
    daemon.on("DELETE", "/v1/agents/claude", reply({"stopped": ["claude-code-here"]}))
    daemon.on("DELETE", "/v1/agents/x", reply({"stopped": []}))
    assert main(["stop", "claude", "x", "--cwd", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("stopped claude-code-here\n", "")
    assert daemon.requests[0].query == {"cwd": str(tmp_path)}
    assert main(["stop", "x"]) == 0
    assert capsys.readouterr().out == "nothing to stop\n"
    assert main(["stop", "x", "claude", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"stopped": ["claude-code-here"]}


def test_stop_says_what_it_stopped_before_it_failed(daemon: FakeDaemon, capsys: Shown) -> None:
    daemon.on("DELETE", "/v1/agents/a", reply({"stopped": ["a"]}))
    daemon.on("DELETE", "/v1/agents/b", refusal(503, "unavailable", "not now"))
    assert main(["stop", "a", "b"]) == 1
    assert capsys.readouterr() == ("stopped a\n", "agentd: not now\n")
    assert main(["stop", "a", "b", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["stopped"], told["error"]["code"]) == (["a"], "unavailable")


def test_stop_all(daemon: FakeDaemon, capsys: Shown) -> None:
    daemon.on("DELETE", "/v1/agents", reply({"stopped": ["a", "b"]}))
    assert main(["stop", "--all"]) == 0
    assert capsys.readouterr().out == "stopped a\nstopped b\n"
    assert main(["stop"]) == 2
    assert main(["stop", "--all", "x"]) == 2
    assert main(["stop", ""]) == 2


def test_interrupt(daemon: FakeDaemon, capsys: Shown) -> None:
    done = {"agent": "demo-here", "interrupted": True, "turn": "t1"}
    daemon.on(
        "POST", "/v1/agents/demo/interrupt", reply(done), reply(done), reply(done | {"interrupted": False})
    )
    assert main(["interrupt", "demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == done
    assert main(["interrupt", "demo"]) == 0
    assert main(["interrupt", "demo"]) == 0
    assert capsys.readouterr().out == "interrupted demo-here\nnothing to interrupt\n"
    assert daemon.requests[0].body == {"cwd": str(Path.cwd())}


def test_answer(daemon: FakeDaemon, capsys: Shown) -> None:
    done = {"agent": "demo-here", "answered": "1", "state": "working"}
    daemon.on("POST", "/v1/agents/demo/answer", reply(done), refusal(422, "choice", "there is no option 9"))
    assert main(["answer", "demo", "approve"]) == 0
    assert capsys.readouterr().out == "answered demo-here: 1 (now working)\n"
    assert daemon.request.body == {"choice": "approve", "cwd": str(Path.cwd())}
    assert main(["answer", "demo", "9", "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.err == "agentd: there is no option 9\n"
    assert json.loads(shown.out)["error"]["code"] == "choice"


# attach


def test_attach_shows_its_command(daemon: FakeDaemon, capsys: Shown) -> None:
    daemon.on("GET", "/v1/agents/demo", reply(page()))
    assert main(["attach", "demo", "--read-only", "--json"]) == 0
    words = ["tmux", "-S", "/run/t.sock", "attach", "-t", "=demo-here", "-r"]
    assert json.loads(capsys.readouterr().out) == words


def test_attach_becomes_tmux(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.on("GET", "/v1/agents/demo", reply(page()))
    (tmp_path / "tmux").write_text('#!/bin/sh\necho "$@" "[${TMUX-none}]"\nexit 9\n')
    (tmp_path / "tmux").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMUX": "/x,1,0"}
    done = subprocess.run([*PROGRAM, "attach", "demo"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (9, "-S /run/t.sock attach -t =demo-here [none]\n")


@pytest.mark.parametrize("tmux", [None, {"socket": "/run/t.sock", "session": "demo-here", "pane": None}])
def test_attach_needs_a_pane(daemon: FakeDaemon, capsys: Shown, tmux: Any) -> None:
    daemon.on("GET", "/v1/agents/demo", reply(page(state="retired", tmux=tmux)))
    assert main(["attach", "demo"]) == 1
    assert capsys.readouterr().err.startswith("agentd: demo-here is retired and has no pane to attach to; ")


def test_attach_needs_tmux(daemon: FakeDaemon, capsys: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon.on("GET", "/v1/agents/demo", reply(page()))
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["attach", "demo"]) == 1
    assert capsys.readouterr().err == "agentd: tmux was not found on the PATH\n"


# events


def test_events(daemon: FakeDaemon, capsys: Shown) -> None:
    told = [{"seq": 1, "kind": "text", "data": {"text": "é\n"}}, {"seq": 2, "kind": "state"}]
    daemon.on("GET", "/v1/events", events(*(("event", each) for each in told)))
    assert main(["events"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == told
    assert daemon.request.query == {"follow": "0"}


def following(daemon: FakeDaemon) -> subprocess.Popen[str]:
    """`agentd events --follow` that has printed one event and waits for the next one."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(STREAM + event("event", {"seq": 1}))
        daemon.await_hang_up(connection)

    daemon.on("GET", "/v1/events", answer)
    process = subprocess.Popen(
        [*PROGRAM, "events", "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == '{"seq": 1}\n', "an event is printed when it comes"
    return process


def test_ctrl_c_ends_following_without_a_word(daemon: FakeDaemon) -> None:
    process = following(daemon)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 130
    assert daemon.hung_up.wait(PATIENCE)


def test_events_into_a_reader_that_went_away(daemon: FakeDaemon) -> None:
    daemon.on("GET", "/v1/events", events(*(("event", "x" * 10_000) for _ in range(100))))
    with subprocess.Popen([*PROGRAM, "events"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


# timeouts, adapters, serve


def test_timeouts(daemon: FakeDaemon, capsys: Shown) -> None:
    layers = {
        "layers": [
            {
                "layer": "provider_mcp", "provider": "codex", "value_s": 5400.0, "unit": "s",
                "setting": "tool_timeout_sec", "owner": "the CLI", "source": "default",
            },
            {
                "layer": "workflow", "provider": "pi", "value_s": None, "unit": None,
                "setting": None, "owner": "the caller", "source": "none",
            },
        ]
    }  # fmt: skip
    daemon.on("GET", "/v1/timeouts", reply(layers))
    assert main(["timeouts"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "LAYER         PROVIDER  VALUE  UNIT  SETTING           OWNER       SOURCE",
        "provider_mcp  codex     1h30m  s     tool_timeout_sec  the CLI     default",
        "workflow      pi        none   -     -                 the caller  none",
    ]
    assert main(["timeouts", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == layers


def test_adapters(daemon: FakeDaemon, capsys: Shown) -> None:
    adapters = {
        "adapters": [
            {
                "provider": "claude-code", "aliases": ["claude"], "command": ["claude"],
                "found": "/bin/claude", "version": "2.0", "problem": None,
                "capabilities": {"steer": True, "resume": False},
                "mcp_timeout": {"setting": "IDLE", "unit": "ms"},
            },
            {
                "provider": "pi", "aliases": [], "command": ["pi"], "found": None, "version": None,
                "problem": "pi was not found", "capabilities": {}, "mcp_timeout": None,
            },
        ]
    }  # fmt: skip
    daemon.on("GET", "/v1/adapters", reply(adapters))
    assert main(["adapters"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "PROVIDER     ALIASES  COMMAND  FOUND        VERSION  MCP TIMEOUT  CAN",
        "claude-code  claude   claude   /bin/claude  2.0      IDLE (ms)    steer",
        "pi           -        pi       no           -        -            -",
        "pi: pi was not found",
    ]
    assert main(["adapters", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == adapters


def test_serve_hands_over_what_it_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    fake = types.ModuleType("agentd.daemon")
    fake.run = lambda **how: told.append(how) or 7  # type: ignore[attr-defined, func-returns-value]
    monkeypatch.setitem(sys.modules, "agentd.daemon", fake)
    for variable in ("AGENTD_SOCKET", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AGENTD_CONFIG", "/etc/c.toml")
    assert main(["serve", "--state-dir", str(tmp_path), "--json"]) == 7
    assert (
        main(["serve", "--socket", "/s", "--config", "/c", "--log-level", "debug", "--log-format", "text"])
        == 7
    )
    assert told[0] == {
        "socket": tmp_path / "agentd.sock", "state_dir": tmp_path, "config": Path("/etc/c.toml"),
        "log_level": "info", "log_format": "json", "log_file": None,
    }  # fmt: skip
    assert (told[1]["socket"], told[1]["config"]) == (Path("/s"), Path("/c"))
    assert (told[1]["log_level"], told[1]["log_format"]) == ("debug", "text")


# Completion


def completed(monkeypatch: pytest.MonkeyPatch, capsys: Shown, *words: str) -> list[str]:
    monkeypatch.setenv("_AGENTD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["agentd", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert main([]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return [line.partition(",")[2] for line in shown.out.splitlines() if line]


def test_completion(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    daemon.on("GET", "/v1/agents", reply([agent(name="claude-code-here"), agent(name="review")]))
    daemon.on(
        "GET", "/v1/adapters", reply({"adapters": [{"provider": "claude-code", "aliases": ["claude"]}]})
    )
    dialog = {"reason": "trust", "text": "?", "options": [], "answers": ["approve", "deny", "1"]}
    daemon.on("GET", "/v1/agents/review", reply(page(dialog=dialog)))
    assert completed(monkeypatch, capsys, "s") == ["serve", "send", "stop", "show"]
    assert completed(monkeypatch, capsys, "send", "cl") == ["claude-code-here", "claude-code", "claude"]
    assert completed(monkeypatch, capsys, "stop", "review", "r") == ["review"]
    assert completed(monkeypatch, capsys, "answer", "review", "") == ["approve", "deny", "1"]
    assert completed(monkeypatch, capsys, "send", "--on-attention", "w") == ["wait"]
    monkeypatch.setenv("AGENTD_SOCKET", "/nonexistent")
    assert completed(monkeypatch, capsys, "show", "--socket", str(daemon.path), "re") == ["review"]


def test_completion_is_quiet_without_a_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shown
) -> None:
    monkeypatch.setenv("AGENTD_SOCKET", str(tmp_path / "none"))
    assert completed(monkeypatch, capsys, "show", "") == []
    assert completed(monkeypatch, capsys, "answer", "x", "") == []


def test_completion_is_quiet_with_a_strange_daemon(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: Shown
) -> None:
    daemon.on("GET", "/v1/agents", reply([agent(name="x")]))
    daemon.on("GET", "/v1/adapters", reply(None))
    assert completed(monkeypatch, capsys, "show", "") == ["x"]
    daemon.on("GET", "/v1/agents", STREAM + END)
    assert completed(monkeypatch, capsys, "show", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_of_the_shells(monkeypatch: pytest.MonkeyPatch, capsys: Shown, shell: str) -> None:
    monkeypatch.setenv("_AGENTD_COMPLETE", f"{shell}_source")
    assert main([]) == 0
    assert "_AGENTD_COMPLETE" in capsys.readouterr().out


# Words for people


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (59, "59s ago"),
        (60, "1m ago"),
        (7300, "2h ago"),
        (200_000, "2d ago"),
        (-90, "in 1m"),
        (-0.2, "now"),
    ],
)
def test_ago(seconds: float, words: str) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    assert ago((now - timedelta(seconds=seconds)).isoformat(), now) == words


def test_no_time_has_no_age() -> None:
    assert (ago(None), ago("soon"), ago("2026-01-02T03:04:05")) == ("", "", "")


def test_tables_align_wide_letters() -> None:
    assert columns("é漢") == 3
    assert table(("A", "B"), [("漢字", None), ("x", 0)]) == "A     B\n漢字  -\nx     0"
