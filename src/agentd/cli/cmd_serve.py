"""`agentd serve`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from agentd.cli.face import Face, common


@click.command()
@click.option(
    "--state-dir", type=click.Path(path_type=Path), metavar="DIR",
    help="Where agents, messages and turns are kept.  [default: $AGENTD_STATE_DIR, else the user's own]",
)  # fmt: skip
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE",
    help="The config file.  [default: $AGENTD_CONFIG, else the user's own]",
)  # fmt: skip
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    default="info", show_default=True, help="How much to log, on standard error.",
)  # fmt: skip
@click.option(
    "--log-format", type=click.Choice(["text", "json"]),
    help="Lines for a person or for a program.  [default: text, json with --json]",
)  # fmt: skip
@click.option(
    "--log-file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Log there instead; FILE and three older ones are kept, of 5 MiB each.",
)  # fmt: skip
@common
@click.pass_obj
def command(
    face: Face,
    state_dir: Path | None,
    config: Path | None,
    log_level: str,
    log_format: str | None,
    log_file: Path | None,
) -> int:
    """Run the daemon in the foreground, until Ctrl-C or SIGTERM.

    It prints `agentd: ready on SOCKET` when it can be asked. Agents outlive it: their panes run on in a
    tmux server of their own, and the next daemon takes them over with their turns, queues and deadlines.

    \b
    Examples:
      agentd serve
      agentd serve --log-level debug --log-format json
      agentd serve --state-dir /tmp/try --socket /tmp/try/agentd.sock

    \b
    Exit codes:
      0  asked to end    1  it can't run (says why)    2  usage
    """
    from agentd import paths
    from agentd.daemon import run

    environment = dict(os.environ)
    if state_dir is not None:
        environment["AGENTD_STATE_DIR"] = str(state_dir.absolute())
    return run(
        socket=face.socket or paths.socket_path(environment),
        state_dir=paths.state_dir(environment),
        config=config.absolute() if config else paths.config_file(environment),
        log_level=log_level,
        log_format=log_format or ("json" if face.json else "text"),
        log_file=log_file.absolute() if log_file else None,
    )
