"""Reading a pane: attributes, menus, and what an idle redraw changes."""

from __future__ import annotations

import pytest

from agentd.model import Reason
from agentd.screen import Dialog, Menu, Option, Screen, find_menu, normalise, plain, undimmed
from tests.unit.story import folder


def capture(name: str) -> Screen:
    return Screen.captured((folder() / f"{name}.ansi").read_text(encoding="utf-8").split("\n"))


def menu(name: str, marker: str) -> Menu:
    found = find_menu(capture(name).lines, marker)
    assert found is not None
    return found


# Attributes --------------------------------------------------------------------------------------


def test_attributes_go_on_over_the_end_of_a_line() -> None:
    screen = Screen.captured(["\x1b[2mgrey", "still grey\x1b[0m typed", "typed"])
    assert [undimmed(line) for line in screen.styled] == ["", " typed", "typed"]
    assert screen.lines == ("grey", "still grey typed", "typed")


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("plain", "plain"),
        ("\x1b[2mdim\x1b[22m not", " not"),
        ("\x1b[1;2mdim\x1b[0mnot", "not"),
        ("\x1b[38;5;244mgrey\x1b[39mnot", "not"),
        ("\x1b[38;2;153;153;153mgrey\x1b[0mnot", "not"),
        ("\x1b[38:2::153:153:153mgrey\x1b[0mnot", "not"),
        ("\x1b[38;2;220;220;220mwhite", "white"),
        ("\x1b[38;5;255mwhite", "white"),
        ("\x1b[90mgrey\x1b[97mwhite", "white"),
        ("\x1b[48;2;30;30;30mtyped on a background", "typed on a background"),
        ("\x1b[48;5;2mtyped on green", "typed on green"),
        ("\x1b[38;5;255;48;5;238mboth colours", "both colours"),
        ("\x1b[2;48;5;238mdim on a background", ""),
        ("typed\x1b[7m \x1b[0m", "typed"),
        ("\x1b[7mA\x1b[0m\x1b[2msk me anything", ""),
        ("\x1b[7mselected\x1b[27m text", "selected text"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
    ],
)
def test_what_is_typed_and_what_is_a_placeholder(line: str, typed: str) -> None:
    assert undimmed(line) == typed


def test_composers_of_real_clis() -> None:
    ready = capture("codex/ready.80x24")
    [line] = [line for line in ready.styled if plain(line).startswith("›")]
    assert "Ask Codex" in plain(line)
    assert undimmed(line).strip() == "›"
    steer = [plain(line) for line in capture("codex/working-steer-typed.80x24").styled if "STEER" in line]
    assert steer
    [typed] = [line for line in capture("codex/working-steer-typed.80x24").styled if "STEER-TEXT" in line]
    assert undimmed(typed) == "› please also say STEER-TEXT-1"
    [empty] = [line for line in capture("claude-code/inline-ready.80x24").styled if "❯" in line]
    assert undimmed(empty).strip("❯\xa0 ") == ""


def test_the_tail_is_what_holds_anything() -> None:
    screen = Screen(("", "one", "", "two", ""))
    assert (screen.tail(), screen.tail(1), screen.text) == ("one\ntwo", "two", "\none\n\ntwo\n")


# Idle redraws ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("✻ Brewing… (12s · ↓ 215 tokens)", "✶ Brewing… (13s · ↓ 1.2k tokens)"),
        ("⠋ Loading", "⠹ Loading"),
        ("| Loading", "/ Loading"),
        ("Working (59s)", "Working (1m 0s)"),
        ("12:59:59", "13:00:00"),
        ("done 7:54 PM", "done 7:55 PM"),
        ("12,345 tokens", "12.4k tokens"),
        ("a  b", "a b"),
    ],
)
def test_an_idle_redraw_changes_nothing(before: str, after: str) -> None:
    assert normalise(before) == normalise(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Downloading 10%", "Downloading 11%"),
        ("Step 3 of 10", "Step 4 of 10"),
        ("[1/5] Installing", "[2/5] Installing"),
        ("12.3 MB", "14.0 MB"),
        ("Indexing src/a", "Indexing src/b"),
        ("cloned 120 objects", "cloned 240 objects"),
        ("v1.2", "v1.3"),
        ("- one", "- two"),
        ("1. Yes", "2. Yes"),
    ],
)
def test_news_is_not_masked(before: str, after: str) -> None:
    assert normalise(before) != normalise(after)


# Menus -------------------------------------------------------------------------------------------


def test_a_menu_with_numbers_and_wrapped_lines() -> None:
    found = menu("claude-code/waiting-approval.80x24", "❯")
    assert [(o.number, o.label) for o in found.options] == [
        (1, "Yes"),
        (2, "Yes, and always allow access to /home/dev/projects/ws/c1 from this project"),
        (3, "Yes, and switch to auto mode · auto mode handles these prompts for you"),
        (4, "No"),
    ]
    assert found.selected == 0
    assert found.headline[-1].strip() == "Do you want to proceed?"


def test_a_menu_of_codex() -> None:
    found = menu("codex/waiting-approval.80x24", "›")
    assert [o.number for o in found.options] == [1, 2, 3]
    assert found.options[0].label == "Yes, proceed (y)"
    assert found.options[1].label.endswith("w- clis/ws/x-out` (p)")
    hooks = menu("codex/dlg-hooks-untrusted.100x30", "›")
    assert [o.label for o in hooks.options][:2] == ["Review hooks", "Trust all and continue"]


def test_a_menu_without_numbers() -> None:
    found = menu("claude-code/fresh-3-onboarding-done.80x24", "❯")
    assert [o.label for o in found.options] == ["No, exit", "Yes, I trust this folder"]
    assert found.selected == 0


def test_the_selected_line_is_found_wherever_it_is() -> None:
    found = find_menu(["  1. One", "  2. Two", "› 3. Three", "  4. Four"], "›")
    assert found and (found.selected, found.first_line, found.last_line) == (2, 0, 3)


def test_prose_with_a_marker_is_no_neighbour() -> None:
    lines = ["› do it", "  and so on", "", "Allow?", "› 1. Yes", "  2. No", "", "  a hint"]
    found = find_menu(lines, "›")
    assert found and [o.label for o in found.options] == ["Yes", "No"]
    assert find_menu(["nothing here"], "›") is None
    assert find_menu(["› 1. Old", *[""] * 50], "›") is None, "only the dialog's area counts"


def test_choices() -> None:
    dialog = Dialog(Reason.APPROVAL, "?", (Option("Yes", 1), Option("No", 2)), 0, approve=0)
    assert [dialog.index_of(c) for c in ("approve", "deny", "1", "2", "3", "x")] == [
        0,
        None,
        0,
        1,
        None,
        None,
    ]
    lettered = Dialog(Reason.UPDATE, "?", (Option("Later"), Option("Now")))
    assert lettered.index_of("2") == 1
