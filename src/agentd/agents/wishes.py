"""What a caller wants an agent to be, and in what an agent that is there differs from it.

An agent is never used as if it were another one: a difference is told, or the agent is refitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentd.agents.life import Life


@dataclass(frozen=True)
class Wishes:
    """None means no wish. `tools` are those that the config gives to the agent now."""

    provider: str | None = None
    cwd: str | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None

    @property
    def place(self) -> str | None:
        """The directory without links."""
        return str(Path(self.cwd).resolve()) if self.cwd else None

    def elsewhere(self, life: Life) -> bool:
        """Whether another directory is wanted. A conversation belongs to its directory."""
        return self.place is not None and self.place != life.row.cwd

    def differences(self, life: Life, *, alive: bool) -> list[str]:
        """Each in words: what it has, and what is wanted. A CLI that doesn't run takes its model and its
        tools at its next start."""
        row, found = life.row, list[str]()
        if self.provider and self.provider != row.provider:
            found.append(f"provider {row.provider}, not {self.provider}")
        if self.elsewhere(life):
            found.append(f"directory {row.cwd}, not {self.cwd}")
        if not alive:
            return found
        if self.model and self.model != row.model:
            found.append(f"{f'model {row.model}' if row.model else 'the default model'}, not {self.model}")
        if self.tools is not None and life.tools is not None and set(self.tools) != set(life.tools):
            found.append(f"tools {_names(life.tools)}, not {_names(self.tools)} as the config has now")
        return found


def _names(tools: tuple[str, ...]) -> str:
    return ", ".join(tools) or "none"
