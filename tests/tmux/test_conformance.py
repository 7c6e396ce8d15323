"""The conformance suite with the programs that need no account and no network: the simulators."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agentd.testing.conformance import Conformance, Subject

CURSOR = [sys.executable, "-P", "-m", "agentd.testing.cursor", "--build", "2026.09.26"]
QUICK = ["--tick", "0.5", "--deaf", "0.5", "--row-lag", "0.1", "--aborted-lag", "0.5"]


def cursor(root: Path) -> str:
    """The user's own permissions, and the config."""
    (root / "home" / ".cursor").mkdir(exist_ok=True)
    allowed = {"permissions": {"allow": ["Shell(python3)"]}}
    (root / "home" / ".cursor" / "cli-config.json").write_text(json.dumps(allowed))
    return (
        f"[adapters.cursor]\ncommand = {json.dumps(CURSOR)}\nargs = {json.dumps(QUICK)}\n"
        f'[trust]\nworkspaces = ["{root}/work"]\n'
    )


@pytest.mark.xdist_group("demo")
class TestDemo(Conformance):
    subject = Subject(
        provider="demo",
        setup=lambda url, root: '[adapters.demo]\nargs = ["--tick", "0.5"]\n',
        silent_tool=lambda seconds: f"@tool {seconds * 2}",
        asking_tool=lambda path: f"@ask May I write it?\n@bash touch {path}",
        refused=("@error 400 it is wrong",),
        exhausted=None,
        recovers=None,
        scripted_by_model=False,
    )


@pytest.mark.xdist_group("cursor")
class TestCursorSimulator(Conformance):
    subject = Subject(
        provider="cursor",
        setup=lambda url, root: cursor(root),
        silent_tool=lambda seconds: f"@bash python3 -c 'import time; time.sleep({seconds})'",
        asking_tool=lambda path: f"@bash touch {path}",
        trust_dialog=lambda place: None,
        refused=("@err 400 it is wrong",),
        exhausted=None,
        recovers=None,
        scripted_by_model=False,
    )
