"""What it costs to start: the modules that the command line may import."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    *("agentd.api.client", "agentd.contract", "agentd.model"),
    *("argparse", "asyncio", "dataclasses", "decimal", "email", "http", "http.client", "importlib.metadata"),
    *("json", "logging", "shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile"),
    *(
        "anyio",
        "hypercorn",
        "libtmux",
        "mcp",
        "platformdirs",
        "psutil",
        "rich",
        "starlette",
        "tomlkit",
        "trio",
    ),
}
KNOWN = {
    "agentd",
    "anyio",
    "click",
    "h11",
    "hypercorn",
    "libtmux",
    "mcp",
    "psutil",
    "rich",
    "starlette",
    "trio",
}


def modules_of(code: str) -> set[str]:
    program = f"{code}\nimport sys, builtins\nsys.stderr.write('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def third_party(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & KNOWN


def test_importing_the_command_line() -> None:
    found = modules_of("import agentd.cli")
    assert not found & (HEAVY - modules_of("import click"))
    assert third_party(found) == {"agentd", "click"}
    assert {name for name in found if name.startswith("agentd")} == {
        "agentd", "agentd.cli", "agentd.cli.face", "agentd.cli.failures",
    }  # fmt: skip


@pytest.mark.parametrize("words", [["send", "--help"], ["--help"], ["--version"]])
def test_help_asks_nobody(words: list[str]) -> None:
    found = modules_of(f"from agentd.cli import main; main({json.dumps(words)})")
    # click looks for the width of the terminal with shutil.
    assert not found & (HEAVY - modules_of("import click, shutil"))
    verbs = {name for name in found if name.startswith("agentd.cli.cmd_")}
    assert verbs == ({"agentd.cli.cmd_send"} if words[0] == "send" else set())


def test_a_request_needs_no_http_library() -> None:
    found = modules_of("from agentd.cli import main; main(['--socket', '/nonexistent/x', 'list'])")
    assert not found & (HEAVY - modules_of("import click, json, socket") - {"agentd.api.client"})
