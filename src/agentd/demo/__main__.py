"""`python -m agentd.demo`."""

from __future__ import annotations

import os
import signal
import sys
import time

from agentd.demo.app import App
from agentd.demo.options import parse_options
from agentd.demo.terminal import Terminal


def main() -> int:
    options = parse_options()
    if options.crash_at_start is not None:
        print("demo: cannot start: told to crash at start", file=sys.stderr)
        return options.crash_at_start
    if not (os.isatty(0) and os.isatty(1)):
        print("demo: it needs a terminal", file=sys.stderr)
        return 1
    if options.ignore_term:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
    if options.slow_start:
        time.sleep(options.slow_start)  # still in cooked mode: what is typed now is lost
    while options.silent_start:
        if options.fidget:
            print(time.strftime("\r%H:%M:%S"), end="", flush=True)
            time.sleep(1)
        else:
            signal.pause()
    with Terminal() as terminal:
        return App(options, terminal).run()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
