"""The adapter of Pi: an extension of ours inside Pi tells everything, the session file backs it up, the
screen is read for dialogs and drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd.adapter import Capabilities, Keys, Launch, LaunchRequest, Program
from agentd.contract.policy import NativeSetting
from agentd.screen import Look, Screen
from agentd_pi import launch, program, prompt, screen
from agentd_pi.record import PiReader

_LINES = 60
"""A draft of so many lines is emptied at once: Ctrl-U and Ctrl-K each take a line, or its end. Ctrl-C would
take all of it, but two of them within half a second end Pi."""


class Pi:
    """Implements `agentd.adapter.Adapter`."""

    provider = "pi"
    aliases: tuple[str, ...] = ()
    command: tuple[str, ...] = ("pi",)
    capabilities = Capabilities(
        steer="joins the running turn after its current tool calls or answer",
        interrupt_evidence="record",
        resume=True,
        # Longer than the contract's limit: a Pi whose extension doesn't speak has no record, so a prompt
        # given to it could not be followed.
        ready_by_screen_s=600.0,
        approvals="none",
        tested="1.6.0 and 0.87.1 on Node.js 22, and 0.73.1, as installed from npm, against a scripted model",
        unverified=(
            "releases between the tested ones, and before 0.73.1",
            "a real account: sign-in, rate-limit and usage-limit screens",
            "macOS",
        ),
    )
    native_timeout: NativeSetting | None = NativeSetting("timeout", "s")
    variables = launch.OUTER_VARIABLES
    interrupt = Keys(("Escape",))
    clear = Keys(("C-e", *("C-u",) * 2 * _LINES, *("C-k",) * 2 * _LINES))
    leave: str | None = "/quit"

    def __repr__(self) -> str:
        return "<Pi>"

    def examine(self, program_: Program) -> Mapping[str, Any]:
        return program.examine(program_)

    def launch(self, request: LaunchRequest) -> Launch:
        return launch.launch(request, self.native_timeout)

    def reader(self, memory: dict[str, Any]) -> PiReader:
        return PiReader(memory)

    def records(self, open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
        return {}

    def look(self, screen_: Screen) -> Look:
        return screen.look(screen_)

    def guard(self, text: str, *, raw: bool) -> str:
        return prompt.guard(text, raw=raw)

    def same_prompt(self, sent: str, taken: str) -> bool:
        return prompt.same(sent, taken)
