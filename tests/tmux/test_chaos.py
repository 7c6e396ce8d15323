"""A short run of random callers, people and faults; `scripts/chaos` has the long ones."""

from __future__ import annotations

import random
import shutil

import pytest

from agentd.testing.chaos.plan import make
from agentd.testing.chaos.run import run


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [2207, random.SystemRandom().randrange(1_000_000)], ids=["known", "new"])
def test_what_agentd_says_stays_true(seed: int) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("needs tmux")
    report = run(make(seed, seconds=12, agents=2))
    assert not report.broken, str(report)
