"""The hook program: one line for the agent's spool, `{}` for Cursor, and no failure.

`python hook.py FOLDER`. The entry in `.cursor/hooks.json` serves every agent of the workspace, so the spool
is named by the CLI's environment; in a Cursor that agentd didn't start, or that another daemon started,
there is none below FOLDER, and nothing is written. Cursor waits for the answer: `{}` permits, asks and adds
nothing. The line is appended as `agentd.records.hook` does it: one write on a locked file.
"""

import fcntl
import json
import os
import sys
import time

SPOOL = "AGENTD_CURSOR_SPOOL"
KEPT = (
    "hook_event_name", "conversation_id", "generation_id", "transcript_path", "cursor_version", "model",
    "prompt", "tool_name", "tool_use_id", "error_message", "failure_type", "is_interrupt", "text", "status",
    "loop_count", "reason", "final_status", "composer_mode", "is_background_agent",
)  # fmt: skip
"""What is read or helps a person; no address of the user's, no file contents, no tool output."""


def main() -> None:
    try:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        spool = os.environ.get(SPOOL, "")
        folder = os.path.join(sys.argv[1], "")  # noqa: PTH118 - pathlib takes as long to load as all the rest
        if spool.startswith(folder):
            append(spool, text)
    except Exception:
        # Whatever it was, the CLI's turn is worth more than this line.
        pass
    print("{}")


def append(spool: str, text: str) -> None:
    try:
        whole = json.loads(text)
        hook = {name: value for name, value in whole.items() if name in KEPT}
    except (ValueError, AttributeError):
        hook = {"raw": text[:1000]}
    data = (json.dumps({"time": time.time(), "hook": hook}) + "\n").encode()
    file = os.open(spool, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    size = os.fstat(file).st_size
    if os.write(file, data) != len(data):
        # A full disk: half a line would hide the next one.
        os.ftruncate(file, size)


if __name__ == "__main__":
    main()
