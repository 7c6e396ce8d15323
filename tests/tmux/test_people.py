"""People in the panes: looking, typing, splitting, killing."""

from __future__ import annotations

import os
import shlex
import signal

from agentd.testing.daemon import AGENTD, HOLD, Daemon
from agentd.testing.panes import Pane, Tmux
from agentd.testing.processes import alive, below
from agentd.testing.until import until


def test_copy_mode_swallows_nothing(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    daemon.tmux("copy-mode", "-t", daemon.pane().id)
    assert daemon.pane().value("#{pane_in_mode}") == "1"
    assert daemon.run("send", "demo", "@say again").stdout == "again\n"
    assert daemon.prompts() == ["@say hi", "@say again"]
    daemon.run("send", "demo", "--no-wait", "@tool 1000")
    daemon.reaches("working")
    daemon.tmux("copy-mode", "-t", daemon.pane().id)
    assert daemon.run("interrupt", "demo").code == 0
    daemon.wrote("interrupted")


def test_windows_and_panes_of_a_person(daemon: Daemon) -> None:
    """The agent's own pane ends; what a person opened beside it stays, in a session that is theirs now."""
    assert daemon.run("send", "demo", "@say hi").code == 0
    pane = daemon.pane()
    daemon.tmux("split-window", "-t", pane.id, "--", "sleep", "1000")
    daemon.tmux("new-window", "-t", "=demo-work:", "--", "sleep", "1001")
    mine = daemon.tmux("list-panes", "-s", "-t", "=demo-work:", "-F", "#{pane_id}").split()
    mine.remove(pane.id)
    assert daemon.run("send", "demo", "@say in my own pane").stdout == "in my own pane\n"
    assert daemon.pane().id == pane.id
    assert daemon.run("stop", "demo").stdout == "stopped demo-work\n"
    try:
        assert daemon.tmux("list-panes", "-a", "-F", "#{pane_id}").split() == mine
        [left] = daemon.tmux("list-sessions", "-F", "#{session_name} #{@agentd}").splitlines()
        assert left.startswith("demo-work-left-") and left.endswith(" ")
        assert daemon.run("send", "demo", "@say again").stdout == "again\n"
        daemon.restart()
        assert daemon.run("stop", "--all").stdout == "stopped demo-work\n"
        assert daemon.tmux("list-panes", "-a", "-F", "#{pane_id}").split() == mine
    finally:
        daemon.tmux("kill-session", "-t", left.split()[0])


def test_a_pane_killed_beside_a_persons_own_window(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    was = daemon.agent()
    daemon.tmux("new-window", "-t", "=demo-work:", "--", "sleep", "1001")
    daemon.tmux("kill-pane", "-t", was["tmux"]["pane"])
    until("it is noticed", lambda: daemon.agent()["pid"] is None)
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"
    assert daemon.agent()["session_id"] == was["session_id"]
    assert daemon.run("stop", "demo").code == 0
    [left] = daemon.tmux("list-sessions", "-F", "#{session_name}").splitlines()
    assert left.startswith("demo-work-left-")
    assert "sleep 1001" in daemon.tmux("list-panes", "-t", f"={left}:", "-F", "#{pane_start_command}")
    daemon.tmux("kill-session", "-t", f"={left}")


def test_a_session_that_a_person_renamed(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    was = daemon.agent()
    daemon.tmux("rename-session", "-t", "=demo-work", "mine")
    assert daemon.run("send", "demo", "@say again").stdout == "again\n"
    daemon.restart()
    assert daemon.agent()["pid"] == was["pid"]
    assert daemon.run("stop", "demo").stdout == "stopped demo-work\n"
    until("it is gone", lambda: not daemon.tmux.runs)


def test_a_session_killed_by_a_person(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    sending = daemon.begin("send", "demo", "@tool 1000", "--json")
    daemon.reaches("working")
    daemon.wrote("tool_use")
    daemon.tmux("kill-session", "-t", "=demo-work")
    ended = sending.finish()
    assert (ended.code, ended.json["outcome"]) == (5, "lost")
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"


def test_a_session_of_a_person_is_left_alone(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    daemon.tmux("new-session", "-d", "-s", "mine", "--", "sleep", "1000")
    try:
        daemon.run("stop", "--all")
        assert daemon.tmux("list-sessions", "-F", "#{session_name}") == "mine"
        daemon.restart()
        assert daemon.tmux("list-sessions", "-F", "#{session_name}") == "mine"
        assert daemon.run("send", "demo", "@say hi").stdout == "hi\n"
    finally:
        daemon.tmux("kill-session", "-t", "=mine")


def test_a_prompt_of_a_person_is_a_turn_too(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    pane = daemon.pane()
    pane.types(HOLD)
    pane.keys("Enter")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    assert daemon.run("send", "demo", "--fail-if-busy", "x").code == 1
    daemon.let_go()
    assert daemon.run("send", "demo", "@say after").stdout == "after\n"
    assert daemon.prompts() == ["@say hi", HOLD, "@say after"]


def test_a_draft_that_was_left_behind_is_no_part_of_the_prompt(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    daemon.pane().types("left behind")
    daemon.pane().shows("left behind")
    assert daemon.run("send", "demo", "@say again").stdout == "again\n"
    assert daemon.prompts() == ["@say hi", "@say again"]


def test_a_pane_killed_by_a_person(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    was = daemon.agent()
    sending = daemon.begin("send", "demo", "@tool 1000", "--json")
    daemon.reaches("working")
    daemon.wrote("tool_use")
    daemon.tmux("kill-pane", "-t", daemon.pane().id)
    ended = sending.finish()
    assert (ended.code, ended.json["outcome"]) == (5, "lost")
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"
    assert daemon.agent()["session_id"] == was["session_id"]
    assert daemon.prompts() == ["@say hi", "@tool 1000", "@say back"]


def test_a_program_killed_in_the_middle_of_a_turn(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    was = daemon.agent()
    sending = daemon.begin("send", "demo", "@bash sleep 1000", "--json")
    daemon.reaches("working")
    family = until("the command runs", lambda: len(found := below(was["pid"])) > 1 and found)
    os.kill(was["pid"], signal.SIGKILL)
    ended = sending.finish()
    assert (ended.code, ended.json["outcome"], ended.json["error"]["code"]) == (5, "lost", "lost")
    until("its children are ended", lambda: not any(map(alive, family)))
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"
    assert daemon.agent()["session_id"] == was["session_id"]
    assert daemon.prompts() == ["@say hi", "@bash sleep 1000", "@say back"]


def test_an_idle_pane_killed_by_a_person(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    was = daemon.agent()
    daemon.tmux("kill-pane", "-t", daemon.pane().id)
    until("it is noticed", lambda: daemon.agent()["pid"] is None)
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"
    assert daemon.agent()["session_id"] == was["session_id"]


def test_a_person_leaves_the_program(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    was = daemon.agent()
    daemon.pane().types("/exit")
    daemon.pane().keys("Enter")
    daemon.reaches("retired")
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"
    assert daemon.agent()["session_id"] == was["session_id"]


def test_the_tmux_server_is_killed(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    assert daemon.run("send", "demo", "@say hi", "--name", "other").code == 0
    family = below(daemon.agent()["pid"])
    sending = daemon.begin("send", "demo", "@bash sleep 1000")
    daemon.wrote("tool_use")
    queued = daemon.begin("send", "demo", "@say queued")
    until("it waits", lambda: daemon.agent()["queued"] == 1)
    os.kill(daemon.tmux.pid, signal.SIGKILL)
    assert sending.finish().code == 5
    assert queued.finish().stdout == "queued\n"
    assert daemon.run("send", "other", "@say back").stdout == "back\n"
    until("nothing of before is left", lambda: not any(map(alive, family)))
    assert daemon.prompts() == ["@say hi", "@bash sleep 1000", "@say queued"]


def test_the_tmux_server_is_asked_to_end(daemon: Daemon) -> None:
    sending = daemon.begin("send", "demo", "@tool 1000")
    daemon.wrote("tool_use")
    daemon.reaches("working")
    daemon.tmux("kill-server")
    assert sending.finish().code == 5
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"


def test_the_attach_command_attaches(daemon: Daemon) -> None:
    """From within another tmux, as a person would."""
    assert daemon.run("send", "demo", "@say hi").code == 0
    words = daemon.run("attach", "demo", "--json").json
    assert shlex.split(daemon.agent()["attach"]) == words
    assert daemon.agent()["attach"] in daemon.run("show", "demo").stdout
    person = Tmux(daemon.root / "person.sock", {**daemon.env, "TERM": "xterm-256color"})
    person(
        "new-session", "-d", "-x", "90", "-y", "30", "-c", str(daemon.work), "--", *AGENTD, "attach", "demo"
    )
    try:
        mine = Pane(person, "%0")
        mine.shows("● hi")
        until("tmux knows of it", lambda: daemon.pane().value("#{session_attached}") == "1")
        assert daemon.pane().value("#{window_width}x#{window_height}") == "120x40"
        mine.types("@say typed")
        mine.keys("Enter")
        mine.shows("● typed")
        mine.keys("C-b", "d")
        until("it is left", lambda: not person.runs)
    finally:
        if person.runs:
            person("kill-server")
    assert daemon.run("send", "demo", "@say on").stdout == "on\n"


def test_a_person_who_types_is_not_disturbed(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@say hi").code == 0
    person = Tmux(daemon.root / "person.sock", {**daemon.env, "TERM": "xterm-256color"})
    person(
        "new-session", "-d", "-x", "120", "-y", "41", "-c", str(daemon.work), "--", *AGENTD, "attach", "demo"
    )
    try:
        mine = Pane(person, "%0")
        mine.shows("● hi")
        mine.types("@say my own")
        mine.shows("@say my own")
        sending = daemon.begin("send", "demo", "@say yours")
        until("it waits", lambda: "typing" in daemon.explained()["why"])
        mine.keys("Enter")
        assert sending.finish().stdout == "yours\n"
        assert daemon.prompts() == ["@say hi", "@say my own", "@say yours"]
    finally:
        person("kill-server")


def test_a_pane_killed_while_the_program_starts(daemon: Daemon) -> None:
    daemon.configure(demo=("--slow-start", "20"))
    daemon.restart()
    sending = daemon.begin("send", "demo", "@say hi", "--json")
    until("it has a pane", lambda: (agent := daemon.has("demo-work")) and agent["pid"])
    daemon.tmux("kill-pane", "-t", daemon.pane().id)
    ended = sending.finish()
    assert (ended.code, ended.json["outcome"], ended.json["error"]["code"]) == (1, "failed", "start_failed")
    assert daemon.agent()["state"] == "failed"


def test_a_pane_killed_while_a_person_is_asked(daemon: Daemon) -> None:
    assert daemon.run("send", "demo", "@ask May I?\n@say thanks").code == 3
    daemon.tmux("kill-pane", "-t", daemon.pane().id)
    agent = daemon.reaches("lost")
    assert agent["attention"] is None
    done = daemon.run("wait", "demo", "--json")
    assert (done.code, done.json["outcome"]) == (5, "lost")
    assert "the next prompt resumes its conversation" in daemon.run("explain", "demo").stdout
    assert daemon.run("send", "demo", "@say back").stdout == "back\n"
