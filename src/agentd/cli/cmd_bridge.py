"""`agentd bridge`."""

from __future__ import annotations

import os

import click

from agentd.cli.face import Face, common
from agentd.cli.failures import USAGE, CommandError


@click.command()
@common
@click.pass_obj
def command(face: Face) -> int:
    """Serve an agent's tools to its CLI: the MCP server `api-bridge` on standard input and output.

    The coding agents start it themselves; agentd tells each one how. It forwards to the daemon, with a
    token that is this agent's alone (AGENTD_TOKEN_FILE, AGENTD_AGENT), and ends with its standard input.

    \b
    Examples:
      agentd bridge    as a coding agent starts it, with the variables that agentd gave it

    \b
    Exit codes:
      0  standard input ended    2  it was started without what it needs
    """
    from agentd.bridge.settings import Settings, SettingsError
    from agentd.bridge.start import start

    environment = dict(os.environ)
    if face.socket is not None:
        environment["AGENTD_SOCKET"] = str(face.socket)
    try:
        settings = Settings.read(environment)
    except SettingsError as error:
        raise CommandError("usage", str(error), USAGE) from error
    return start(settings)
