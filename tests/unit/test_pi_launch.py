"""How Pi is started: only with flags that its `--help` names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from agentd.adapter import BridgeCommand, LaunchRequest, Program
from agentd.contract import Policy
from agentd_pi import Pi
from agentd_pi.launch import EXTENSION

OLD = "  --session <path|id>\n  --extension, -e <path>\n"
NEW = OLD + "  --session-id <id>\n  --tui-mode <mode>\n  --no-mcp\n"
FILE = "/home/me/.pi/agent/sessions/--work--/2026_u1.jsonl"


def request(help: str = NEW, **changes: object) -> LaunchRequest:
    wanted = LaunchRequest(
        agent="pi-work",
        program=Program(("/bin/node", "/opt/cli.js"), "1.6.0", help),
        cwd=Path("/work"),
        folder=Path("/state/pi-work"),
        hook=("python", "hook.py", "/state/pi-work/spool-1.jsonl"),
        spool=Path("/state/pi-work/spool-1.jsonl"),
        policy=Policy(),
        home=Path("/home/me"),
        environment={},
        new_session="u1",
    )
    return replace(wanted, **changes)  # type: ignore[arg-type]


START = ["/bin/node", "/opt/cli.js", "--extension", str(EXTENSION)]


def test_a_new_session() -> None:
    launch = Pi().launch(request(model="mock/one", args=("--offline",)))
    rest = ["--session-id", "u1", "--model", "mock/one", "--tui-mode", "regular", "--offline"]
    assert list(launch.argv) == START + rest
    assert launch.session_id == "u1"
    assert launch.env == {"AGENTD_PI_SPOOL": "/state/pi-work/spool-1.jsonl"}
    assert not launch.files and not launch.follow, "the extension names the session file"


def test_an_old_release_would_send_an_unknown_flag_s_value_to_the_model() -> None:
    launch = Pi().launch(request(OLD))
    assert list(launch.argv) == START
    assert launch.session_id is None
    assert launch.env["AGENTD_PI_HANDLE"] == "file"


def test_going_on() -> None:
    new = Pi().launch(request(resume="u0"))
    assert list(new.argv) == [*START, "--session-id", "u0", "--tui-mode", "regular"]
    old = Pi().launch(request(OLD, resume=FILE))
    assert list(old.argv) == [*START, "--session", FILE]
    assert (new.session_id, old.session_id) == ("u0", FILE)


def test_going_on_after_pi_was_replaced_by_another_release() -> None:
    assert "--session" in Pi().launch(request(resume=FILE)).argv
    assert list(Pi().launch(request(OLD, resume="u0")).argv) == [*START, "--session", "u0"]


def test_the_bridge_is_offered_with_the_contract_s_backstop_in_seconds() -> None:
    bridge = BridgeCommand(("/bin/agentd", "bridge"), {"AGENTD_AGENT": "pi-work"})
    launch = Pi().launch(request(bridge=bridge))
    offer = json.loads(launch.env["AGENTD_PI_MCP"])
    assert launch.await_bridge
    assert offer == {
        "name": "api-bridge",
        "config": {
            "command": "/bin/agentd",
            "args": ["bridge"],
            "env": {"AGENTD_AGENT": "pi-work"},
            "exposure": "direct",
            "timeout": 5400,
        },
    }


def test_a_release_without_mcp_is_not_waited_for() -> None:
    wanted = request(OLD, bridge=BridgeCommand(("/bin/agentd", "bridge"), {}))
    program = replace(wanted.program, facts={"mcp": False})
    launch = Pi().launch(replace(wanted, program=program))
    assert not launch.await_bridge
    assert "timeout" not in json.loads(launch.env["AGENTD_PI_MCP"])["config"], "it documents none"


def test_the_extension_comes_with_the_package() -> None:
    text = EXTENSION.read_text(encoding="utf-8")
    for name in ("AGENTD_PI_SPOOL", "AGENTD_PI_MCP", "AGENTD_PI_HANDLE"):
        assert f"process.env.{name}" in text
