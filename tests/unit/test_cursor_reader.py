"""What Cursor's hooks and transcript mean, one source without the other, late, doubled, and in any order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentd.model import Event, Kind, Source
from agentd_cursor.record import CursorReader, beyond

CHAT, OTHER = "3f1c8d2e-9a44-4b17-9c0e-2b6a1d7e4f88", "4f1c8d2e-9a44-4b17-9c0e-2b6a1d7e4f88"
T1, T2 = "00000001-9a44-4b17-9c0e-2b6a1d7e4f88", "00000002-9a44-4b17-9c0e-2b6a1d7e4f88"
PATH = f"/home/me/.cursor/projects/work/agent-transcripts/{CHAT}/{CHAT}.jsonl"


class Told:
    """A reader, and what it has said. Its memory goes through JSON at each row, as it does in life."""

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}
        self.events: list[Event] = []

    def _feed(self, source: str, row: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        reader = CursorReader(json.loads(json.dumps(self.memory)))
        found = reader.feed(source, row)
        self.memory = reader.memory
        self.events += found
        return [(event.kind.value, dict(event.data)) for event in found if event.kind is not Kind.ACTIVITY]

    def hook(self, name: str, turn: str | None = T1, chat: str = CHAT, **data: Any) -> list[Any]:
        row = {"hook_event_name": name, "conversation_id": chat, "generation_id": turn, "time": 5.0, **data}
        return self._feed("hook", row)

    def row(self, **data: Any) -> list[Any]:
        return self._feed("transcript", data)

    def user(self, text: str) -> list[Any]:
        shown = f"<timestamp>today</timestamp>\n<user_query>\n{text}\n</user_query>"
        return self.row(role="user", message={"content": [{"type": "text", "text": shown}]})

    def assistant(self, text: str, tool: str | None = None) -> list[Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        content += [{"type": "tool_use", "name": tool, "input": {}}] if tool else []
        return self.row(role="assistant", message={"content": content})

    def ended(self, status: str = "success", error: str | None = None) -> list[Any]:
        return self.row(type="turn_ended", status=status, error=error)

    def begun(self, text: str = "do it", turn: str = T1) -> Told:
        """A new chat, and a prompt in it."""
        self.hook("sessionStart", turn=CHAT)
        self.hook("beforeSubmitPrompt", turn=turn, prompt=text)
        return self


def kinds(found: list[Any]) -> list[str]:
    return [kind for kind, _ in found]


def data(found: list[Any], kind: str) -> dict[str, Any]:
    [only] = [data for name, data in found if name == kind]
    return only  # type: ignore[no-any-return]


# The session -------------------------------------------------------------------------------------


def test_the_start_of_a_session_is_told_once() -> None:
    """Keys are lost then: `Capabilities.ready_needs_screen_s` says that it isn't readiness."""
    told = Told()
    assert told.hook("sessionStart", turn=CHAT) == [
        ("session_started", {"session_id": CHAT, "resumed": False})
    ]
    found = told.hook("beforeSubmitPrompt", prompt="do it")
    assert found[-1] == ("prompt_taken", {"text": "do it", "key": T1, "origin": "human"})
    assert {(e.source, e.time) for e in told.events} == {(Source.HOOK, 5.0)}


def test_the_transcript_is_followed_as_soon_as_it_has_a_name() -> None:
    told = Told().begun()
    found = told.hook("postToolUse", tool_name="Shell", tool_use_id="a\nb", transcript_path=PATH)
    assert found == [
        ("session_started", {"session_id": CHAT, "resumed": False, "follow": {"transcript": PATH}}),
        ("tool_ended", {"tool": "Shell", "id": "a\nb", "failed": False}),
    ]
    assert kinds(told.hook("preToolUse", transcript_path=PATH)) == ["tool_started"], "it is told once"
    assert kinds(told.hook("stop", status="aborted", transcript_path=None)) == ["turn_interrupted"]


def test_a_resumed_chat_says_nothing_at_its_start_and_what_it_holds_is_old() -> None:
    found = Told().hook("beforeSubmitPrompt", prompt="go on", transcript_path=PATH)
    assert found[0][1] == {"session_id": CHAT, "resumed": True, "follow": {"transcript": PATH}}


@pytest.mark.parametrize(
    "path", ["relative.jsonl", "/elsewhere/other.jsonl", 7, None, "", f"/x/{OTHER}.jsonl"]
)
def test_a_path_of_another_chat_is_not_followed(path: object) -> None:
    told = Told().begun()
    assert "follow" not in json.dumps(told.hook("postToolUse", transcript_path=path))


def test_a_person_goes_to_another_chat() -> None:
    told = Told().begun()
    told.hook("stop", status="completed")
    found = told.hook("beforeSubmitPrompt", chat=OTHER, turn=T2, prompt="here")
    assert data(found, "session_started")["session_id"] == OTHER
    assert data(found, "prompt_taken")["key"] == T2


def test_a_cursor_that_a_tool_has_started_is_another_one() -> None:
    """In print mode it fires hooks of its own into the same spool, but never that of a prompt."""
    told = Told().begun()
    told.hook("preToolUse", tool_name="Shell", tool_use_id="u")
    assert told.hook("sessionStart", chat=OTHER, turn=OTHER) == []
    assert told.hook("preToolUse", chat=OTHER, turn=T2) == []
    assert told.hook("sessionEnd", chat=OTHER, turn=OTHER, reason="completed") == []
    assert data(told.hook("postToolUse"), "tool_ended")
    assert kinds(told.hook("sessionEnd", reason="completed")) == ["session_ended"]


@pytest.mark.parametrize("wrong", [None, 7, "", "1; rm -rf", "--force", CHAT[:-1]])
def test_no_id_that_isnt_one(wrong: Any) -> None:
    told = Told()
    told.hook("sessionStart", chat=wrong, turn=wrong)
    assert kinds(told.hook("beforeSubmitPrompt", chat=wrong, turn=wrong, prompt="p")) == ["prompt_taken"]
    assert told.events[-1].get("key") is None
    assert kinds(told.hook("stop", chat=wrong, turn=wrong, status="completed")) == ["turn_done"]


# A turn ------------------------------------------------------------------------------------------


def test_a_turn_without_a_tool_is_answered_by_its_prose() -> None:
    told = Told().begun()
    assert told.hook("afterAgentResponse", text="Hello!") == [("text", {"text": "Hello!"})]
    found = told.hook("stop", status="completed", transcript_path=PATH)
    assert kinds(found) == ["session_started", "text", "turn_done"]
    done = data(found, "turn_done")
    assert (done["key"], done["reply"]) == (T1, None)
    assert done["settle"] < 1, "there is nothing to wait for"


def test_a_turn_with_a_tool_waits_for_the_row_that_has_the_answer() -> None:
    told = Told().begun()
    told.hook("preToolUse", tool_name="Shell", tool_use_id="u")
    told.hook("postToolUse", tool_name="Shell", tool_use_id="u", transcript_path=PATH)
    told.hook("afterAgentResponse", text="I'll look.It is done.")
    assert data(told.hook("stop", status="completed"), "turn_done")["settle"] >= 2
    assert told.user("do it") == [("prompt_taken", {"text": "do it", "key": T1, "origin": "human"})]
    assert told.assistant("I'll look.", "Shell") == [("text", {"text": "I'll look."})]
    assert told.assistant("It is done.") == [("text", {"text": "It is done."})]
    done = data(told.ended(), "turn_done")
    assert (done["reply"], done["key"]) == ("It is done.", T1)
    assert told.events[-1].source is Source.RECORD


def test_the_rest_of_the_glued_prose_is_the_answer_while_the_last_row_is_missing() -> None:
    told = Told().begun()
    told.hook("preToolUse", transcript_path=PATH)
    told.user("do it")
    told.assistant("I'll look.", "Shell")
    assert told.hook("afterAgentResponse", text="I'll look.It is done.") == [
        ("text", {"text": "It is done."})
    ]
    assert data(told.hook("stop", status="completed"), "text") == {"text": "It is done."}


@pytest.mark.parametrize(
    ("glued", "prose", "rest"),
    [
        ("a.b.", "a.", "b."),
        ("I'll  look.\nDone", "I'll look.", "Done"),
        ("something else", "a.", "something else"),
        ("a.", "a.", "a."),
        ("", "a", ""),
        ("all", "", "all"),
    ],
)
def test_glued_prose(glued: str, prose: str, rest: str) -> None:
    assert beyond(glued, prose) == rest


def test_a_build_without_the_prose_event_waits_long() -> None:
    told = Told().begun()
    assert data(told.hook("stop", status="completed", transcript_path=PATH), "turn_done")["settle"] >= 10
    told.user("do it")
    told.assistant("done")
    assert data(told.ended(), "turn_done")["reply"] == "done"


def test_late_rows_are_not_the_next_turns_text() -> None:
    told = Told().begun("first")
    told.hook("stop", status="completed", transcript_path=PATH)
    told.hook("beforeSubmitPrompt", turn=T2, prompt="second")
    assert data(told.user("first"), "prompt_taken")["key"] == T1
    assert told.assistant("answer one") == []
    assert data(told.ended(), "turn_done")["key"] == T1
    assert data(told.user("second"), "prompt_taken")["key"] == T2
    assert told.hook("afterAgentResponse", turn=T2, text="answer two") == [("text", {"text": "answer two"})]


def test_the_same_prompt_twice() -> None:
    told = Told().begun("again")
    told.hook("stop", status="completed", transcript_path=PATH)
    told.hook("beforeSubmitPrompt", turn=T2, prompt="again")
    assert [data(told.user("again"), "prompt_taken")["key"] for _ in range(2)] == [T1, T2]


def test_rows_alone() -> None:
    """No hook runs: the transcript was found by the open chat."""
    told = Told()
    assert told.user("do it") == [("prompt_taken", {"text": "do it", "key": None, "origin": "human"})]
    told.assistant("let me see", "Shell")
    told.assistant("done")
    assert told.ended() == [("turn_done", {"reply": "done", "key": None, "settle": 0.0})]


def test_a_row_of_the_prompt_that_came_before_the_transcript_was_followed() -> None:
    told = Told()
    told.hook("beforeSubmitPrompt", prompt="go on", transcript_path=PATH)
    assert told.assistant("going on") == [("text", {"text": "going on"})]
    assert data(told.ended(), "turn_done") == {"reply": "going on", "key": T1, "settle": 1.0}
    told.hook("beforeSubmitPrompt", turn=T2, prompt="go on")
    assert data(told.user("go on"), "prompt_taken")["key"] == T2


# Failures and interruptions ----------------------------------------------------------------------


def test_an_error() -> None:
    told = Told().begun()
    failed = data(told.hook("stop", status="error", transcript_path=PATH), "turn_failed")
    assert failed["key"] == T1 and failed["settle"] > 0.5, "an `aborted` may follow"
    told.user("do it")
    [(kind, row)] = told.ended("error", "upstream said 529")
    assert (kind, row["error"], row["code"], row["key"]) == (
        "turn_failed",
        "upstream said 529",
        "api_error",
        T1,
    )


def test_a_limit() -> None:
    told = Told().begun()
    told.user("do it")
    assert data(told.ended("error", "You've hit your usage limit"), "turn_failed")["code"] == "limit"


def test_an_interruption_is_told_twice() -> None:
    told = Told().begun()
    assert kinds(told.hook("stop", status="error")) == ["turn_failed"]
    assert told.hook("stop", status="aborted") == [("turn_interrupted", {"key": T1})]


@pytest.mark.parametrize("status", ["aborted", "error"])
def test_the_row_of_an_interruption_never_ends_the_next_turn(status: str) -> None:
    """It may be 20 s late, and stand before or behind the next prompt's row."""
    for rows_first in (True, False):
        told = Told().begun("first")
        told.hook("stop", status="error")
        told.hook("stop", status="aborted")
        told.hook("beforeSubmitPrompt", turn=T2, prompt="second", transcript_path=PATH)
        told.user("first")
        if rows_first:
            told.user("second")
        assert told.ended(status, "User aborted request") == [("turn_interrupted", {"key": T1})]
        if not rows_first:
            told.user("second")
        told.assistant("answer")
        assert data(told.ended(), "turn_done") == {"reply": "answer", "key": T2, "settle": 1.0}


def test_an_interruption_that_no_hook_told() -> None:
    told = Told().begun("first")
    told.user("first")
    assert told.ended("aborted") == [("turn_interrupted", {"key": T1})]
    rows = Told()
    rows.user("first")
    rows.user("second")
    assert rows.ended("aborted") == [], "nobody can say whose it is; the screen will tell"
    assert rows.ended() == [("turn_done", {"reply": None, "key": None, "settle": 0.0})]


# Prompts typed into a running turn ---------------------------------------------------------------


def test_a_prompt_that_becomes_the_next_turn() -> None:
    told = Told().begun("first")
    assert told.hook("beforeSubmitPrompt", turn=T2, prompt="more") == [("steer_waiting", {"text": "more"})]
    assert data(told.hook("stop", status="completed"), "turn_done")["key"] == T1
    found = told.hook("preToolUse", turn=T2, tool_name="Shell", tool_use_id="u")
    assert found[0] == ("prompt_taken", {"text": "more", "key": T2, "origin": "human"})
    assert kinds(found) == ["prompt_taken", "tool_started"]
    assert data(told.hook("stop", turn=T2, status="completed"), "turn_done")["key"] == T2


def test_a_prompt_that_joined_under_its_own_id() -> None:
    """One end is told; it is that of both."""
    told = Told().begun("first")
    told.hook("beforeSubmitPrompt", turn=T2, prompt="more")
    assert kinds(told.hook("afterAgentResponse", turn=T2, text="both")) == ["prompt_taken", "text"]
    found = told.hook("stop", turn=T2, status="completed")
    ends = [data for kind, data in found if kind == "turn_done"]
    assert [(end["key"], end["reply"]) for end in ends] == [(T1, "both"), (T2, None)]


def test_a_prompt_that_joined_and_the_transcript_says_so() -> None:
    told = Told().begun("first")
    told.hook("preToolUse", transcript_path=PATH)
    told.user("first")
    told.hook("beforeSubmitPrompt", turn=T2, prompt="more")
    assert told.user("more") == []
    found = told.hook("stop", status="completed")
    assert found[0] == ("steer_joined", {"text": "more"})
    told.assistant("both")
    assert data(told.ended(), "turn_done") == {"reply": "both", "key": T1, "settle": 1.0}


def test_a_prompt_that_joined_and_its_row_comes_after_the_end() -> None:
    told = Told().begun("before")
    told.user("before")
    told.ended()
    told.hook("stop", status="completed", transcript_path=PATH)
    told.hook("beforeSubmitPrompt", turn=T2, prompt="first")
    third = "00000003-9a44-4b17-9c0e-2b6a1d7e4f88"
    told.hook("beforeSubmitPrompt", turn=third, prompt="more")
    told.hook("stop", turn=T2, status="completed")
    told.user("first")
    assert told.user("more") == [("steer_joined", {"text": "more"})]
    told.assistant("both")
    assert data(told.ended(), "turn_done")["key"] == T2


# Odd data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["hook", "transcript", "elsewhere"])
@pytest.mark.parametrize(
    "row",
    [
        {},
        {"raw": "x"},
        {"hook_event_name": 7},
        {"hook_event_name": "subagentStop", "conversation_id": []},
        {"hook_event_name": "stop"},
        {"hook_event_name": "stop", "status": {}, "generation_id": {}},
        {"hook_event_name": "beforeSubmitPrompt", "prompt": None},
        {"hook_event_name": "afterAgentResponse", "text": 1},
        {"role": "user"},
        {"role": "user", "message": None},
        {"role": "user", "message": {"content": "plain"}},
        {"role": "user", "message": {"content": [{"type": "text", "text": "<system_note>x</system_note>"}]}},
        {"role": "assistant", "message": {"content": [7, {"type": "text"}, {"type": "text", "text": None}]}},
        {"type": "turn_ended"},
        {"type": "turn_ended", "status": 1, "error": []},
        {"type": "something_new", "time": "never"},
    ],
)
def test_nothing_raises(source: str, row: dict[str, Any]) -> None:
    told = Told()
    for _ in range(2):
        told._feed(source, row)
    told.begun()
    told._feed(source, row)
    json.dumps(told.memory)


def test_the_memory_stays_small() -> None:
    told = Told()
    for number in range(60):
        turn = f"{number:08}-9a44-4b17-9c0e-2b6a1d7e4f88"
        told.hook("sessionStart", turn=CHAT, chat=turn)
        told.hook("beforeSubmitPrompt", chat=turn, turn=turn, prompt=f"{number}" * 1000)
        told.hook("beforeSubmitPrompt", chat=turn, turn=turn[::-1].replace("-", "0"), prompt="x")
        told.user(f"other {number}")
        told.assistant("y" * 50_000, "Shell")
        told.hook("stop", chat=turn, turn=turn, status="aborted")
    assert len(json.dumps(told.memory)) < 120_000


def test_a_prompt_that_quotes_the_wrapper() -> None:
    told = Told()
    text = "what is\n<user_query>\nx\n</user_query>\nfor?"
    assert data(told.user(text), "prompt_taken")["text"] == text
    assert Path(PATH).stem == CHAT
