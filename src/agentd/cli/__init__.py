"""The command line: parse, one request over the daemon's socket, print. One file a verb, `cmd_VERB.py`.

Starting must be cheap, so this module imports click and the standard library alone, and each verb is
imported when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from agentd import __version__
from agentd.cli.face import Face, common, complain, nowhere
from agentd.cli.failures import BROKEN_PIPE, USAGE, explain

VERBS = {
    "serve": "Run the daemon in the foreground.",
    "send": "Give an agent a prompt; print its reply.",
    "wait": "Wait until the current turn is over; print its reply.",
    "interrupt": "End the running turn; the agent stays.",
    "stop": "End the turn, the CLI, its children and its pane.",
    "prune": "Remove agents that no longer serve, with their history and files.",
    "list": "List all agents.",
    "show": "Show one agent: state, turn, queue, last reply, how to attach.",
    "answer": "Answer the dialog that an agent waits with.",
    "attach": "Attach this terminal to an agent's pane.",
    "events": "Print normalised events, one JSON line each.",
    "explain": "Say why an agent is in its state, and who said so.",
    "timeouts": "Print the timeout contract with the values in force.",
    "adapters": "Print the adapters found and the CLI each would run.",
    "bridge": "Serve an agent's tools to its CLI over MCP (started by the CLIs).",
}


class Verbs(click.Group):
    """A group that imports a verb when it is called, and lists them all without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"agentd.cli.cmd_{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=Verbs,
    options_metavar="[OPTIONS]",
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="agentd", message="%(prog)s %(version)s")
@common
def app() -> None:
    """Keep coding-agent CLIs alive in tmux panes, hand them prompts, and learn what became of each one.

    TARGET is an agent's name (see `agentd list`), or a provider: `claude-code` (or `claude`), `codex`,
    `cursor`, `pi`, `demo`. A provider means its agent for this directory, started on first use.

    \b
    Examples:
      agentd serve                                 the daemon, in a terminal of its own
      agentd send claude "Why does test_x fail?"   the reply on standard output
      git diff | agentd send codex --name review   a prompt from standard input
      agentd list                                  who is there, and doing what

    \b
    Exit codes:
      0  done                      4    a deadline fired (says the layer)
      1  the turn failed           5    the agent was lost
      2  usage                     6    no daemon
      3  a person is needed        130  interrupted

    \b
    Completion of commands, options and targets; put the line into your shell's start file:
      bash   eval "$(_AGENTD_COMPLETE=bash_source agentd)"
      zsh    eval "$(_AGENTD_COMPLETE=zsh_source agentd)"
      fish   _AGENTD_COMPLETE=fish_source agentd | source
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """The program `agentd`: run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stderr is None:  # it is closed
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if instruction := os.environ.get("_AGENTD_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(app, {}, "agentd", "_AGENTD_COMPLETE", instruction)
    face = Face()
    try:
        try:
            return _run(face, words)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, BrokenPipeError) or (explained := explain(error)) is None:
                raise
            exit_code, payload = explained
            complain(payload["message"])
            if sys.stdout is not None and (face.json or (exit_code == USAGE and _wants_json(words))):
                face.emit(face.frame(payload))
            return exit_code
    except BrokenPipeError:
        # Whoever read our output went away. Nothing is left to say, and nowhere to say it.
        nowhere(sys.stdout, sys.stderr)
        return BROKEN_PIPE


def _run(face: Face, words: list[str]) -> int:
    try:
        with app.make_context("agentd", words or ["--help"], obj=face) as context:
            exit_code = app.invoke(context)
    except click.exceptions.Exit as end:
        exit_code = end.exit_code
    if sys.stdout is not None:
        sys.stdout.flush()
    return exit_code if isinstance(exit_code, int) else 0


def _wants_json(words: list[str]) -> bool:
    # A command line that could not be parsed may still say how it wants to hear of it.
    return "--json" in (words[: words.index("--")] if "--" in words else words)
