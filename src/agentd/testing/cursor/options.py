"""The command line: the real one's, as far as it matters, and what the simulator is told beside it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence

from agentd.testing.cursor.builds import Build, build

NEWEST = "2026.09.26"
_IGNORED = ("api-key", "header", "output-format", "mode", "sandbox")


class Options(argparse.Namespace):
    """What the command line says. Times are seconds."""

    build: Build
    model: str
    resume: str | None
    workspace: str | None
    force: bool
    trust: bool
    tick: float
    deaf: float
    row_lag: float
    aborted_lag: float
    paste_lag: float
    trust_lag: float
    logged_out: bool
    restore: bool
    stops: str
    prompt_hook: str
    steer_id: str
    no_response: bool
    worker: bool
    no_hooks: bool


def parse_options(argv: Sequence[str] | None = None) -> Options:
    """Exits with 1 on an unknown option, as the real one does, and with 0 after `--version` and `--help`."""
    words = list(sys.argv[1:] if argv is None else argv)
    made = _Parser(add_help=False, allow_abbrev=False)
    add = made.add_argument
    add("--build", type=build, default=build(NEWEST), metavar="DAY")
    made.parse_known_args(words, namespace=(first := Options()))
    flags = _names(first.build)
    add("-v", "--version", action="store_true")
    add("-h", "--help", action="store_true")
    add("--model", default="Auto")
    add("--resume")
    add("-f", "--force", "--yolo", action="store_true")
    add("--approve-mcps", action="store_true")
    add("-p", "--print", action="store_true")
    for name in _IGNORED:
        add(f"--{name}")
    made.set_defaults(workspace=None, trust=False)
    if "--workspace" in flags:
        add("--workspace")
    if "--trust" in flags:
        add("--trust", action="store_true")
    _own(add)
    options = made.parse_args(words, namespace=Options())
    if options.version:
        print(options.build.name)
        sys.exit(0)
    if options.help:
        print(_help(options.build))
        sys.exit(0)
    return options


def _own(add: Callable[..., object]) -> None:
    """What only the simulator knows."""
    add("--tick", type=float, default=1.0, help="the scripts' unit of time")
    add("--deaf", type=float, default=1.5, help="keys are lost so long after the banner")
    add("--row-lag", type=float, default=0.3, help="how late the transcript's rows are")
    add("--aborted-lag", type=float, default=2.0, help="how late the last row of an interrupted turn is")
    add("--paste-lag", type=float, default=0.15, help="an Enter so soon after a paste is lost")
    add("--trust-lag", type=float, default=0.0, help="how late the trust dialog appears")
    add("--no-hooks", action="store_true", help="run no hook")
    add("--logged-out", action="store_true", help="ask for a login")
    add("--restore", action="store_true", help="an interrupted prompt comes back as a draft")
    add("--stops", choices=("both", "error", "aborted", "none"), default="both", help="after an interruption")
    add(
        "--prompt-hook",
        choices=("enter", "taken"),
        default="enter",
        help="when a waiting prompt's hook fires",
    )
    add("--steer-id", choices=("old", "new"), default="old", help="the generation of a turn that was steered")
    add("--no-response", action="store_true", help="fire no afterAgentResponse")
    add("--worker", action="store_true", help="fork a worker that outlives the program")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        found = re.search(r"unrecognized arguments: (\S+)", message)
        print(f"error: unknown option '{found[1]}'" if found else f"error: {message}", file=sys.stderr)
        sys.exit(1)


def _names(of: Build) -> set[str]:
    return {word for line in of.flags for word in re.findall(r"--[\w-]+", line.split("  ")[0])}


def _help(of: Build) -> str:
    return "\n".join(
        ["Usage: agent [options] [command] [prompt...]", "", "Start the Cursor Agent", "", "Options:"]
        + [f"  {line}" for line in of.flags]
        + ["", "Commands:", "  login", "  logout", "  status", "  mcp", "  create-chat", "  update"]
    )
