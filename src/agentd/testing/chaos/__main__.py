"""`python -m agentd.testing.chaos`: runs with one seed after the other, until the time is over."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from agentd.testing.chaos.plan import make
from agentd.testing.chaos.run import run


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where a rule was broken."""
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, help="new seeds until this much time is over (default: one run)")
    add("--seed", type=int, help="the first run's seed (default: a random one)")
    add("--seconds", type=float, default=40.0, help="how long things begin in a run (default: %(default)g)")
    add("--agents", type=int, default=3, metavar="K", help="how many agents (default: %(default)s)")
    add("--without", default="", metavar="WORDS", help="leave these deeds and kinds of prompt out")
    add("--keep", type=Path, metavar="DIR", help="copy the daemon's folder there where a rule is broken")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    end = time.monotonic() + 60 * (options.minutes or 0)
    broken = 0
    while True:
        without = frozenset(options.without.replace(",", " ").split())
        report = run(make(seed, options.seconds, options.agents, without=without), options.keep)
        print(report, flush=True)
        broken += bool(report.broken)
        seed += 1
        if time.monotonic() >= end:
            return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
