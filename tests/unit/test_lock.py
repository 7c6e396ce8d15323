"""One process holds a lock, and a dead one none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentd.lock import Held, Lock

HOLDER = """
import subprocess, sys
from pathlib import Path
from agentd.lock import Lock
lock = Lock(Path(sys.argv[1]), "the other one")
child = subprocess.Popen(["sleep", "1000"], close_fds=False, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_the_second_one_is_told_who_holds_it(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock", "the first one, with a long name")
    with pytest.raises(Held, match=r"^the first one, with a long name$"):
        Lock(tmp_path / "lock", "x")
    first.close()
    second = Lock(tmp_path / "lock", "second")
    with pytest.raises(Held, match=r"^second$"):
        Lock(tmp_path / "lock")
    second.close()


def test_a_killed_holder_holds_nothing_nor_does_what_it_started(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        child = int(holder.stdout.readline())
        try:
            with pytest.raises(Held, match="the other one"):
                Lock(tmp_path / "lock")
            holder.kill()
            holder.wait()
            os.kill(child, 0)
            Lock(tmp_path / "lock").close()
        finally:
            os.kill(child, signal.SIGKILL)
