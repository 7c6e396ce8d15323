"""What the bridge is told by its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentd import paths

TOKEN_FILE_VARIABLE = "AGENTD_TOKEN_FILE"
AGENT_VARIABLE = "AGENTD_AGENT"


class SettingsError(Exception):
    """The bridge can't start; the text says why."""


@dataclass(frozen=True)
class Settings:
    """Whose bridge this is, and where its daemon listens."""

    socket: Path
    agent: str
    token: str = field(repr=False)

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Settings:
        """From the environment and the token's file. Raises SettingsError."""
        file, agent = environment.get(TOKEN_FILE_VARIABLE), environment.get(AGENT_VARIABLE)
        if not file or not agent:
            raise SettingsError(
                f"{TOKEN_FILE_VARIABLE} and {AGENT_VARIABLE} aren't set: the coding agents that agentd "
                "starts start the bridge themselves, there is no need to do it by hand"
            )
        try:
            token = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"the token's file {file} can't be read: {error}") from error
        if not token.isascii() or not token.isprintable() or not token:
            raise SettingsError(f"the token's file {file} holds no token")
        return cls(paths.socket_path(environment), agent, token)
