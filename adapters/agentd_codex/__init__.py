"""The adapter of Codex: the rollout for the truth, its raw output for what has no record, the screen for
dialogs and drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd.adapter import Capabilities, Keys, Launch, LaunchRequest, Program
from agentd.contract.policy import NativeSetting
from agentd.screen import Look, Screen
from agentd_codex import launch, program, prompt, rollout, screen
from agentd_codex.record import CodexReader

CLEARED_LINES = 20
"""How many lines of a draft one clearing removes; it is repeated while something is left."""


class Codex:
    """Implements `agentd.adapter.Adapter`."""

    provider = "codex"
    aliases: tuple[str, ...] = ()
    command: tuple[str, ...] = ("codex",)
    capabilities = Capabilities(
        steer="joins the running turn: at once while text streams (before 0.163 when the text is over), "
        "after the tool while one runs",
        interrupt_evidence="record",
        resume=True,
        ready_by_screen_s=2.0,
        approvals="output",
        tested="0.171.0 and 0.155.1 as installed from npm, against a scripted model; 0.147.0 once",
        unverified=(
            "releases between the tested ones",
            "a real account: sign-in, rate-limit and usage-limit screens, update dialog",
            "the composer's vim mode",
            "macOS",
        ),
    )
    native_timeout: NativeSetting | None = NativeSetting(launch.TOOL_TIMEOUT, "s")
    variables = launch.OUTER_VARIABLES
    interrupt = Keys(("Escape",))
    # C-e goes to the end of the line, then of the next one; C-u takes a line's text, then its break;
    # BSpace leaves the empty shell mode.
    clear = Keys(("C-e",) * CLEARED_LINES + ("C-u",) * (2 * CLEARED_LINES) + ("BSpace",))
    leave: str | None = "/quit"

    def __repr__(self) -> str:
        return "<Codex>"

    def examine(self, program_: Program) -> Mapping[str, Any]:
        return program.examine(program_)

    def launch(self, request: LaunchRequest) -> Launch:
        return launch.launch(request, self.native_timeout)

    def reader(self, memory: dict[str, Any]) -> CodexReader:
        return CodexReader(memory)

    def records(self, open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
        return rollout.find(open_files, memory)

    def look(self, screen_: Screen) -> Look:
        return screen.look(screen_)

    def guard(self, text: str, *, raw: bool) -> str:
        return prompt.guard(text, raw=raw)

    def same_prompt(self, sent: str, taken: str) -> bool:
        return prompt.same(sent, taken)
