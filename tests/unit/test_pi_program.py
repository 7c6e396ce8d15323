"""What the installed Pi tells about itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentd.adapter import Program, Unsupported
from agentd_pi import Pi

HELP = "  --session <path|id>\n  --extension, -e <path>   Load an extension file\n"
CRASH = """\
file:///opt/pi/dist/bundle/cli.js:2
import { createRequire, enableCompileCache } from "node:module";
SyntaxError: The requested module 'node:module' does not provide an export named 'enableCompileCache'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)

Node.js v20.20.2"""


def test_a_release_tells_what_it_can_do() -> None:
    new = Program(("/bin/pi",), "1.6.0", HELP + "  --no-mcp    Disable built-in MCP support\n")
    assert Pi().examine(new) == {"release": [1, 6, 0], "mcp": True}
    assert Pi().examine(Program(("/bin/pi",), "0.73.1", HELP)) == {"release": [0, 73, 1], "mcp": False}


@pytest.mark.parametrize(
    ("version", "help"), [("3.14", HELP), ("1.6.0", "usage: pi DIGITS"), ("", ""), ("pi 3", HELP)]
)
def test_another_program_of_that_name(version: str, help: str) -> None:
    with pytest.raises(Unsupported, match="isn't the Pi coding agent"):
        Pi().examine(Program(("/usr/bin/pi",), version, help))


def test_a_release_that_goes_on_with_no_session() -> None:
    with pytest.raises(Unsupported, match="--session"):
        Pi().examine(Program(("pi",), "0.1.0", "  --extension <path>"))


def test_a_node_that_is_too_old(tmp_path: Path) -> None:
    script = tmp_path / "dist" / "bundle" / "cli.js"
    script.parent.mkdir(parents=True)
    script.touch()
    (tmp_path / "package.json").write_text(json.dumps({"engines": {"node": ">=22.19.0"}}))
    link = tmp_path / "pi"
    link.symlink_to(script)
    for argv in (("/usr/bin/node", str(script)), (str(link),)):
        with pytest.raises(Unsupported) as error:
            Pi().examine(Program(argv, CRASH, ""))
        assert "this Pi needs Node.js >=22.19.0, and was run by v20.20.2" in str(error.value)
        assert "[adapters.pi] command" in str(error.value)


def test_a_node_that_is_too_old_for_an_unknown_package() -> None:
    with pytest.raises(Unsupported, match=r"needs a newer Node\.js, and was run by v20\.20\.2"):
        Pi().examine(Program(("/nowhere/pi",), CRASH, ""))


def test_a_crash_of_another_kind() -> None:
    with pytest.raises(Unsupported, match=r"crashes under Node\.js v22\.21\.1: Error: no space"):
        Pi().examine(Program(("/nowhere/pi",), "Error: no space left\n\nNode.js v22.21.1", ""))
