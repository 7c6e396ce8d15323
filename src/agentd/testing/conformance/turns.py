"""Readiness, turns, replies, ends and lives: what every adapter must do with its CLI."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from agentd.testing.conformance.bench import PATIENCE, Bench, events, snapshot, unchanged
from agentd.testing.conformance.subject import Subject, leave_out
from agentd.testing.daemon import Daemon
from agentd.testing.model import ScriptedModel
from agentd.testing.processes import alive
from agentd.testing.until import until

RESULT_KEYS = {
    "agent", "provider", "turn", "receipt", "outcome", "reply", "error", "session_id", "started_at",
    "ended_at", "duration_s",
}  # fmt: skip
TRAPS = (
    "/help", "/clear now please", "/nosuchcommand x", "/etc/passwd is a path", "!echo banged", "# a heading",
    "& more", "? really", "@README.md", "exit", "quit", ":q", "exit\nnow", "ends with a semicolon;",
    "-leading dash", "--help", "ends with a backslash \\", "a\ttab", "$HOME `id` %s #{pane_id} \"q\" 'q'",
    "\u00e9\u00e9 \u4e2d\u6587 \U0001f469\u200d\U0001f469\u200d\U0001f467 \ufdfa",
    "zero\u200bwidth and \u202e reversed",
    "paste\x1b[201~end\x03 and \x07 bells", "~", ".", "  leading blanks",
)  # fmt: skip

NEEDS: Mapping[str, tuple[str, ...]] = {
    "exhausted": ("test_retries_that_are_exhausted_fail_the_turn",),
    "recovers": ("test_a_retry_that_succeeds_is_no_failure",),
    "asking_tool": ("test_an_approval_is_a_persons", "test_a_denied_approval_does_nothing"),
    "trust_dialog": ("test_a_trust_dialog_is_attention",),
    "resumes": (
        "test_a_person_leaves_and_the_next_prompt_resumes",
        "test_killed_in_a_turn_is_lost_and_can_be_resumed",
    ),
    "steers_text": ("test_steering_in_a_tool_joins_the_turn", "test_steering_in_text_is_answered"),
}
"""Which tests a subject doesn't have where it lacks a part."""


class Conformance:
    """Inherit, and set `subject`."""

    subject: ClassVar[Subject]

    def __init_subclass__(cls) -> None:
        leave_out(cls, NEEDS, cls.subject)

    @pytest.fixture(scope="class")
    @classmethod
    def bench(cls) -> Iterator[Bench]:
        subject = cls.subject
        with ScriptedModel() as model:
            daemon = Daemon()
            daemon.configure(subject.setup(model.url, daemon.root))
            with daemon:
                before = snapshot(daemon.home, daemon.work)
                yield Bench(subject, daemon, model)
                changed = [path for path in unchanged(before) if Path(path).name not in subject.cli_writes]
            assert not changed, f"the user's own files were changed: {changed}"

    # Ready, turns, replies ------------------------------------------------------------------------

    def test_the_first_prompt_starts_it_and_gets_its_reply(self, bench: Bench) -> None:
        done = bench.send("@say first reply")
        assert (done.code, done.stdout) == (0, "first reply\n"), f"{done}\n{bench.explain()}"

    def test_the_same_pane_serves_the_next_prompt(self, bench: Bench) -> None:
        bench.say("@say one")
        before = bench.agent()
        assert bench.say("@say two\nwith a second line") == "two"
        after = bench.agent()
        assert (after["pid"], after["session_id"]) == (before["pid"], before["session_id"])
        assert after["state"] == "ready"

    def test_json_has_the_public_keys(self, bench: Bench) -> None:
        result = bench.send("@say as json", "--json").json
        assert set(result) == RESULT_KEYS
        assert (result["outcome"], result["receipt"], result["reply"]) == ("completed", "accepted", "as json")
        assert result["session_id"], "no session id: from `Launch.session_id` or a SESSION_STARTED event"
        assert result["error"] is None and result["duration_s"] >= 0
        record = bench.agent()["files"]["record"]
        assert "as json" in Path(record).read_text(), "`agentd show` names the CLI's own record"

    def test_a_tool_turn_replies_with_its_last_text(self, bench: Bench) -> None:
        reply = bench.say(f"{bench.subject.silent_tool(0.1)}\n@say after the tool")
        assert reply == "after the tool"
        kinds = [event["kind"] for event in events(bench)]
        assert kinds.count("tool_started") and kinds.count("tool_ended")

    def test_each_of_many_senders_gets_its_own_answer(self, bench: Bench) -> None:
        bench.say("@say warm")
        running = {n: bench.begin(f"@slow 1 answer-{n}") for n in range(4)}
        for n, process in running.items():
            done = process.finish(PATIENCE)
            assert done.code == 0, done
            assert done.stdout.rstrip().endswith(f"answer-{n}")

    # Text -----------------------------------------------------------------------------------------

    @pytest.mark.parametrize("text", TRAPS)
    def test_text_arrives_as_text(self, bench: Bench, text: str) -> None:
        """Whatever its first character is, the model sees it, and the CLI goes on living."""
        before = len(bench.model.requests)
        bench.say(text)
        assert bench.heard(text, before), [r.body for r in bench.model.requests[before:]]

    def test_one_byte_arrives(self, bench: Bench) -> None:
        assert bench.say("x")

    # During a turn --------------------------------------------------------------------------------

    def test_a_queued_prompt_waits_its_turn(self, bench: Bench) -> None:
        first = bench.streaming("@slow 2 first done")
        second = bench.begin("@say second done")
        assert first.finish(PATIENCE).stdout.rstrip().endswith("first done")
        assert second.finish(PATIENCE).stdout.rstrip().endswith("second done")

    def test_fail_if_busy_refuses(self, bench: Bench) -> None:
        first = bench.streaming("@slow 2 done")
        refused = bench.send("@say never", "--fail-if-busy", "--json")
        assert refused.code == 1 and refused.json["receipt"] == "rejected"
        assert first.finish(PATIENCE).code == 0

    def test_steering_in_a_tool_joins_the_turn(self, bench: Bench) -> None:
        before = len(bench.model.requests)
        first = bench.in_tool(f"{bench.subject.silent_tool(4)}\n{bench.subject.silent_tool(0.1)}")
        steered = bench.send("please also mention STEERED", "--steer", "--json")
        done = first.finish(PATIENCE)
        assert (done.code, steered.code) == (0, 0), (done, steered, bench.explain())
        assert steered.json["receipt"] == "steered"
        assert bench.heard("please also mention STEERED", before)
        assert steered.json["reply"].rstrip() == done.stdout.rstrip()

    def test_steering_in_text_is_answered(self, bench: Bench) -> None:
        before = len(bench.model.requests)
        first = bench.streaming("@slow 4 slow text")
        steered = bench.send("STEERED-IN-TEXT", "--steer", "--json")
        done = first.finish(PATIENCE)
        assert (done.code, steered.code) == (0, 0), (done, steered, bench.explain())
        joined = steered.json["reply"].rstrip() == done.stdout.rstrip()
        assert ("joined" if joined else "own") in bench.subject.steers_text
        assert bench.heard("STEERED-IN-TEXT", before)

    def test_an_interrupt_ends_a_streaming_turn(self, bench: Bench) -> None:
        running = bench.streaming("@slow 30 never")
        assert bench.daemon.run("interrupt", bench.name).code == 0
        done = running.finish(PATIENCE)
        assert done.code == 130, done
        assert bench.say("@say still here").endswith("still here")

    def test_an_interrupt_before_any_output(self, bench: Bench) -> None:
        running = bench.streaming("@delay 30 never")
        bench.daemon.run("interrupt", bench.name)
        assert running.finish(PATIENCE).code == 130
        assert bench.say("@say and again").endswith("and again")

    def test_an_interrupt_in_a_tool(self, bench: Bench) -> None:
        running = bench.in_tool(bench.subject.silent_tool(60))
        bench.daemon.run("interrupt", bench.name)
        assert running.finish(PATIENCE).code == 130
        assert bench.say("@say after the tool was stopped").endswith("stopped")

    def test_a_person_interrupts_in_the_pane(self, bench: Bench) -> None:
        running = bench.streaming("@slow 30 never")
        bench.daemon.pane(bench.name).keys("Escape")
        done = running.finish(PATIENCE)
        assert done.code == 130, done
        assert bench.say("@say next").endswith("next")

    def test_a_deadline_ends_the_turn(self, bench: Bench) -> None:
        done = bench.send("@slow 30 never", "--deadline", "2s", "--json")
        assert done.code == 4
        assert done.json["error"]["layer"] == "workflow" and done.json["error"]["timeout_s"] == 2
        assert bench.say("@say in time").endswith("in time")

    def test_a_caller_who_dies_takes_the_turn_along(self, bench: Bench) -> None:
        running = bench.streaming("@slow 30 never")
        running.kill()
        bench.daemon.reaches("ready", bench.name)
        assert bench.say("@say nobody waits").endswith("nobody waits")

    # Errors ---------------------------------------------------------------------------------------

    def test_errors_of_the_service_fail_the_turn(self, bench: Bench) -> None:
        for prompt in bench.subject.refused:
            done = bench.send(prompt, "--json")
            assert (done.code, done.json["outcome"]) == (1, "failed"), (prompt, done)
            assert re.search(r"\d{3}", done.json["error"]["message"]), done
        assert bench.say("@say recovered").endswith("recovered")

    def test_retries_that_are_exhausted_fail_the_turn(self, bench: Bench) -> None:
        assert bench.subject.exhausted
        assert bench.send(bench.subject.exhausted, "--json").json["outcome"] == "failed"

    def test_a_retry_that_succeeds_is_no_failure(self, bench: Bench) -> None:
        assert bench.subject.recovers
        assert bench.say(bench.subject.recovers).endswith("recovered")

    def test_a_stream_that_breaks_ends_the_turn(self, bench: Bench) -> None:
        done = bench.send("@cut", "--json")
        assert done.json["outcome"] in bench.subject.cut_outcomes, done
        assert bench.say("@say whole").endswith("whole")

    # People ---------------------------------------------------------------------------------------

    def test_an_approval_is_a_persons(self, bench: Bench) -> None:
        assert bench.subject.asking_tool
        made = bench.daemon.work / "approved"
        waiting = bench.send(bench.subject.asking_tool(made), "--on-attention", "exit", "--json")
        assert waiting.code == 3, (waiting, bench.explain())
        assert bench.agent()["attention"] == "approval"
        assert not made.exists()
        assert bench.daemon.run("answer", bench.name, "approve").code == 0
        done = bench.daemon.run("wait", bench.name, "--json", timeout=PATIENCE)
        assert (done.code, done.json["outcome"]) == (0, "completed")
        assert made.exists()

    def test_a_denied_approval_does_nothing(self, bench: Bench) -> None:
        assert bench.subject.asking_tool
        made = bench.daemon.work / "denied"
        assert bench.send(bench.subject.asking_tool(made), "--on-attention", "exit").code == 3
        assert bench.daemon.run("answer", bench.name, "deny").code == 0
        bench.daemon.run("wait", bench.name, timeout=PATIENCE)
        assert not made.exists()
        assert bench.say("@say no harm").endswith("no harm")

    def test_a_trust_dialog_is_attention(self, bench: Bench) -> None:
        assert bench.subject.trust_dialog
        place = bench.daemon.root / "strange"
        place.mkdir(exist_ok=True)
        bench.subject.trust_dialog(place)
        where = ("--cwd", str(place), "--on-attention", "exit")
        asked = bench.send("@say trusted now", *where, "--json")
        assert asked.code == 3, (
            asked,
            bench.daemon.run("explain", bench.subject.provider, "--cwd", str(place)),
        )
        [agent] = [a for a in bench.daemon.agents() if a["cwd"] == str(place)]
        assert (agent["state"], agent["attention"]) == ("attention", "trust")
        assert bench.daemon.run("answer", agent["name"], "approve").code == 0
        done = bench.daemon.run("wait", agent["name"], timeout=PATIENCE)
        assert (done.code, done.stdout) == (0, "trusted now\n"), done
        assert bench.daemon.run("stop", agent["name"]).code == 0

    # Ends and beginnings --------------------------------------------------------------------------

    def test_a_person_leaves_and_the_next_prompt_resumes(self, bench: Bench) -> None:
        bench.say("@say remember the word WALRUS")
        session = bench.agent()["session_id"]
        pane = bench.daemon.pane(bench.name)
        pane.types(bench.subject.leave)

        def left() -> bool:
            if bench.agent()["pid"] is None:
                return True
            # Keys that come as quickly as these may be taken for a paste, with Enter as a part of it.
            with suppress(AssertionError):  # the pane may go in between
                pane.keys("Enter")
                pane.shows("\n")
            return False

        until("the CLI has left", left)
        assert bench.agent()["state"] == "retired"
        assert bench.say("@say resumed").endswith("resumed")
        assert bench.agent()["session_id"] == session
        if bench.subject.scripted_by_model:
            assert "WALRUS" in json.dumps(bench.model.requests[-1].body)

    @pytest.mark.parametrize("inside", ["its text", "a tool"])
    def test_killed_in_a_turn_is_lost_and_can_be_resumed(self, bench: Bench, inside: str) -> None:
        bench.say("@say before")
        session = bench.agent()["session_id"]
        if inside == "a tool":
            # A command in a session of its own outlives a CLI that dies so suddenly: it ends by itself.
            running = bench.in_tool(bench.subject.silent_tool(10))
        else:
            running = bench.streaming("@slow 30 never")
        os.kill(bench.agent()["pid"], signal.SIGKILL)
        done = running.finish(PATIENCE)
        assert done.code == 5, done
        assert bench.agent()["state"] == "lost"
        already = len(events(bench))
        assert bench.say("@say after").endswith("after")
        assert bench.agent()["session_id"] == session
        # What a CLI writes of the broken turn when it takes the conversation up again is no turn.
        begun = [event for event in events(bench)[already:] if event["kind"] == "turn_started"]
        assert [event["data"]["origin"] for event in begun] == ["message"]

    def test_a_restarted_daemon_goes_on_with_the_turn(self, bench: Bench) -> None:
        running = bench.streaming("@slow 4 through a restart")
        bench.daemon.restart()
        until("the turn is over", lambda: bench.agent()["state"] == "ready")
        last = bench.agent()["last"]
        assert last["outcome"] == "completed" and last["reply"].endswith("through a restart")
        running.kill()

    def test_stop_leaves_no_process(self, bench: Bench) -> None:
        bench.say("@say alive")
        pid = bench.agent()["pid"]
        running = bench.in_tool(bench.subject.silent_tool(60))
        stopped = bench.daemon.run("stop", bench.name)
        assert (stopped.code, stopped.stdout) == (0, f"stopped {bench.name}\n")
        assert running.finish(PATIENCE).code == 130
        assert not alive(pid)
        assert bench.agent()["state"] == "stopped"
        assert bench.daemon.run("stop", bench.name).code == 0
        assert bench.say("@say born again").endswith("born again")

    # Last, since a CLI that takes a conversation up again may draw all of it --------------------------

    @pytest.mark.parametrize("size", [3_000, 120_000, 1_000_000])
    def test_long_prompts_arrive_whole(self, bench: Bench, size: int) -> None:
        if size > bench.subject.longest:
            size = bench.subject.longest
        lines = [f"line {n} of a long prompt; \u00fcber {n * n}" for n in range(size // 40)]
        text = "@say got it all\n" + "\n".join(lines)
        before = len(bench.model.requests)
        assert bench.say(text) == "got it all"
        assert bench.heard(text, before)
