"""What one can ask: list, show, explain, events, adapters, timeouts, the config's errors, the socket."""

from __future__ import annotations

import json
import stat
from typing import Any

from agentd.testing.daemon import QUICK, Daemon
from agentd.testing.until import until

AGENT_KEYS = {
    "name", "provider", "state", "attention", "cwd", "model", "session_id", "turn", "queued",
    "created_at", "last_used_at", "retire_at", "pid", "tmux",
}  # fmt: skip


def test_list(daemon: Daemon) -> None:
    assert daemon.run("list", "--json").json == []
    assert "no agents" in daemon.run("list").stdout
    assert daemon.run("send", "demo", "@say hi", "--model", "tiny").code == 0
    sending = daemon.begin("send", "demo", "--name", "other", "@ask May I?", "--on-attention", "wait")
    daemon.reaches("attention", "other")
    ready, waiting = daemon.run("list", "--json").json
    assert set(ready) == AGENT_KEYS
    assert (ready["name"], ready["provider"], ready["state"]) == ("demo-work", "demo", "ready")
    assert (ready["attention"], ready["cwd"], ready["model"]) == (None, str(daemon.work), "tiny")
    assert (ready["turn"], ready["queued"]) == (None, 0)
    assert set(ready["tmux"]) == {"socket", "session", "pane"}
    assert ready["tmux"] == {"socket": str(daemon.tmux.socket), "session": "demo-work", "pane": "%0"}
    assert int(daemon.pane().value("#{pane_pid}")) == ready["pid"]
    assert (waiting["state"], waiting["attention"]) == ("attention", "approval")
    table = daemon.run("list").stdout
    assert "attention (approval)" in table and "demo-work" in table
    sending.kill()


def test_show(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    shown = daemon.run("show", "demo", "--json").json
    assert set(shown) >= AGENT_KEYS
    assert shown["last"]["reply"] == "hi"
    assert [each["layer"] for each in shown["deadlines"]] == ["idle_retention"]
    page = daemon.run("show", "demo-work").stdout
    assert f"tmux -S {daemon.tmux.socket} attach -t '=demo-work'" in page
    assert "Last turn: completed" in page
    unknown = daemon.run("show", "nobody", "--json")
    assert (unknown.code, unknown.json["error"]["code"]) == (2, "unknown")


def test_explain(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@ask May I?").code == 3
    told = daemon.run("explain", "demo", "--json").json
    assert (told["agent"], told["state"]) == ("demo-work", "attention")
    assert told["source"] in ("hook", "record", "screen") and told["since"]
    assert "May I?" in told["why"] and "approval" in told["waiting_for"]
    assert "Do you want to proceed?" in told["screen"]
    assert {"prompt_taken", "approval_wanted"} <= {each["kind"] for each in told["history"]}
    page = daemon.run("explain", "demo").stdout
    assert page.startswith("demo-work is attention since ") and "because " in page


def test_events(daemon: Daemon) -> None:
    following = daemon.begin("events", "--follow")
    assert following.process.stdout is not None
    assert daemon.run("send", "demo", "@say hi").code == 0
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1]["kind"] != "turn_ended":
        seen.append(json.loads(following.process.stdout.readline()))
    following.ctrl_c()
    assert following.finish().code == 130
    assert {"session_started", "prompt_taken", "turn_started", "turn_done", "turn_ended"} <= {
        line["kind"] for line in seen
    }
    assert set(seen[0]) == {"seq", "time", "agent", "kind", "source", "data"}
    assert [line["seq"] for line in seen] == sorted({line["seq"] for line in seen})
    until("all is told", lambda: daemon.agent()["state"] == "ready")
    again = [json.loads(line) for line in daemon.run("events", "demo").stdout.splitlines()]
    assert again[: len(seen)] == seen
    assert daemon.run("events", "nobody").code == 2


def test_adapters_and_timeouts(daemon: Daemon) -> None:
    found = {each["provider"]: each for each in daemon.run("adapters", "--json").json["adapters"]}
    assert found["demo"]["problem"] is None and found["demo"]["version"]
    assert found["demo"]["tested"] and found["demo"]["found"]
    assert "demo" in daemon.run("adapters").stdout
    layers = daemon.run("timeouts", "--json").json["layers"]
    assert all(
        set(each) == {"layer", "provider", "value_s", "unit", "setting", "owner", "source"} for each in layers
    )
    [retention] = [each for each in layers if each["layer"] == "idle_retention" and each["provider"] == "*"]
    assert (retention["value_s"], retention["source"]) == (10800, "default")
    assert "3h" in daemon.run("timeouts").stdout


def test_a_wrong_config_keeps_the_last_good_one(daemon: Daemon) -> None:
    daemon.configure('[retention]\nidle = "2h"\n')
    until("it is in force", lambda: retention(daemon) == 7200)
    wrong = [
        ('[retention]\nidel = "1h"\n', ":4: retention.idel: unknown key"),
        ('[retention]\nidle = "soon"\n', ":4: retention.idle: "),
        ("[retention]\nidle = 3\n", ":4: retention.idle: "),
        ("[retention\n", ":3: "),
        ('[adapters.codex]\nreadiness = { inactive = "1m" }\n', ":4: adapters.codex.readiness.inactive: "),
    ]
    for text, said in wrong:
        daemon.configure(text)
        until(said, lambda said=said: said in (daemon.get("/v1/health")["config_error"] or ""))  # type: ignore[misc]
        assert str(daemon.config) in daemon.get("/v1/health")["config_error"]
        assert said in daemon.log.read_text()
        assert retention(daemon) == 7200
    assert daemon.run("send", "demo", "@say hi").stdout == "hi\n"
    daemon.configure('[retention]\nidle = "1h"\n')
    until("it is in force", lambda: retention(daemon) == 3600)
    assert daemon.get("/v1/health")["config_error"] is None


def test_a_wrong_config_at_the_start(daemon: Daemon) -> None:
    daemon.end()
    daemon.configure("[nonsense]\n", demo=QUICK)
    done = daemon.run("serve")
    assert done.code == 1
    assert f"{daemon.config}:3: nonsense: unknown key" in done.stderr
    daemon.configure()


def retention(daemon: Daemon) -> float:
    layers = daemon.get("/v1/timeouts")["layers"]
    [value] = [each["value_s"] for each in layers if each["layer"] == "idle_retention"]
    return float(value)


def test_the_socket_is_ours_alone(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    for socket in (daemon.socket, daemon.tmux.socket):
        assert stat.S_ISSOCK(socket.stat().st_mode)
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(daemon.socket.parent.stat().st_mode) == 0o700
    assert not stat.S_IMODE(daemon.tmux.socket.stat().st_mode) & 0o077
    assert stat.S_IMODE(daemon.state.stat().st_mode) == 0o700
    for path in (daemon.state / "agents").rglob("*.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    daemon.end()
    assert not daemon.socket.exists()


def test_a_folder_that_others_may_write_in_is_refused(daemon: Daemon) -> None:
    shared = daemon.root / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    done = daemon.run("serve", "--socket", str(shared / "a.sock"))
    assert done.code == 1 and "others may write" in done.stderr
    made = daemon.run("serve", "--socket", str(daemon.root / "x" / ("long" * 30)))
    assert made.code == 1 and "AGENTD_SOCKET" in made.stderr


def test_nothing_of_an_outer_agent_reaches_the_program(daemon: Daemon) -> None:
    daemon.end()
    daemon.env |= {"CLAUDECODE": "1", "TMUX": "/tmp/x,1,0", "SECRET": "s", "PYTHONPATH": "/nowhere"}
    daemon.start()
    done = daemon.run("send", "demo", "@bash env")
    names = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert {"HOME", "PATH", "LANG", "TERM", "AGENTD_AGENT", "AGENTD_SOCKET"} <= names
    assert not names & {"CLAUDECODE", "SECRET", "PYTHONPATH"}
    assert f"HOME={daemon.home}" in done.stdout
    # The directory of the workspace is the program's.
    assert daemon.run("send", "demo", "@bash pwd").stdout == f"{daemon.work}\n"


def test_a_log_in_a_file(daemon: Daemon) -> None:
    (daemon.root / "file").touch()
    refused = daemon.run("serve", "--log-file", str(daemon.root / "file" / "log"))
    assert refused.code == 1 and refused.stderr.startswith("agentd: ") and "/file" in refused.stderr
    log, other = daemon.root / "logs" / "second.log", daemon.root / "other"
    words = ("serve", "--state-dir", str(other), "--socket", str(other / "s"), "--log-file", str(log))
    second = daemon.begin(*words)
    until("it is there", (other / "s").exists)
    assert second.process.stdout is not None and b"ready on" in second.process.stdout.readline()
    second.process.terminate()
    assert (ended := second.finish()).code == 0 and ended.stderr == ""
    assert "agentd: asked to end by SIGTERM" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
