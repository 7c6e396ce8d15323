"""The command line of the demo agent."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

VERSION = "1.0.0"


class Options(argparse.Namespace):
    """What the command line says."""

    session_id: str | None
    resume: str | None
    record: str | None
    hook: list[str]
    model: str
    tick: float
    slow_start: float
    trust: bool
    login: bool
    update: bool
    swallow_enter: int
    burst: float
    no_hooks: bool
    no_record: bool
    silent_start: bool
    fidget: bool
    crash_at_start: int | None
    ignore_term: bool
    child: bool


def parse_options(argv: Sequence[str] | None = None) -> Options:
    """Exits with 2 on a wrong command line, as `--help` and `--version` exit with 0."""
    parser = argparse.ArgumentParser(
        prog="python -m agentd.demo",
        description="An offline coding agent: the prompt says what happens. Type /help in it.",
    )
    add = parser.add_argument
    add("--version", action="version", version=f"{VERSION} (demo)")
    add("--session-id", metavar="UUID", help="the new session's id (default: a random one)")
    add("--resume", metavar="UUID", help="go on with this session")
    add("--record", metavar="PATH", help="where the session's record is appended, as JSON lines")
    add(
        "--hook", action="append", default=[], metavar="ARG",
        help="the hook program, one word of its argv each time, or all of it as one JSON list",
    )  # fmt: skip
    add("--model", default="demo-1", metavar="NAME", help="the model's name (shown; default: %(default)s)")
    add("--tick", type=float, default=1.0, metavar="SECONDS", help="the scripts' unit of time (default: 1)")

    fault = parser.add_argument_group("faults, to test what drives a CLI").add_argument
    fault("--slow-start", type=float, default=0.0, metavar="SECONDS", help="take this long to start")
    fault(
        "--silent-start", action="store_true",
        help="draw nothing (but what --fidget draws) and never get ready",
    )  # fmt: skip
    fault("--crash-at-start", type=int, metavar="STATUS", help="give a reason and exit")
    fault("--trust", action="store_true", help="ask whether the folder is trusted; `No, exit` is preselected")
    fault("--login", action="store_true", help="ask for a login, for ever")
    fault("--update", action="store_true", help="offer an update; the installer is preselected")
    fault("--swallow-enter", type=int, default=0, metavar="N", help="lose the first N Enters after a paste")
    fault(
        "--burst", type=float, default=0.0, metavar="MS",
        help="an Enter this soon after a paste becomes a line end",
    )  # fmt: skip
    fault("--no-hooks", action="store_true", help="fire no hooks")
    fault("--no-record", action="store_true", help="write no record")
    fault("--fidget", action="store_true", help="redraw a clock every second")
    fault("--ignore-term", action="store_true", help="ignore SIGTERM and SIGHUP")
    fault("--child", action="store_true", help="leave a long-lived child process in a session of its own")

    options = parser.parse_args(argv, namespace=Options())
    if len(options.hook) == 1 and options.hook[0].startswith("["):
        try:
            options.hook = [str(word) for word in json.loads(options.hook[0])]
        except ValueError as error:
            parser.error(f"--hook: not a JSON list: {error}")
    if options.session_id and options.resume:
        parser.error("--session-id and --resume exclude each other")
    if options.tick <= 0:
        parser.error("--tick: must be more than zero")
    return options
