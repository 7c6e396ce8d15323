"""The hook program: appends its standard input as one line to a spool file, and ends.

`python hook.py SPOOL`. It runs inside the CLI's turn, so it is small and quick, prints nothing, and
never fails: a hook that fails could block the user's prompt. One line is one `write` on a file opened
for appending, under a lock, so that hooks that run side by side don't mix.
"""

import fcntl
import json
import os
import sys
import time


def main() -> None:
    try:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        try:
            hook = json.loads(text)
        except ValueError:
            hook = {"raw": text}
        line = json.dumps({"time": time.time(), "hook": hook}) + "\n"
        spool = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        fcntl.flock(spool, fcntl.LOCK_EX)
        whole = os.fstat(spool).st_size
        data = line.encode()
        if os.write(spool, data) != len(data):
            # A full disk: half a line would hide the next one.
            os.ftruncate(spool, whole)
    except Exception:
        # Whatever it was, the CLI's turn is worth more than this line.
        pass


if __name__ == "__main__":
    main()
