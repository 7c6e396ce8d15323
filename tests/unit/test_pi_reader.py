"""Pi's facts as events. The spools were written by the extension inside 1.6.0, 0.87.1 and 0.73.1, which were
given the same prompts; `retry` was set to one attempt after 0.7 s."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agentd.model import Event, Kind, Reason, Source
from agentd_pi import Pi
from agentd_pi.record import COMPACT_S, MISSED_S, QUIET_S, PiReader

CAPTURES = Path(__file__).with_name("captures") / "pi"
RELEASES = ("1.6.0", "0.87.1", "0.73.1")
ENDS = (Kind.TURN_DONE, Kind.TURN_FAILED, Kind.TURN_INTERRUPTED)


class Told:
    """What the reader made of the rows; after each row its memory goes through JSON, as a restarted daemon's
    does."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._memory: dict[str, Any] = {}
        self._time = 1000.0

    def hook(self, event: str, *, after: float = 0.001, **data: Any) -> list[Event]:
        self._time += after
        return self.feed("hook", {"event": event, "time": self._time, **data})

    def row(self, role: str, at: int, text: str = "", **data: Any) -> list[Event]:
        """A row of the session file."""
        message = {"role": role, "timestamp": at, "content": [{"type": "text", "text": text}], **data}
        return self.feed("session", {"type": "message", "message": message})

    def feed(self, source: str, row: dict[str, Any]) -> list[Event]:
        reader: PiReader = Pi().reader(json.loads(json.dumps(self._memory)))
        found = [event for event in reader.feed(source, row) if event.kind is not Kind.ACTIVITY]
        self._memory = reader.memory
        self.events += found
        return found

    def prompt(self, text: str = "do it", at: int = 1) -> list[Event]:
        self.hook("input", text=text, source="interactive")
        self.hook("agent_start")
        return self.hook("user", at=at, text=text)

    def answer(self, text: str = "", stop: str = "stop", error: str | None = None) -> list[Event]:
        """The model's answer, and the end of the run."""
        self.hook("assistant", at=9, text=text, stop=stop, error=error)
        return self.hook("agent_end", text=text, stop=stop, error=error)

    def settled_once(self) -> None:
        """A first turn: from now on it's known that this release has `agent_settled`."""
        self.prompt("hello", 100)
        self.answer("hi")
        self.hook("agent_settled")
        self.events.clear()


def kinds(events: Iterable[Event]) -> list[str]:
    return [str(event.kind) for event in events]


def spool(release: str) -> Told:
    told = Told()
    for line in (CAPTURES / release / "spool.jsonl").read_text().splitlines():
        row = json.loads(line)
        told.feed("hook", {**row["hook"], "time": row["time"]})
    return told


def turns(events: Sequence[Event]) -> list[tuple[str, str, str | None]]:
    """Each prompt, and the last word about its end with its reply or error."""
    found: list[tuple[str, str, str | None]] = []
    for event in events:
        if event.kind is Kind.PROMPT_TAKEN and event.get("origin") == "human":
            found.append((event.get("text"), "", None))
        elif event.kind is Kind.PROMPT_TAKEN:
            found[-1] = (found[-1][0], "", None)
        elif event.kind in ENDS:
            said = event.get("code") or event.get("reply")
            found[-1] = (found[-1][0], event.kind.removeprefix("turn_"), said)
    return found


# Whole sessions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASES)
def test_every_turn_has_its_true_end(release: str) -> None:
    assert turns(spool(release).events) == [
        ("@say hello", "done", "hello"),
        ("@bash echo hi", "done", "done tool-result=<<hi>>"),
        ("@slow 2 end", "done", "done steered=<<STEER TEXT>>"),
        ("@bash sleep 2\n@bash echo T2", "done", "done tool-result=<<T2>> steered=<<STEER TOOL>>"),
        ("@slow 9 never", "interrupted", None),
        ("@bash sleep 9", "interrupted", None),
        ("@delay 9 never", "interrupted", None),
        ("@bash sleep 8", "interrupted", None),
        ("@err 400", "failed", "http_400"),
        # 0.73.1 asks three times by itself before it calls a request failed.
        (f"@err 429 {3 if release == '0.73.1' else 1}\n@say recovered", "done", "recovered"),
        ("@err 429", "failed", "http_429"),
        ("@say last", "done", "last"),
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_steered_texts_join_or_are_given_back(release: str) -> None:
    steers = [(str(e.kind), e.get("text")) for e in spool(release).events if "steer" in e.kind]
    assert steers == [
        ("steer_waiting", "STEER TEXT"),
        ("steer_joined", "STEER TEXT"),
        ("steer_waiting", "STEER TOOL"),
        ("steer_joined", "STEER TOOL"),
        ("steer_waiting", "DROPPED ONE"),
        ("steer_waiting", "DROPPED\nTWO"),
        ("steer_dropped", "DROPPED ONE"),
        ("steer_dropped", "DROPPED\nTWO"),
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_keys_are_those_of_the_turn(release: str) -> None:
    key = None
    for event in spool(release).events:
        if event.kind is Kind.PROMPT_TAKEN:
            key = event.get("key")
        elif event.kind in ENDS:
            assert key and event.get("key") == key


@pytest.mark.parametrize("release", RELEASES)
def test_only_a_release_without_agent_settled_needs_time(release: str) -> None:
    waits = [e.get("settle") for e in spool(release).events if e.kind in ENDS and e.get("settle")]
    if release == "0.73.1":
        assert waits == [QUIET_S] * 4 + [3.5, 3.5, QUIET_S, 3.5, 5.5, QUIET_S]
    else:
        assert waits == [QUIET_S], "before the first agent_settled nobody knows that there is one"


@pytest.mark.parametrize("release", RELEASES)
def test_the_session(release: str) -> None:
    told = spool(release)
    first, last = told.events[0], told.events[-1]
    assert first.kind is Kind.SESSION_STARTED and first.source is Source.HOOK
    file = first.get("follow")["session"]
    assert file.endswith(".jsonl") and not first.get("resumed")
    assert (first.get("session_id") == file) == (release == "0.73.1")
    assert last.kind is Kind.SESSION_ENDED and last.get("reason") == "quit"


def test_the_session_file_agrees() -> None:
    """Read after the spool it has nothing to say; its rows between those of the spool never end a turn."""
    rows = [json.loads(line) for line in (CAPTURES / "1.6.0/session.jsonl").read_text().splitlines()]
    late = spool("1.6.0")
    count = len(late.events)
    for row in rows:
        late.feed("session", row)
    assert set(kinds(late.events[count:])) == {"prompt_taken"}
    between = Told()
    for line in (CAPTURES / "1.6.0/spool.jsonl").read_text().splitlines():
        hook = json.loads(line)
        between.feed("hook", {**hook["hook"], "time": hook["time"]})
        while rows and _seconds(rows[0]) <= hook["time"] + 0.002:
            between.feed("session", rows.pop(0))
    by_hook = [event for event in between.events if event.source is Source.HOOK]
    assert turns(by_hook) == turns(spool("1.6.0").events)
    for event in between.events:
        if event.source is Source.RECORD and event.kind in ENDS:
            assert event.get("settle") == MISSED_S


def _seconds(row: dict[str, Any]) -> float:
    return datetime.fromisoformat(row["timestamp"]).timestamp()


# One thing at a time -----------------------------------------------------------------------------


def test_a_prompt_is_taken_when_its_message_is_there() -> None:
    told = Told()
    assert told.hook("input", text="/fix it", source="interactive") == []
    assert told.hook("agent_start") == []
    (taken,) = told.hook("user", at=1700000000123, text="the expanded template")
    assert taken.kind is Kind.PROMPT_TAKEN
    assert taken.data == {"text": "/fix it", "key": "1700000000123", "origin": "human"}


def test_the_retry_of_a_release_without_agent_settled() -> None:
    told = Told()
    told.prompt(at=1)
    (failed,) = told.answer(stop="error", error="529 overloaded")
    assert failed.kind is Kind.TURN_FAILED and failed.get("settle") == 3.5
    (again,) = told.hook("agent_start", after=2.0)
    assert again.kind is Kind.PROMPT_TAKEN and again.get("origin") == "system", "the end wasn't one"
    (done,) = [event for event in told.answer("after all") if event.kind is Kind.TURN_DONE]
    assert done.get("settle") == QUIET_S and done.get("key") == again.get("key") != "1"


def test_the_compaction_of_a_release_without_agent_settled() -> None:
    told = Told()
    told.prompt()
    told.answer("the answer")
    (busy,) = told.hook("compact_start")
    assert (busy.kind, busy.get("reply"), busy.get("settle")) == (Kind.TURN_DONE, "the answer", COMPACT_S)
    (done,) = told.hook("compact_end", after=20)
    assert (done.kind, done.get("reply"), done.get("settle")) == (Kind.TURN_DONE, "the answer", QUIET_S)
    (taken,) = told.prompt("next", at=2)
    assert taken.get("key") == "2"


def test_a_compaction_and_a_retry_before_agent_settled() -> None:
    told = Told()
    told.settled_once()
    told.prompt()
    assert told.answer(stop="error", error="400 prompt is too long") == []
    assert told.hook("compact_start") == told.hook("compact_end", after=30) == []
    assert told.hook("agent_start") == []
    assert told.answer("after all") == []
    told.hook("settling")
    (done,) = told.hook("agent_settled", aborted=False)
    assert (done.kind, done.get("reply"), done.get("settle")) == (Kind.TURN_DONE, "after all", 0.0)


def test_a_cancelled_retry_is_an_interruption() -> None:
    told = Told()
    told.settled_once()
    told.prompt()
    told.answer("part", stop="error", error="429 slow down")
    told.hook("settling", after=1.2)
    (end,) = told.hook("agent_settled", aborted=False)
    assert end.kind is Kind.TURN_INTERRUPTED and end.get("reply") == "part"


def test_an_error_after_which_another_extension_thinks_for_long() -> None:
    told = Told()
    told.settled_once()
    told.prompt()
    told.answer(stop="error", error="400 no")
    told.hook("settling")
    (end,) = told.hook("agent_settled", after=30, aborted=False)
    assert end.kind is Kind.TURN_FAILED


def test_a_turn_of_tools_alone() -> None:
    told = Told()
    told.settled_once()
    told.prompt()
    told.hook("assistant", at=2, text="", stop="toolUse")
    (start,) = told.hook("tool_start", tool="bash", id="c1")
    (end,) = told.hook("tool_end", tool="bash", id="c1", failed=True)
    assert start.data == {"tool": "bash", "id": "c1"}
    assert end.data == {"tool": "bash", "id": "c1", "failed": True}
    told.answer()
    (done,) = told.hook("agent_settled")
    assert done.kind is Kind.TURN_DONE and done.get("reply") == ""


def test_what_the_model_says_before_its_tools_is_no_answer() -> None:
    told = Told()
    told.prompt()
    (said,) = told.hook("assistant", at=2, text="I'll look", stop="toolUse")
    assert said.kind is Kind.TEXT and said.get("text") == "I'll look"


def test_work_that_nobody_asked_for() -> None:
    told = Told()
    told.settled_once()
    told.hook("agent_start")
    taken, said = told.hook("assistant", at=7, text="an extension's idea", stop="stop")
    assert taken.data == {"text": "", "key": "7", "origin": "system"} and said.kind is Kind.TEXT
    told.hook("agent_end", text="an extension's idea", stop="stop")
    (done,) = told.hook("agent_settled")
    assert done.kind is Kind.TURN_DONE and done.get("key") == "7"


def test_an_expanded_steer_joins_as_it_was_typed() -> None:
    told = Told()
    told.prompt()
    told.hook("input", text="/hint", source="interactive", streaming="steer")
    (joined,) = told.hook("user", at=2, text="the whole hint")
    assert joined.kind is Kind.STEER_JOINED and joined.get("text") == "/hint"


def test_a_new_session_in_the_same_pi() -> None:
    told = Told()
    told.hook("session_start", reason="startup", session="a", file="/s/a.jsonl", messages=0)
    assert told.hook("session_shutdown", reason="new") == []
    (new,) = told.hook("session_start", reason="new", session="b", file="/s/b.jsonl", messages=0)
    assert new.data == {"session_id": "b", "resumed": False, "follow": {"session": "/s/b.jsonl"}}
    (old,) = told.hook("session_start", reason="resume", session="a", file="/s/a.jsonl", messages=4)
    assert old.get("resumed")


def test_tools_that_can_t_be_offered() -> None:
    told = Told()
    started, warning = told.hook("session_start", session="a", offered="this release has no MCP")
    assert started.kind is Kind.SESSION_STARTED and warning.kind is Kind.WARNING
    assert "no MCP" in warning.get("text")
    assert kinds(told.hook("session_start", session="a", offered=True)) == ["session_started"]


def test_an_extension_of_the_user_s_asks() -> None:
    told = Told()
    (asked,) = told.hook("ask", kind="confirm", title="Delete all?")
    assert asked.kind is Kind.APPROVAL_WANTED
    assert asked.data == {"text": "Delete all?", "tool": None, "reason": Reason.QUESTION}
    assert told.hook("asked") == [], "the screen shows that it is over"
    assert told.hook("ask", kind="custom") == [], "it may be anything: the screen says"


def test_an_end_that_the_extension_never_told() -> None:
    told = Told()
    told.settled_once()
    told.prompt(at=5)
    (taken,) = told.row("user", 5, "do it")
    assert (taken.kind, taken.source, taken.get("key")) == (Kind.PROMPT_TAKEN, Source.RECORD, "5")
    (done,) = told.row("assistant", 6, "the answer", stopReason="stop")
    assert (done.kind, done.source, done.get("key")) == (Kind.TURN_DONE, Source.RECORD, "5")
    assert done.get("settle") == MISSED_S
    (again,) = told.hook("tool_start", tool="bash", id="c1")[:1]
    assert again.kind is Kind.PROMPT_TAKEN and again.get("origin") == "system", "it goes on"


def test_two_words_for_a_provisional_end_would_pass_for_a_true_one() -> None:
    told = Told()
    told.prompt(at=5)
    told.row("user", 5, "do it")
    assert told.row("assistant", 6, "", stopReason="error", errorMessage="429 slow down") == []


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"event": None},
        {"event": "from_the_future"},
        {"event": "user"},
        {"event": "user", "at": "soon", "text": 5},
        {"event": "input", "text": None, "streaming": "steer"},
        {"event": "assistant", "at": None, "stop": 3},
        {"event": "agent_end"},
        {"event": "agent_settled", "aborted": "yes"},
        {"event": "session_start", "messages": "many", "file": 3, "session": None},
        {"event": "tool_start", "tool": None},
        {"event": "ask", "kind": "confirm", "title": None},
        {"type": "message"},
        {"type": "message", "message": {"role": "user", "timestamp": "x", "content": [3, {"text": 4}]}},
        {"type": "message", "message": {"role": "assistant", "content": {}}},
        {"type": "context_edit"},
    ],
)
@pytest.mark.parametrize("source", ["hook", "session", "elsewhere"])
def test_odd_data(source: str, row: dict[str, Any]) -> None:
    for before in (False, True):
        told = Told()
        if before:
            told.settled_once()
            told.prompt(at=5)
            told.row("user", 5)
        told.feed(source, row)
