"""A turn, driven by hand: what it asks for, what it says, what it writes down."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from agentd.demo.hooks import Hooks
from agentd.demo.record import Facts, Record
from agentd.demo.session import Earlier, new_session_id, recall
from agentd.demo.turn import Answer, Crash, Finished, Forever, Pause, Question, Request, Shell, Turn, Waiting


class Stage:
    """Runs one turn with these answers, one for each request."""

    def __init__(self, path: Path) -> None:
        self.record = Record(str(path / "folder" / "record.jsonl"))
        self.facts = Facts(self.record, Hooks(()), "session")
        self.waiting: deque[Waiting] = deque()
        self.shown: list[tuple[str, str]] = []
        self.requests: list[Request] = []
        self.turn = Turn("", self.facts, lambda *_: None, self.waiting)

    def run(self, prompt: str, *answers: Answer) -> str:
        """The reply; the turn must have come to its end."""
        self.turn = Turn(prompt, self.facts, lambda *entry: self.shown.append(entry), self.waiting)
        flow = self.turn.run()
        left = [*answers]
        try:
            self.requests.append(next(flow))
            while left:
                self.requests.append(flow.send(left.pop(0)))
        except StopIteration:
            assert not left
            return next((str(row["text"]) for row in reversed(self.rows) if row.get("final")), "")
        return "still running"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(self.record.rows())

    @property
    def kinds(self) -> list[object]:
        return [row["type"] for row in self.rows]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_plain_prompt(stage: Stage) -> None:
    assert stage.run("hello") == "Hello from the demo agent! You said: hello (5 characters)"
    assert stage.kinds == ["user", "assistant", "turn_end"]
    assert stage.requests == []
    assert {row["prompt_id"] for row in stage.rows} == {stage.turn.id}


def test_the_reply_is_the_text_after_the_last_tool(stage: Stage) -> None:
    assert stage.run("@say first\n@tool 2 Read\n@say second\n@say third", None) == "second\nthird"
    assert stage.requests == [Pause(2)]
    assert stage.kinds == ["user", "assistant", "tool_use", "tool_result", "assistant", "turn_end"]
    assert stage.rows[1]["text"] == "first" and stage.rows[1]["final"] is False


def test_a_turn_may_end_without_text(stage: Stage) -> None:
    assert stage.run("@say first\n@tool 1", None) == ""


def test_a_command_concludes_with_its_output(stage: Stage) -> None:
    assert stage.run("@bash make", Finished(2, "broken")) == "broken"
    assert stage.requests == [Shell("make")]
    assert stage.rows[2]["failed"] is True
    assert ("result", "broken (exit 2)") in stage.shown


def test_streaming_shows_the_text_as_it_grows(stage: Stage) -> None:
    assert stage.run("@slow 2 abcd", None) == "still running"
    assert stage.turn.streamed == "ab"
    assert repr(stage.turn).endswith(": text, 0 joined>")
    assert stage.run("@slow 2 abcd", None, None) == "abcd"


def test_yes_goes_on_and_no_is_a_normal_end(stage: Stage) -> None:
    assert stage.run("@ask May I?\n@say thanks", True) == "thanks"
    assert stage.requests == [Question("May I?")]
    assert stage.run("@ask May I?\n@say thanks", False) == "denied"
    assert stage.kinds[-1] == "turn_end"


def test_waiting_texts_join_at_the_tool_boundary(stage: Stage) -> None:
    stage.waiting.append(Waiting("1", "be quick"))
    assert stage.run("@say x\n@tool 1\n@say done", None) == "done (also: be quick)"
    assert not stage.waiting
    assert [row["operation"] for row in stage.rows if row["type"] == "steer"] == ["join"]


def test_without_a_tool_they_go_on_waiting(stage: Stage) -> None:
    stage.waiting.append(Waiting("1", "be quick"))
    assert stage.run("@say done") == "done"
    assert len(stage.waiting) == 1


def test_failures_keep_what_was_said(stage: Stage) -> None:
    assert stage.run("@say some\n@error Overloaded\n@say never") == ""
    assert stage.rows[-1]["message"] == "Overloaded" and stage.rows[-1]["reply"] == "some"
    assert stage.run("@cut") == ""
    assert stage.kinds[-2:] == ["assistant", "error"]


def test_silence_and_crash_are_asked_for(stage: Stage) -> None:
    assert stage.run("@silence") == "still running"
    assert stage.run("@crash 7") == "still running"
    assert stage.requests == [Forever(), Crash(7)]


def test_a_background_task_is_named_at_the_end(stage: Stage) -> None:
    assert stage.run("@say begun\n@background 3 all done") == "begun"
    (task,) = stage.turn.background
    assert (task.ticks, task.text) == (3, "all done")
    assert stage.rows[-1]["background"] == [task.id]


def test_an_interruption_is_written_down_with_what_was_said(stage: Stage) -> None:
    stage.run("@say begun\n@silence")
    stage.turn.interrupted()
    assert stage.kinds[-2:] == ["assistant", "interrupted"]
    stage.run("@silence")
    assert not stage.turn.said
    stage.turn.interrupted()
    assert stage.kinds[-2:] == ["user", "interrupted"]


def test_a_session_is_recalled_from_its_record(stage: Stage, tmp_path: Path) -> None:
    stage.facts.session("startup", "demo-1")
    stage.run("one")
    stage.run("@say two")
    with (tmp_path / "folder" / "record.jsonl").open("a") as file:
        file.write('{"type": "user", "te')
    assert recall(stage.record, "session") == Earlier(2, "@say two", "two")
    assert recall(stage.record, "another") is None
    assert recall(Record(str(tmp_path / "missing")), "session") is None


def test_rows_are_whole_lines_with_a_time(stage: Stage, tmp_path: Path) -> None:
    stage.run("a\u2028b\x85c\nd")
    lines = (tmp_path / "folder" / "record.jsonl").read_bytes().split(b"\n")
    assert lines[-1] == b""
    assert all(json.loads(line)["time"] > 0 for line in lines[:-1])
    assert json.loads(lines[0])["text"] == "a\u2028b\x85c\nd"


def test_a_session_id_is_a_uuid() -> None:
    import uuid

    assert uuid.UUID(new_session_id()).version == 4
