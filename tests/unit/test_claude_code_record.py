"""Claude Code's reader: what it remembers stays small."""

from __future__ import annotations

import json
from typing import Any

from agentd.model import Kind
from agentd_claude_code.record import MOST_WAITING, TRANSCRIPT, ClaudeReader


def test_texts_that_wait_for_ever_are_forgotten() -> None:
    memory: dict[str, Any] = {}
    reader = ClaudeReader(memory)

    def queue(operation: str, **more: str) -> list[Kind]:
        row = {"type": "queue-operation", "operation": operation, **more}
        return [event.kind for event in reader.feed(TRANSCRIPT, row)]

    for number in range(5 * MOST_WAITING):
        assert queue("enqueue", content=f"text {number} " + "x" * 100) == [Kind.STEER_WAITING]
        queue("something new")
    assert len(json.dumps(memory)) < MOST_WAITING * 150
    newest = f"text {5 * MOST_WAITING - 1} " + "x" * 100
    assert queue("remove", content=newest) == [Kind.STEER_JOINED]
