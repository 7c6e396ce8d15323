"""The directives in a prompt: what the simulator is told to do. Pure.

One directive a line, run in order; lines without one are ignored if any line has one. N counts ticks (one
second each, unless `--tick` says otherwise) and may be a fraction.

    @say TEXT             a piece of the answer
    @slow N TEXT          stream TEXT in N pieces, one a tick
    @delay N TEXT         N ticks of silence, then TEXT
    @bash CMD             run CMD in a shell; asks first, unless its program is on the allowlist
    @write FILE TEXT      write a file; asks first
    @delete FILE          delete a file; asks first
    @ask TEXT             call a tool of an MCP server; asks first
    @fetch URL            asks first, and fetches nothing
    @mode TEXT            ask to switch to agent mode
    @err TEXT             fail as an error of the service does
    @limit                fail with the usage limit; the composer doesn't come back
    @cut                  some text, then the stream breaks
    @silence              work for ever without a sign of life
    @crash [STATUS]       the program exits at once
"""

from __future__ import annotations

import re

from agentd.demo.script import Step, pieces

__all__ = ["Step", "parse", "pieces", "small_talk"]

_LINE = re.compile(r"[\s\u2800]*@([a-z]+)(?:\s+(.*?))?\s*")
_COUNT = re.compile(r"(\d+(?:\.\d+)?)(?:\s+(.*))?", re.DOTALL)
_COUNTED = {"slow", "delay"}
_PLAIN = {
    "say", "bash", "write", "delete", "ask", "fetch", "mode", "err", "limit", "cut", "silence", "crash",
}  # fmt: skip


def parse(prompt: str) -> list[Step]:
    """The prompt's directives, in order; empty where it has none."""
    steps = []
    for line in prompt.split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        name, text = found[1], found[2] or ""
        if name in _COUNTED:
            count = _COUNT.fullmatch(text)
            steps.append(Step(name, (count[2] or "") if count else text, float(count[1]) if count else 1.0))
        elif name in _PLAIN:
            steps.append(Step(name, text))
    return steps


def small_talk(prompt: str, number: int) -> str:
    """The answer to a prompt without directives: which prompt it answers, and how many the chat has had."""
    first = prompt.strip().split("\n", 1)[0].strip()
    return f"This is prompt {number} of the chat: {first} ({len(prompt)} characters)"
