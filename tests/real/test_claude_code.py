"""Claude Code against the scripted model: the newest pin, and one old release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentd.testing.conformance import Conformance, Subject

from .install import install


def config(release: str) -> str:
    program = install(release).path
    return f"""
[adapters.claude-code]
command = [{json.dumps(str(program))}]
args = ["--permission-mode", "default"]

[adapters.claude-code.env]
ANTHROPIC_BASE_URL = "MODEL"
ANTHROPIC_AUTH_TOKEN = "dummy"
CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1"
DISABLE_AUTOUPDATER = "1"
CLAUDE_CODE_MAX_RETRIES = "2"

[trust]
workspaces = ["ROOT/work"]
"""


def prepare(home: Path, work: Path) -> None:
    """What the user's own first run and settings would have written."""
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}))
    permissions = {"allow": ["Bash(python3:*)", "Bash(echo:*)"]}
    (home / ".claude" / "settings.json").write_text(json.dumps({"permissions": permissions}))


def subject(release: str) -> Subject:
    return Subject(
        provider="claude-code",
        config=lambda url, root: config(release).replace("MODEL", url).replace("ROOT", str(root)),
        prepare=prepare,
        cli_writes=frozenset({".claude.json"}),
        asking_tool=lambda path: f"@bash touch {path}",
        trust_dialog=lambda place: None,
    )


@pytest.mark.xdist_group("claude-code")
class TestClaudeCode(Conformance):
    subject = subject("claude-code")


@pytest.mark.xdist_group("claude-code-2.1.160")
class TestClaudeCode2x1x160(Conformance):
    subject = subject("claude-code-2.1.160")
