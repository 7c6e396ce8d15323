"""The adapter of the demo agent: it treats the program as any other CLI."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd.adapter import Capabilities, Keys, Launch, LaunchRequest, Program, squeeze
from agentd.contract.policy import NativeSetting
from agentd.demo.look import look
from agentd.demo.reader import DemoReader
from agentd.screen import Look, Screen

RECORD = "demo-record.jsonl"


class Demo:
    """Implements `agentd.adapter.Adapter`."""

    provider = "demo"
    aliases: tuple[str, ...] = ()
    command: tuple[str, ...] = (sys.executable, "-P", "-m", "agentd.demo")
    """`-P`: the workspace must not shadow the standard library's modules."""
    capabilities = Capabilities(
        steer="joins the running turn at its next tool boundary, else becomes a turn of its own after it",
        interrupt_evidence="record",
        resume=True,
        ready_by_screen_s=1.0,
        approvals="hook",
        tested="1.0.0, which is part of agentd, in tmux at 80x24 and 200x50",
    )
    native_timeout: NativeSetting | None = None
    variables: tuple[str, ...] = ()
    interrupt = Keys(("Escape",))
    clear = Keys(("C-u",))
    leave: str | None = "/exit"

    def __repr__(self) -> str:
        return "<Demo>"

    def examine(self, program: Program) -> Mapping[str, Any]:
        return {}

    def launch(self, request: LaunchRequest) -> Launch:
        record = request.folder / RECORD
        argv = [*request.program.argv]
        if request.resume:
            argv += ["--resume", request.resume]
        elif request.new_session:
            argv += ["--session-id", request.new_session]
        argv += ["--record", str(record)]
        if request.hook:
            argv += ["--hook", json.dumps(list(request.hook))]
        if request.model:
            argv += ["--model", request.model]
        return Launch(
            argv=(*argv, *request.args),
            follow={"record": record},
            session_id=request.resume or request.new_session,
        )

    def reader(self, memory: dict[str, Any]) -> DemoReader:
        return DemoReader(memory)

    def records(self, open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
        return {}

    def look(self, screen: Screen) -> Look:
        return look(screen)

    def guard(self, text: str, *, raw: bool) -> str:
        """A leading blank: the program looks at the first character, and for a lone `exit`."""
        if raw:
            return text
        trapped = text.startswith(("/", "!", "#")) or text.rstrip() in ("exit", "quit")
        return f" {text}" if trapped else text

    def same_prompt(self, sent: str, taken: str) -> bool:
        return squeeze(sent) == squeeze(taken)
