"""The config: read whole, or refused with file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentd.config import DEFAULT_TOOLS, AdapterConfig, Config, ConfigError, CustomTool, History, load
from agentd.contract import Readiness
from agentd.contract.policy import IDLE_RETENTION

WHOLE = """
[adapters.codex]
command = ["codex"]
args = ["--x"]
env = { A = "1" }
readiness = { inactivity = "10m", absolute = "90m" }

[retention]
idle = "1h"

[history]
keep = "168h"
events = 5000

[trust]
workspaces = ["~/src/*"]

[bridge]
tools = ["execute_shell_command"]

[tools.custom.deploy]
command = ["./deploy"]
description = "Deploys"
input_schema = { type = "object" }
long_running = true
"""


def config(folder: Path, text: str) -> Config:
    path = folder / "config.toml"
    path.write_text(text)
    return load(path)


def test_no_file_is_the_defaults(tmp_path: Path) -> None:
    found = load(tmp_path / "none.toml")
    assert found == Config(tmp_path / "none.toml")
    assert (found.retention_s, found.bridge_tools) == (IDLE_RETENTION, DEFAULT_TOOLS)
    assert found.adapter("pi") == AdapterConfig()
    assert found.history == History(keep_s=30 * 24 * 3600.0, events=100_000)


def test_the_whole_file(tmp_path: Path) -> None:
    found = config(tmp_path, WHOLE)
    assert found.adapter("codex") == AdapterConfig(
        ("codex",), ("--x",), {"A": "1"}, Readiness(inactivity=600.0, absolute=5400.0)
    )
    assert (found.retention_s, found.retention_set) == (3600.0, True)
    assert found.history == History(keep_s=7 * 24 * 3600.0, events=5000)
    assert found.bridge_tools == ("execute_shell_command",)
    assert found.custom_tools == {
        "deploy": CustomTool("deploy", ("./deploy",), "Deploys", {"type": "object"}, True)
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[retention]\nidel = '1h'", ":2: retention.idel: unknown key; known here: idle"),
        ("\n[retention]\nidle = '1'", ":3: retention.idle: '1' is no duration; write it like"),
        ("retention.idle = '-1h'", ":1: retention.idle: must be more than zero"),
        ("[retention]\nidle = 3", ":2: retention.idle: must be a duration in quotes"),
        ("[nonsense]", ":1: nonsense: unknown key"),
        ("[trust]\nworkspaces = 'x'", ":2: trust.workspaces: must be a list of strings"),
        ("[adapters.pi]\ncommand = []", ":2: adapters.pi.command: must name a program"),
        ("[adapters.pi]\nargs = [1]", ":2: adapters.pi.args: must be a list of strings"),
        ("[adapters.pi.env]\nA = 1", ":2: adapters.pi.env.A: must be a string"),
        ("[adapters]\npi = 3", ":2: adapters.pi: must be a table"),
        ("[adapters.pi]\nreadiness = { idle = '1m' }", ":2: adapters.pi.readiness.idle: unknown key"),
        ("[tools.custom.x]\ndescription = 'x'", ":1: tools.custom.x: needs a command"),
        ("[tools.custom.x]\ncommand = ['x']\nlong_running = 1", ":3: tools.custom.x.long_running: must be"),
        ("[tools.custom.x]\ncommand = ['x']\ndescription = 1", ":3: tools.custom.x.description: must be"),
        ("[history]\nkeep = '30d'", ":2: history.keep: '30d' is no duration; write it like 90m"),
        ("[history]\nkeep = '59m'", ":2: history.keep: must be at least 1h"),
        ("[history]\n\nevents = 999", ":3: history.events: must be a whole number from 1000 on"),
        ("history.events = true", ":1: history.events: must be a whole number"),
        ("[history]\nkep = '1h'", ":2: history.kep: unknown key; known here: events, keep"),
        ("a = ", ":1:"),
    ],
)
def test_an_error_names_file_line_and_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/config.toml")
    assert says in str(caught.value)


def test_a_provider_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[adapters.pi]\nargs = []\n[adapters.claude_code]\nargs = ["x"]')
    with pytest.raises(
        ConfigError, match=r":3: adapters\.claude_code: unknown key; known here: claude-code, pi"
    ):
        load(path, {"claude-code": None, "pi": None})
    assert load(path, ["claude_code", "pi"]).adapter("claude_code").args == ("x",)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="can't be read"):
        load(path)


@pytest.mark.parametrize(
    ("pattern", "place", "trusted"),
    [
        ("~/src/*", "/home/u/src/a", True),
        ("~/src/*", "/home/u/src/a/b", False),
        ("~/src/*", "/home/u/src", False),
        ("~", "/home/u", True),
        ("~other/x", "/home/u/x", False),
        ("/srv/*/web", "/srv/a/web", True),
        ("/srv/[ab]", "/srv/c", False),
        ("src", "/home/u/src", False),
    ],
)
def test_trust_is_one_folders_name_a_star(pattern: str, place: str, trusted: bool) -> None:
    found = Config(trusted=(pattern,))
    assert found.trusts(Path(place), Path("/home/u")) is trusted
