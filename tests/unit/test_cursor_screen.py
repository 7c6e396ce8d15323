"""What Cursor's screen says. The screens are our own, drawn after descriptions; those that others captured
are read where `AGENTD_CURSOR_CAPTURES` names their folder."""

from __future__ import annotations

import pytest

from agentd.model import Reason
from agentd.screen import Dialog, Look, Screen
from agentd.testing.cursor import dialogs, view
from agentd.testing.cursor.builds import Build, build
from agentd_cursor import Cursor

BUILDS = [build(day) for day in ("2026.06.15", "2026.06.26", "2026.07.23", "2026.08.11", "2026.09.26")]
BANNER = ["", "  Cursor Agent", "  v2026.09.26-0123abc", ""]
FOOT = ["  \x1b[2mAuto · 6.1%\x1b[0m", "  \x1b[2m~/src/project · main\x1b[0m"]
QUOTED = [
    "  Here is what the dialog says:",
    "",
    "   Run this command?",
    "   Not in allowlist: rm",
    "    → Run (once) (y)",
    "      Skip (esc or n)",
]
CURSOR_IN = "\x1b[7mA\x1b[27m"


def see(lines: list[str], height: int = 40) -> Look:
    lines = [*lines, *[""] * max(0, height - len(lines))][-height:]
    return Cursor().look(Screen.captured(lines))


def dialog(lines: list[str]) -> Dialog:
    look = see(lines)
    assert look.dialog is not None, lines
    assert not look.composer and look.draft is None
    return look.dialog


def composer(
    of: Build, draft: str = "", *, busy: bool = False, live: bool = True, width: int = 120
) -> list[str]:
    shown = view.composer(of, width, draft=draft, placeholder=view.NEXT, busy=busy, live=live)
    return ["", *shown, *([""] if not of.ruled else []), *FOOT]


# The composer ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 120, 200])
@pytest.mark.parametrize("of", BUILDS)
def test_the_composer(of: Build, width: int) -> None:
    assert see(BANNER + composer(of, width=width)) == Look(composer=True, draft="")
    assert see(BANNER + composer(of, busy=True, width=width)) == Look(composer=True, draft="", busy=True)
    look = see(BANNER + composer(of, "fix the\nbug", width=width))
    assert look == Look(composer=True, draft="fix the\nbug")
    assert see(composer(of, "fix it", busy=True, width=width)) == Look(
        composer=True, draft="fix it", busy=True
    )


@pytest.mark.parametrize("of", BUILDS)
def test_a_long_paste_is_a_pill(of: Build) -> None:
    look = see(composer(of, "[Pasted text #1 +60 lines]"))
    assert look == Look(composer=True, draft="[Pasted text #1 +60 lines]", folded=True)


def test_of_a_long_draft_the_tail_is_seen() -> None:
    text = "\n".join(f"line {number}" for number in range(20))
    draft = see(composer(BUILDS[-1], text)).draft
    assert draft is not None and draft.endswith("line 19") and "line 2\n" not in draft


@pytest.mark.parametrize("draft", ["→ an arrow", "a → b (y)", "Run this command?", "y", "A", "(y)", "? (y)"])
def test_a_draft_is_a_draft(draft: str) -> None:
    for of in BUILDS:
        look = see(BANNER + composer(of, draft))
        assert look.composer and look.draft is not None
        assert look.draft.removeprefix("→").strip() == draft.removeprefix("→").strip()


def test_without_attributes() -> None:
    """Somebody's plain capture."""
    lines = ["  ok", "", "", " " + "▄" * 60, "  → Add a follow-up", " " + "▀" * 60, "  Auto · 4%", "  ~"]
    assert see(lines) == Look(composer=True, draft="")
    lines[4] = "  → Add a follow-up                      ctrl+c to stop"
    assert see(lines) == Look(composer=True, draft="", busy=True)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        BANNER,
        ["  → an arrow in somebody's text", "  and the text goes on"],
        ["│ → Plan, search, build anything │"],
        [" " + "▀" * 60, "  → x", " " + "▄" * 60],
        ["  ❯ some other program", "  1. Yes (y)", "  2. No (n)"],
        [*(["  text"] * 5), "", "  → text", "", *(["  more text"] * 20)],
    ],
)
def test_anything_else_is_unknown(lines: list[str]) -> None:
    assert see(lines) == Look()


# Dialogs -----------------------------------------------------------------------------------------

ASKED = [
    dialogs.shell("rm -rf build", "rm"),
    dialogs.write("src/app.py"),
    dialogs.delete("old.txt"),
    dialogs.mcp_tool("api-bridge", "ask", "may I"),
    dialogs.fetch("https://example.com/x"),
    dialogs.mode("it needs a shell"),
]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.headline)
@pytest.mark.parametrize("of", BUILDS)
def test_a_question_about_a_tool(of: Build, asked: dialogs.Question) -> None:
    for width in (60, 120):
        found = dialog(BANNER + view.question(of, asked, 0, width))
        assert found.reason is Reason.APPROVAL and asked.headline in found.text
        assert found.approve is not None and found.deny is not None
        assert found.options[found.approve].key == "y"
        assert found.options[found.deny].key == "n"
        assert not any(option.key in ("Tab", "BTab", None) for option in found.options), (
            "they widen permissions"
        )
        assert found.selected == 0


def test_what_it_is_about() -> None:
    text = dialog(BANNER + view.question(BUILDS[-1], ASKED[0], 0, 120)).text
    assert text == "$  rm -rf build in .\nRun this command?\nNot in allowlist: rm"
    text = dialog(["  do it", "", *view.question(BUILDS[-1], ASKED[3], 0, 120)]).text
    assert text == 'api-bridge: ask\n{ "text": "may I" }\nRun this MCP tool?'
    assert "do it" not in dialog(["  do it", "", *view.question(BUILDS[-1], ASKED[1], 0, 120)]).text


def test_the_marked_row_may_be_one_that_is_never_pressed() -> None:
    found = dialog(view.question(BUILDS[-1], ASKED[0], 1, 120))
    assert found.selected is None and found.options[0].label == "Run (once)"


@pytest.mark.parametrize("servers", [(), ("mine",)])
@pytest.mark.parametrize("width", [60, 120])
def test_trust(servers: tuple[str, ...], width: int) -> None:
    lines = ["", *view.trust("/home/me/src/project", servers, 0, width)]
    found = dialog(lines)
    assert found.reason is Reason.TRUST and "/home/me/src/project" in found.text
    assert found.approve == 0 and found.options[0].key == "a"
    assert found.deny == len(found.options) - 1 and found.options[-1].key == "q"
    assert len(found.options) == 2 + len(servers)
    trusting = ["", *view.trust("/home/me/src/project", servers, 0, width, trusting=True)]
    assert see(trusting) == Look(busy=True)


def test_trust_with_the_composer_below_it() -> None:
    below = view.composer(BUILDS[-1], 120, draft="", placeholder=view.FIRST)
    box = view.trust("/home/me/src/project", ("mine",), 0, 120)
    assert dialog([*box, "", *below, *FOOT]).reason is Reason.TRUST
    quoted = [line.replace("│", " ") for line in box]
    assert see([*quoted, "", *composer(BUILDS[-1])]).composer, "a model's text, in a chat that has had turns"


def test_an_unknown_question_of_the_same_shape() -> None:
    lines = ["", " Apply this edit?", "  → Apply (y)", "    Always (shift+tab)", "    Discard (esc or n)"]
    found = dialog(lines)
    assert (found.reason, found.approve, found.deny) == (Reason.APPROVAL, 0, 1)
    lines = ["", " Which one?", "  → The first (a)", "    The second (b)"]
    found = dialog(lines)
    assert (found.reason, found.approve, found.deny) == (Reason.UNKNOWN_DIALOG, None, None)
    assert [option.key for option in found.options] == ["a", "b"]
    lines = ["", " Enable the servers of this project?", "  ▶ [e] Enable", "    [s] Skip"]
    assert dialog(lines).reason is Reason.UNKNOWN_DIALOG


def test_quoted_by_a_model_it_is_text() -> None:
    for of in BUILDS:
        assert see([*QUOTED, "", *composer(of)]) == Look(composer=True, draft="")
        assert see([*QUOTED, "", *composer(of, busy=True)]).composer
        assert see([*QUOTED, "", *composer(of, "y")]).draft == "y"


def test_over_a_composer_without_the_cursor_it_is_a_dialog() -> None:
    """A reconstruction of others has it so: the cursor is in the dialog."""
    for of in BUILDS:
        assert see([*QUOTED, *composer(of, live=False)]).dialog


def test_an_answered_question_in_the_scrollback() -> None:
    lines = [*QUOTED, "", "  $ rm -rf build 12ms", "", "  done", "", "", *composer(BUILDS[-1])]
    assert see(lines) == Look(composer=True, draft="")
    assert see([*QUOTED, "", "  one more line", "  and another", "  and a third"]) == Look()


def test_a_list_in_prose_is_no_dialog() -> None:
    for lines in (
        ["  What next?", "  - tests (later)", "  - docs (soon)"],
        ["  What next?", "  → run it (y)"],
        ["  → Run (y)", "    Skip (n)"],
        ["  What?", *[""] * 12, "  → Run (y)", "    Skip (n)"],
        ["  What?", "  → Run (y)", "  → Skip (n)"],
    ):
        assert see(lines).dialog is None, lines


def test_the_reason_for_a_no() -> None:
    lines = [*BANNER, f" {view.REJECTION}", *view.composer(BUILDS[-1], 120, draft="", placeholder="Reason")]
    found = dialog(lines)
    assert found.deny_keys == ("Enter",) and not found.options
    assert see([f"  {view.REJECTION}", "", "", *composer(BUILDS[-1])]).composer, "in somebody's text"


def test_what_waits_in_the_program_is_not_ready() -> None:
    queue = view.follow_ups(["and then this\nand that"], 120)
    inside = ("and then this…",)
    assert see([*queue, *composer(BUILDS[-1], busy=True)[1:]]) == Look(busy=True, waiting=inside)
    assert see([*queue, *composer(BUILDS[-1])[1:]]) == Look(waiting=inside)
    assert see([*queue, "", "", *composer(BUILDS[-1])]).composer, "in somebody's text"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Press any key to log in...", Reason.LOGIN),
        ("Signing in", Reason.LOGIN),
        ("Authentication required to use Cursor Agent. Please run 'agent login' first", Reason.LOGIN),
        ("Error: You've hit your usage limit", Reason.LIMIT),
        ("Named models unavailable Free plans can only use Auto", Reason.LIMIT),
    ],
)
def test_what_stands_where_the_composer_isnt(line: str, reason: Reason) -> None:
    found = dialog([*BANNER, f"  {line}", "  more about it", ""])
    assert found.reason is reason and found.fixed and not found.options
    assert found.text == f"{line}\nmore about it"
    assert see([*BANNER, f"  {line}", "", "", *composer(BUILDS[-1])]).composer, "in somebody's text"
    assert see([*BANNER, f"  he said: {line} again"]) == Look()
