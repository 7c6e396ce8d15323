"""Two short runs of random callers, people and faults; `scripts/chaos` has the long ones."""

from __future__ import annotations

import shutil

import pytest

from agentd.testing.chaos.plan import make
from agentd.testing.chaos.run import run


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", [14, 67])
def test_what_agentd_says_stays_true(seed: int) -> None:
    """A new daemon, killed CLIs, panes, sessions and servers, half written lines, sleep, and a slow disk."""
    if shutil.which("tmux") is None:
        pytest.skip("needs tmux")
    report = run(make(seed, seconds=10, agents=2))
    assert not report.broken, str(report)
