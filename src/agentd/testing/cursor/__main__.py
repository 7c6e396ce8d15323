"""`python -m agentd.testing.cursor`."""

from __future__ import annotations

import os
import sys

from agentd.demo.terminal import Terminal
from agentd.testing.cursor.app import App
from agentd.testing.cursor.options import parse_options


def main() -> int:
    options = parse_options()
    if not (os.isatty(0) and os.isatty(1)):
        print("Error: no prompt provided for print mode", file=sys.stderr)
        return 1
    with Terminal() as terminal:
        return App(options, terminal).run()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
