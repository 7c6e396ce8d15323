"""The adapter of Claude Code: hooks and transcript for the truth, the screen for dialogs and drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd.adapter import Capabilities, Keys, Launch, LaunchRequest, Program
from agentd.contract.policy import NativeSetting
from agentd.screen import Look, Screen
from agentd_claude_code import launch, program, prompt, screen
from agentd_claude_code.record import ClaudeReader


class ClaudeCode:
    """Implements `agentd.adapter.Adapter`."""

    provider = "claude-code"
    aliases: tuple[str, ...] = ("claude",)
    command: tuple[str, ...] = ("claude",)
    capabilities = Capabilities(
        steer="joins the running turn at its next tool call, else becomes a turn of its own after it",
        interrupt_evidence="record",
        resume=True,
        ready_by_screen_s=5.0,
        approvals="hook",
        tested="2.1.332 and 2.1.160 as installed from npm, against a scripted model",
        unverified=(
            "releases between the tested ones",
            "a real account: sign-in, rate-limit and usage-limit screens",
            "macOS",
        ),
    )
    native_timeout: NativeSetting | None = NativeSetting(launch.IDLE_TIMEOUT, "ms")
    variables = launch.OUTER_VARIABLES
    interrupt = Keys(("Escape",))
    clear = Keys(("C-e", "C-u"))
    leave: str | None = "/exit"

    def __repr__(self) -> str:
        return "<ClaudeCode>"

    def examine(self, program_: Program) -> Mapping[str, Any]:
        return program.examine(program_)

    def launch(self, request: LaunchRequest) -> Launch:
        return launch.launch(request, self.native_timeout)

    def reader(self, memory: dict[str, Any]) -> ClaudeReader:
        return ClaudeReader(memory)

    def records(self, open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
        return {}

    def look(self, screen_: Screen) -> Look:
        return screen.look(screen_)

    def guard(self, text: str, *, raw: bool) -> str:
        return prompt.guard(text, raw=raw)

    def same_prompt(self, sent: str, taken: str) -> bool:
        return prompt.same(sent, taken)
