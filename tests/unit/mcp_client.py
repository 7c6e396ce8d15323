"""A small MCP client over pipes: what a CLI says to the bridge, line by line, and what it hears."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import Any

PATIENCE = 20.0
BRIDGE = (sys.executable, "-P", "-m", "agentd.bridge")


class McpClient:
    """Starts the bridge and shakes hands with it. `stderr` is a file for what it complains about."""

    def __init__(self, env: Mapping[str, str], stderr: Path, argv: Sequence[str] = BRIDGE) -> None:
        with stderr.open("wb") as complaints:
            self.process = subprocess.Popen(
                list(argv), env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints
            )
        self.heard: list[dict[str, Any]] = []
        self._lines: Queue[bytes] = Queue()
        self._number = 0
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def say(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> None:
        assert self.process.stdin is not None
        line = {"jsonrpc": "2.0", "method": method, "params": params or {}, **more}
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, timeout: float = PATIENCE) -> dict[str, Any]:
        """The next message. Raises Empty where none comes."""
        message: dict[str, Any] = json.loads(self._lines.get(timeout=timeout))
        self.heard.append(message)
        return message

    def silent(self, seconds: float) -> bool:
        """Whether nothing is said for so long."""
        try:
            self.hear(seconds)
        except Empty:
            return True
        return False

    def begin(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Ask without waiting; the request's id."""
        self._number += 1
        self.say(method, params, id=self._number)
        return self._number

    def answer(self, id: int, timeout: float = PATIENCE) -> dict[str, Any]:
        """The answer to that request."""
        end = time.monotonic() + timeout
        while True:
            message = self.hear(max(0.01, end - time.monotonic()))
            if message.get("id") == id:
                result: dict[str, Any] = message["result"]
                return result

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.begin(method, params))

    def shake_hands(self) -> dict[str, Any]:
        told = self.ask(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        )
        self.say("notifications/initialized")
        return told

    def begin_call(self, tool: str, **arguments: Any) -> int:
        """Call a tool, with progress."""
        meta = {"progressToken": self._number + 1}
        return self.begin("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})

    def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """What the model is told, and whether it is an error."""
        return told(self.answer(self.begin_call(tool, **arguments)))

    def cancel(self, id: int) -> None:
        self.say("notifications/cancelled", {"requestId": id, "reason": "the user pressed Escape"})

    @property
    def progress(self) -> list[tuple[float, str]]:
        """All progress heard so far."""
        params = [m["params"] for m in self.heard if m.get("method") == "notifications/progress"]
        return [(p["progress"], p["message"]) for p in params]

    def close_input(self) -> int:
        """The end of its standard input; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    def __enter__(self) -> McpClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass  # what was not sent any more


def told(result: Mapping[str, Any]) -> tuple[str, bool]:
    [content] = result["content"]
    assert content["type"] == "text"
    return content["text"], bool(result.get("isError"))
