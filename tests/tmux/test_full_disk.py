"""A real daemon whose files may not grow: what a full disk does to it, and what it doesn't.

The kernel's limit on the size of files (RLIMIT_FSIZE) is set to nothing while the daemon runs, so that
each of its writes fails, whatever the file; its agents, which were started before, write on.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agentd.testing.daemon import HOLD, Daemon
from agentd.testing.until import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sets another process's limits")


@contextmanager
def no_room(daemon: Daemon) -> Iterator[None]:
    soft, hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (soft, hard))


def test_a_turn_is_followed_to_its_end_and_new_prompts_are_refused(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    sending = daemon.begin("send", "demo", f"{HOLD}\n@say done", "--json")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    with no_room(daemon):
        daemon.let_go()
        ended = sending.finish()
        assert (ended.code, ended.json["reply"]) == (0, "done")
        refused = daemon.run("send", "demo", "x", "--json")
        assert (refused.code, refused.json["receipt"]) == (1, "rejected")
        assert refused.json["error"]["code"] == "store_unwritable"
        assert "the message was not accepted. Free room on that disk" in refused.json["error"]["message"]
        refused = daemon.run("send", "demo", "x", "--name", "other", "--json")
        assert (refused.code, refused.json["error"]["code"]) == (1, "store_unwritable")
        assert [agent["name"] for agent in daemon.agents()] == ["demo-work"]
        assert daemon.run("wait", "demo").stdout == "done\n"
        assert daemon.run("show", "demo").code == daemon.run("explain", "demo").code == 0
        assert daemon.get("/v1/health")["store_error"]
    until("it is written", lambda: daemon.get("/v1/health")["store_error"] is None)
    texts = [line for line in daemon.run("events").stdout.splitlines() if "the store can" in line]
    assert len(texts) == 1 and "can't be written" in texts[0]
    was = daemon.agent()
    daemon.restart()
    assert daemon.agent() == was, "nothing of it was forgotten"
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"
    assert daemon.prompts() == ["@say hi", f"{HOLD}\n@say done", "@say on"]


def test_a_cli_whose_files_can_not_be_written_is_not_started(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    queued = daemon.begin("send", "demo", "@crash 7", "--json")
    assert queued.finish().code == 5
    with no_room(daemon):
        assert daemon.run("send", "demo", "x").code == 1
        assert daemon.agent()["state"] == "lost"
        assert daemon.run("stop", "demo").code == 0
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"


def test_a_daemon_killed_while_the_disk_is_full_reads_the_rest_from_the_record(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "--no-wait", f"{HOLD}\n@say done").code == 0
    daemon.wrote("tool_use")
    daemon.reaches("working")
    with no_room(daemon):
        daemon.let_go()
        daemon.wrote("turn_end")
        until("it is heard", lambda: daemon.agent()["state"] == "ready")
        daemon.end(signal.SIGKILL)
        daemon.start()
    assert daemon.run("wait", "demo").stdout == "done\n"
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"
    assert daemon.prompts() == [f"{HOLD}\n@say done", "@say on"]
