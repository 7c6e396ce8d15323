"""The adapter of Cursor's CLI: hooks for the truth, the transcript for the answer, the screen for dialogs.

Nobody could run the CLI here: it is closed, and no package registry has it. What this knows comes from the
vendor's documents, from code and live tests of others, and from panes and payloads that they captured; the
simulator in `agentd.testing.cursor` stands in for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd.adapter import Capabilities, Keys, Launch, LaunchRequest, Program
from agentd.contract.policy import NativeSetting
from agentd.screen import Look, Screen
from agentd_cursor import files, launch, program, prompt, screen
from agentd_cursor.record import CursorReader
from agentd_cursor.workspace import Workspace

LEDGER = "cursor-workspace.json"
"""Beside the agents' folders: it is about all of them, and no agent can have this name."""
BACKSPACES = 200
"""The only key that empties the composer; it is pressed again while a draft is seen."""


class Cursor:
    """Implements `agentd.adapter.Adapter`."""

    provider = "cursor"
    aliases: tuple[str, ...] = ("cursor-agent",)
    command: tuple[str, ...] = ("cursor-agent",)
    """Not `agent`, its newer name: other tools have it too."""
    capabilities = Capabilities(
        steer="joins the running turn at its next safe point (2026.08 and newer), else follows it",
        interrupt_evidence="record",
        resume=True,
        # The banner is painted before keys are heard; others wait 2 s, and 3 s after a trust dialog.
        ready_by_screen_s=15.0,
        ready_needs_screen_s=2.0,
        enter_after_s=0.4,
        approvals="screen",
        tested="no release of the CLI: a simulator of the builds 2026.06, 2026.07 and 2026.09",
        unverified=(
            "everything, with the real CLI: it can't be installed without an account and the vendor's script",
            "that hooks of a project run (one project saw only the user's)",
            "a bracketed paste of many lines, and the Enter after it",
            "that a leading space defuses / ! & @ ?, and U+2800 the words `exit` and `quit`",
            "whether the hook of a prompt typed into a running turn fires at Enter or when it is taken in",
            "`${env:NAME}` in mcp.json, and whether a server inherits the environment",
            "that MCP servers start before the first prompt, which waits for agentd's, 15 s at the most",
            "the wording of the questions about an edit and about a project's MCP servers",
            "login, limit and update screens beyond their first lines",
            "whether an interrupted prompt comes back as a draft",
        ),
    )
    native_timeout: NativeSetting | None = None
    """The CLI documents no limit for a call of an MCP tool."""
    variables = launch.OUTER_VARIABLES
    interrupt = Keys(("Escape",))
    """Not Ctrl-C: a second one leaves."""
    clear = Keys(("BSpace",) * BACKSPACES)
    leave: str | None = "/exit"

    def __repr__(self) -> str:
        return "<Cursor>"

    def examine(self, program_: Program) -> Mapping[str, Any]:
        return program.examine(program_)

    def launch(self, request: LaunchRequest) -> Launch:
        return launch.launch(request)

    def prepare(self, request: LaunchRequest) -> None:
        """Put into the workspace what this agent's CLI reads there. Before it is started; blocks on a lock.

        Raises:
            WorkspaceError: a file of the workspace can't be used; none was changed.
        """
        _workspace(request.folder).take(request.agent, launch.wanted(request))

    def release(self, agent: str, folder: Path) -> None:
        """The CLI of this agent has ended: take out what nobody needs any more.

        Raises:
            WorkspaceError: a file can't be restored; it is tried again at the next release.
        """
        _workspace(folder).give_back(agent)

    def reader(self, memory: dict[str, Any]) -> CursorReader:
        return CursorReader(memory)

    def records(self, open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
        return files.records(open_files, memory)

    def look(self, screen_: Screen) -> Look:
        return screen.look(screen_)

    def guard(self, text: str, *, raw: bool) -> str:
        return prompt.guard(text, raw=raw)

    def same_prompt(self, sent: str, taken: str) -> bool:
        return prompt.same(sent, taken)


def _workspace(folder: Path) -> Workspace:
    return Workspace(folder.parent / LEDGER)
