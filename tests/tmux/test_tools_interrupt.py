"""`agentd interrupt` ends an agent's tools whatever its turn is doing, and returns when they are gone."""

from __future__ import annotations

from collections.abc import Callable

from agentd.testing.daemon import QUICK, Daemon
from agentd.testing.processes import alive
from agentd.testing.until import until
from tests.tmux.test_tools import CONFIG, STUBBORN, ended, stubborn, tool


def test_while_a_prompt_is_on_its_way(open_daemon: Callable[..., Daemon]) -> None:
    daemon = open_daemon(CONFIG, demo=(*QUICK, "--swallow-enter", "99"))
    sending = daemon.begin("send", "demo", "@say up")
    until("it has a pane", lambda: (agent := daemon.has("demo-work")) and agent["pid"])
    daemon.pane().shows("@say up")
    call = tool(daemon, {"command": STUBBORN})
    pids = stubborn(daemon)
    assert daemon.run("interrupt", "demo").stdout == "interrupted demo-work\n"
    assert not any(map(alive, pids))
    assert "by agentd interrupt" in ended(daemon)["message"] and "by agentd interrupt" in call.read()[1]
    assert sending.finish().code == 130
