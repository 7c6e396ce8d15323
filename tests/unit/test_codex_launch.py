"""How Codex is started, what is asked of its program, and its `notify`."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agentd.adapter import Adapter, BridgeCommand, LaunchRequest, Program, Unsupported
from agentd.contract import Policy
from agentd.contract.policy import ToolTimeout
from agentd_codex import Codex, notify
from agentd_codex.launch import toml

CODEX = Codex()
OLD_HELP = "  -c, --config <key=value>\n      --no-alt-screen\n"
NEW_HELP = OLD_HELP + "      --no-daemon\n"


def request(tmp_path: Path, help: str = NEW_HELP, **more: Any) -> LaunchRequest:
    return LaunchRequest(
        agent="codex-x",
        program=Program(("/bin/codex",), "codex-cli 0.171.0", help),
        cwd=tmp_path,
        folder=tmp_path / "agent",
        hook=("python", "hook.py", "spool"),
        spool=Path("spool"),
        policy=Policy(),
        home=tmp_path,
        environment={},
        **more,
    )


def overrides(argv: tuple[str, ...]) -> dict[str, Any]:
    """What Codex reads from its `-c` options."""
    found: dict[str, Any] = {}
    for flag, value in itertools.pairwise(argv):
        if flag == "-c":
            name, _, text = value.partition("=")
            found[name] = tomllib.loads(f"x={text}")["x"]
    return found


def test_it_is_an_adapter() -> None:
    assert isinstance(CODEX, Adapter)
    assert repr(CODEX) == "<Codex>"


def test_a_new_session(tmp_path: Path) -> None:
    launch = CODEX.launch(request(tmp_path, args=("--search",), model="m"))
    assert launch.argv[:3] == ("/bin/codex", "--no-daemon", "--no-alt-screen")
    assert launch.argv[-3:] == ("--model", "m", "--search")
    assert (launch.output, launch.search, launch.session_id, launch.files) == (True, True, None, {})


def test_only_flags_that_the_release_knows(tmp_path: Path) -> None:
    assert CODEX.launch(request(tmp_path, OLD_HELP)).argv[1:3] == ("--no-alt-screen", "-c")


def test_a_session_is_taken_up_by_its_id(tmp_path: Path) -> None:
    launch = CODEX.launch(request(tmp_path, resume="ID", new_session="other"))
    assert launch.argv[:3] == ("/bin/codex", "resume", "ID")
    assert launch.session_id == "ID"


def test_nothing_of_the_users_policy_is_set(tmp_path: Path) -> None:
    argv = CODEX.launch(request(tmp_path)).argv
    assert set(overrides(argv)) == {"check_for_update_on_startup", "notify"}
    assert not [word for word in argv if "dangerously" in word or word in ("-a", "-s", "--approve-for-me")]


def test_the_bridge_is_a_required_server_with_the_contracts_limit(tmp_path: Path) -> None:
    bridge = BridgeCommand(("/bin/agentd", "bridge", 'a "b" \\c\n'), {"K": "v\u00fc"})
    asked = request(tmp_path, bridge=bridge)
    assert overrides(CODEX.launch(asked).argv)["mcp_servers.api-bridge"] == {
        "command": "/bin/agentd",
        "args": ["bridge", 'a "b" \\c\n'],
        "env": {"K": "v\u00fc"},
        "required": True,
        "startup_timeout_sec": 60,
        "tool_timeout_sec": 5400,
    }
    assert CODEX.native_timeout and CODEX.native_timeout.name == "mcp_servers.api-bridge.tool_timeout_sec"


def test_the_limit_is_in_seconds(tmp_path: Path) -> None:
    bridge = BridgeCommand(("b",), {})
    asked = request(tmp_path, bridge=bridge)
    policy = Policy(mcp=ToolTimeout(2.5, "environment"))
    asked = LaunchRequest(**{**asked.__dict__, "policy": policy})
    assert overrides(CODEX.launch(asked).argv)["mcp_servers.api-bridge"]["tool_timeout_sec"] == 2.5


@pytest.mark.parametrize(
    "value", ['q"\\\n\t\x7f\u00fc\U0001f600', True, 3, 2.5, ["a", ["b"]], {"a b": {"c": 1}}]
)
def test_values_survive_toml(value: Any) -> None:
    assert tomllib.loads(f"x={toml(value)}")["x"] == value


# The program ---------------------------------------------------------------------------------------


def examine(version: str, help: str = OLD_HELP) -> Any:
    return CODEX.examine(Program(("/bin/codex",), version, help))


def test_releases_that_can_be_driven() -> None:
    assert examine("codex-cli 0.147.0") == {"release": [0, 147, 0]}
    assert examine("codex-cli 1.2.3-alpha.1") == {"release": [1, 2, 3]}


@pytest.mark.parametrize(
    ("version", "help", "why"),
    [
        ("codex-cli 0.144.6", OLD_HELP, r"0\.144\.6 isn't supported: agentd needs 0\.147\.0"),
        ("my own 1.0", OLD_HELP, "isn't Codex"),
        ("codex-cli 2.0.0", "nothing", "doesn't know --config"),
    ],
)
def test_others_are_refused_with_a_reason(version: str, help: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        examine(version, help)


# notify --------------------------------------------------------------------------------------------

SAVE = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())"
OWN = "import sys; open(sys.argv[1], 'a').write(sys.argv[2])"


def notified(tmp_path: Path, config: str | None, text: str) -> subprocess.CompletedProcess[bytes]:
    """Run the launch's `notify` as Codex does: the JSON is its last argument."""
    codex_home = tmp_path / "codex"
    codex_home.mkdir()
    if config is not None:
        (codex_home / "config.toml").write_text(config)
    asked = request(tmp_path)
    hook = (sys.executable, "-c", SAVE, str(tmp_path / "spool"))
    argv = overrides(CODEX.launch(LaunchRequest(**{**asked.__dict__, "hook": hook})).argv)["notify"]
    env = {"PATH": os.environ["PATH"], "CODEX_HOME": str(codex_home)}
    return subprocess.run([*argv, text], env=env, capture_output=True, check=False)


def test_the_last_argument_becomes_the_hooks_input(tmp_path: Path) -> None:
    text = json.dumps({"type": "agent-turn-complete", "x": "\u00fc"}, ensure_ascii=False)
    done = notified(tmp_path, None, text)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "spool").read_text() == text


def test_the_users_own_notify_runs_too(tmp_path: Path) -> None:
    own = [sys.executable, "-c", OWN, str(tmp_path / "own")]
    notified(tmp_path, f"notify = {json.dumps(own)}\n", "{}")
    assert (tmp_path / "own").read_text() == (tmp_path / "spool").read_text() == "{}"


@pytest.mark.parametrize("config", ["not toml", "notify = 3", 'notify = ["/no/such/program"]', ""])
def test_a_notify_that_can_not_be_run_is_no_harm(tmp_path: Path, config: str) -> None:
    done = notified(tmp_path, config, "{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "spool").read_text() == "{}"


def test_the_users_notify_is_looked_for_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('notify = ["say", "done"]')
    assert notify.users_own() == ["say", "done"]
