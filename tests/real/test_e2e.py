"""`scripts/e2e`: a silent call of 150 s under the default backstop, on all real CLIs side by side."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "_e2e.py"


def e2e(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_scenario_goes_well_on_every_cli() -> None:
    done = e2e()
    lines = done.stdout.splitlines()
    assert [line[: line.find(": ok")] for line in lines] == ["claude-code", "codex", "pi"], done
    assert done.returncode == 0


def test_live_tells_what_it_could_not_play(tmp_path: Path) -> None:
    """Nothing played is no success."""
    done = e2e("--live", "codex", HOME=str(tmp_path), PATH="/usr/bin:/bin", SHELL="/bin/sh")
    assert done.stdout.startswith("codex: skipped: "), done
    assert done.returncode == 1


def test_a_provider_that_it_does_not_know_is_refused() -> None:
    done = e2e("cursor")
    assert done.returncode == 2 and "can't be played scripted: cursor" in done.stderr
