"""The parts of the simulator that are pure, or nearly: its builds, its command line, its hooks, its files."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

import pytest

from agentd.demo.view import cells, clean
from agentd.testing.cursor import dialogs, script, view
from agentd.testing.cursor.builds import build
from agentd.testing.cursor.files import Home, Transcript
from agentd.testing.cursor.hooks import EVENTS, Answer, Hooks, load
from agentd.testing.cursor.options import parse_options
from agentd_cursor.launch import EVENTS as OURS


def hooks_file(folder: Path, hooks: object, **head: object) -> Path:
    path = folder / ".cursor" / "hooks.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": 1, **head, "hooks": hooks}))
    return path


# Builds and options ------------------------------------------------------------------------------


def test_builds_differ() -> None:
    june, july, september = (build(day) for day in ("2026.06.15", "2026.07.23", "2026.09.26"))
    assert [b.ruled for b in (june, july, september)] == [False, True, True]
    assert [b.asks_reason for b in (june, july, september)] == [False, True, True]
    assert [b.steers for b in (june, july, september)] == [False, False, True]
    assert [b.aborted[0] for b in (june, july, september)] == ["error", "error", "aborted"]
    assert june.name.count("-") == 4 and september.name.count("-") == 1
    assert build("2026.09.26-0123abc").name == "2026.09.26-0123abc"
    with pytest.raises(ValueError, match="no build"):
        build("1.2.3")


def test_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_options(["--build", "2026.07.23", "--resume", "x", "--force"]).resume == "x"
    for words, status, said in (
        (["--version"], 0, "2026.09.26-"),
        (["--help"], 0, "--workspace"),
        (["--nonsense"], 1, "error: unknown option '--nonsense'"),
        (["--build", "2026.07.01", "--trust"], 1, "error: unknown option '--trust'"),
    ):
        with pytest.raises(SystemExit) as left:
            parse_options(words)
        assert left.value.code == status
        assert said in "".join(capsys.readouterr())


def test_scripts() -> None:
    steps = script.parse(" @say hello\n\u2800@slow 3 a b\nplain\n@bash echo x\n@err\n@unknown y")
    assert [(s.name, s.text, s.ticks) for s in steps] == [
        ("say", "hello", 0.0),
        ("slow", "a b", 3.0),
        ("bash", "echo x", 0.0),
        ("err", "", 0.0),
    ]
    assert script.parse("no directive, but me@example.com") == []
    assert "prompt 2" in script.small_talk("hello", 2)


# Hooks -------------------------------------------------------------------------------------------


def test_the_events_that_the_adapter_registers_are_known() -> None:
    assert set(OURS) <= EVENTS


@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": {"stop": [{"command": "x"}]}}',
        '{"version": 1, "hooks": {"stop": [{"command": "x"}], "notification": []}}',
        '{"version": 1, "hooks": {"stop": [{"command": "x", "matcher": {}}]}}',
        '{"version": 1, "hooks": {"stop": [{"command": "http://x"}]}}',
        '{"version": 1, "hooks": {"stop": [{}]}}',
        "",
    ],
)
def test_one_mistake_drops_the_whole_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hooks.json"
    path.write_text(text)
    assert load(path) == {}
    assert load(tmp_path / "missing.json") == {}


def test_all_matching_hooks_run_and_see_the_event(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        command = f"cat > {folder}/seen; echo '{{}}'"
        hooks_file(folder, {"stop": [{"command": command}], "sessionEnd": [{"command": "false"}]})
    hooks = Hooks(home)
    assert hooks.fire("stop", {"status": "completed"}) == Answer()
    assert json.loads((home / "seen").read_text())["hook_event_name"] == "stop"
    assert not (work / "seen").exists(), "not before the workspace is trusted"
    hooks.project = work
    hooks.fire("stop", {"status": "completed"})
    assert json.loads((work / "seen").read_text()) == {"status": "completed", "hook_event_name": "stop"}
    (work / ".cursor" / "hooks.json").unlink()
    (work / "seen").unlink()
    hooks.fire("stop", {})
    assert not (work / "seen").exists(), "the file is read anew"


@pytest.mark.parametrize(
    ("event", "command", "answer"),
    [
        ("preToolUse", "echo no >&2; exit 2", Answer(blocked="no")),
        ("preToolUse", "echo broken", Answer(blocked="the hook's answer is no JSON")),
        ("preToolUse", "exit 7", Answer()),
        ("postToolUse", "echo broken", Answer()),
        ("stop", 'echo \'{"followup_message": "go on"}\'', Answer(followup="go on")),
        ("stop", "sleep 30", Answer()),
    ],
)
def test_what_hooks_answer(tmp_path: Path, event: str, command: str, answer: Answer) -> None:
    hooks_file(tmp_path, {event: [{"command": command, "timeout": 0.3}]})
    assert Hooks(tmp_path).fire(event, {}) == answer


# Files -------------------------------------------------------------------------------------------


def test_rows_are_late_and_in_order(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "a" / "b.jsonl", lag=0.05)
    transcript.prompt("do it")
    transcript.said("hm", ("Shell", {}))
    transcript.ended("aborted", "why", lag=60)
    transcript.flush()
    assert not transcript.path.exists()
    time.sleep(0.06)
    transcript.flush()
    assert [json.loads(line).get("role") for line in transcript.path.read_text().splitlines()] == [
        "user",
        "assistant",
    ]
    assert transcript.prompts() == 1
    transcript.flush(all_of_it=True)
    last = json.loads(transcript.path.read_text().splitlines()[-1])
    assert last == {"type": "turn_ended", "status": "aborted", "error": "why"}


def test_the_home(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path / "work", build("2026.09.26"))
    assert not home.trusted
    home.trust()
    assert home.trusted and home.servers == {}
    assert not home.allowed("Shell(ls)")
    home.allow("Shell(ls)")
    assert home.allowed("Shell(ls)") and not home.allowed("Shell(rm)")
    with home.open_store("3f1c8d2e-9a44-4b17-9c0e-2b6a1d7e4f88") as store:
        assert isinstance(store, sqlite3.Connection)
    store.close()
    june = Home(tmp_path, tmp_path / "work", build("2026.06.15"))
    assert june.transcript("x", 0).path.parent.name == "agent-transcripts"
    assert home.transcript("x", 0).path.parent.name == "x"


# Drawing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize(
    "draft", ["", "one", "\u65e5\u672c\u8a9e " * 90, "x" * 900, "a\n\nb", "[Pasted text #1]"]
)
def test_no_line_is_too_wide(width: int, draft: str) -> None:
    for day in ("2026.06.15", "2026.09.26"):
        of = build(day)
        lines = view.composer(of, width, draft=draft, placeholder=view.NEXT, busy=True)
        lines += view.footer("Auto", "/a/long/path" * 20, width, used="5%", everything=True)
        lines += view.follow_ups([draft or "x"], width) + view.trust("/work" * 50, ["mine"], 0, width)
        for asked in (dialogs.shell("rm -rf " + "x" * 300, "rm"), dialogs.mode("why " * 100)):
            lines += view.question(of, asked, 0, width)
        assert max(cells(clean(line)) for line in lines) <= width


def test_keys_of_a_question() -> None:
    asked = dialogs.shell("ls", "ls")
    assert [asked.means(key) for key in ("y", "n", "esc", "tab", "shift+tab", "enter", "x")] == [
        dialogs.YES, dialogs.NO, dialogs.NO, dialogs.ALLOW, dialogs.ALL, dialogs.YES, None,
    ]  # fmt: skip
