"""What an agent's CLI needs to start the bridge: a command, and a token that is this agent's alone.

There is one token for each start of the CLI. It stands in a 0600 file in the agent's folder, never in an
argv or an environment; the daemon keeps its digest.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sys
from pathlib import Path

from agentd.adapter import BridgeCommand
from agentd.agents.life import Life
from agentd.tmux.terminal import write_private

ARGV = (sys.executable, "-P", "-m", "agentd.bridge")
"""The same as `agentd bridge`. -P: the workspace is where the CLI starts it, and no place for our modules."""
TOKEN_FILE = "bridge-token"


def bridge(life: Life, socket: Path) -> BridgeCommand:
    """A new token for a new start of the CLI, and how the CLI starts the bridge with it."""
    token = secrets.token_urlsafe(32)
    file = life.folder / TOKEN_FILE
    file.unlink(missing_ok=True)
    write_private(file, token)
    life.token = digest(token)
    return BridgeCommand(
        ARGV,
        {"AGENTD_SOCKET": str(socket), "AGENTD_TOKEN_FILE": str(file), "AGENTD_AGENT": life.row.name},
    )


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def fits(life: Life, token: str) -> bool:
    """Whether this is the token of the agent's running CLI."""
    return life.token is not None and hmac.compare_digest(life.token, digest(token))
