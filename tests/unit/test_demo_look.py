"""What the demo agent's screen says; the screens were captured in tmux 3.3a at 80x24."""

from __future__ import annotations

import pytest

from agentd.demo import view
from agentd.demo.adapter import Demo
from agentd.model import Reason
from agentd.screen import Dialog, Look, Screen

RULE = "─" * 80
BANNER = """\
\x1b[36m ◆ \x1b[39m\x1b[1magentd demo\x1b[0m\x1b[39m\x1b[49m \x1b[2mv1.0.0
   demo-1 · offline · ~/src/project
   Type a prompt, or a script: @say, @slow, @tool, @bash, @ask …

"""
IDLE = f"""\
{RULE}
\x1b[0m\x1b[39m\x1b[49m❯ \x1b[7mA\x1b[0;2m\x1b[39m\x1b[49msk the demo agent anything
{RULE}
  ? for help                                                            demo-1
"""
BUSY = f"""\
\x1b[0;1m\x1b[39m\x1b[49m❯\x1b[0m\x1b[39m\x1b[49m \x1b[1m@silence

\x1b[0m\x1b[36m\x1b[49m✻ Thinking… (0s)
\x1b[2m\x1b[39m{RULE}
\x1b[0m\x1b[39m\x1b[49m❯ \x1b[7mA\x1b[0;2m\x1b[39m\x1b[49msk the demo agent anything
{RULE}
  esc to interrupt                                                      demo-1
"""
DRAFT = f"""\
{RULE}
\x1b[0m\x1b[39m\x1b[49m❯ @ask rm -rf build
  \x20
  and more\x1b[7m
\x1b[0;2m\x1b[39m\x1b[49m{RULE}
  ? for help                                                            demo-1
"""
LONG = f"""\
{RULE}
\x1b[0m\x1b[39m\x1b[49m❯ [Pasted text #1 +60 lines]\x1b[7m
\x1b[0;2m\x1b[39m\x1b[49m{RULE}
  ? for help                                                            demo-1
"""
ASK = f"""\
\x1b[0;1m\x1b[39m\x1b[49m❯\x1b[0m\x1b[39m\x1b[49m \x1b[1m@ask rm -rf build

\x1b[0m\x1b[32m\x1b[49m●\x1b[39m \x1b[1mApproval(rm -rf build)

\x1b[0;2m\x1b[39m\x1b[49m{RULE}
\x1b[0m\x1b[39m\x1b[49m rm -rf build

 Do you want to proceed?
   1. Yes
 \x1b[36m❯ 2. No

\x1b[39m\x1b[2m Enter to confirm · Esc to cancel
"""
TRUST = f"""\
{RULE}
\x1b[0m\x1b[39m\x1b[49m Accessing workspace:

 /home/dev/src/project

 Quick safety check: Is this a project you created or one you trust? The demo
 agent will be able to run commands here.

 \x1b[36m❯ No, exit
\x1b[39m   Yes, I trust this folder

\x1b[2m Enter to confirm · Esc to cancel
"""
UPDATE = f"""\
{RULE}
\x1b[0m\x1b[39m\x1b[49m ✨ Update available! 1.0.0 -> 1.0.1

 \x1b[36m❯ 1. Update now (runs the installer)
\x1b[39m   2. Skip

\x1b[2m Enter to confirm · Esc to cancel
"""
UNKNOWN = f"""\
{RULE}
 Which colour?

 \x1b[36m❯ 1. Red
\x1b[39m   2. Blue

\x1b[2m Enter to confirm · Esc to cancel
"""
LOGIN = f"""\
{RULE}
\x1b[0m\x1b[39m\x1b[49m Not logged in

 Press any key to log in…
"""
PROSE = """\
\x1b[0m● Do you want to proceed?
   ❯ 1. Yes
     2. No
  Press any key to log in…
  esc to interrupt
"""


def see(text: str) -> Look:
    """The look on these lines, with the rest of the screen empty."""
    lines = (BANNER + text).split("\n")
    return Demo().look(Screen(tuple(lines + [""] * (24 - len(lines)))))


def dialog(text: str) -> Dialog:
    look = see(text)
    assert look.dialog is not None
    assert not look.composer and look.draft is None and not look.busy
    return look.dialog


@pytest.mark.parametrize(
    ("screen", "look"),
    [
        (IDLE, Look(composer=True, draft="")),
        (BUSY, Look(composer=True, draft="", busy=True)),
        (DRAFT, Look(composer=True, draft="@ask rm -rf build\n\nand more")),
        (LONG, Look(composer=True, draft="[Pasted text #1 +60 lines]", folded=True)),
        (PROSE + IDLE, Look(composer=True, draft="")),
        (PROSE, Look()),
        ("", Look()),
    ],
)
def test_the_composer(screen: str, look: Look) -> None:
    assert see(screen) == look


def test_an_approval() -> None:
    asked = dialog(PROSE + ASK)
    assert (asked.reason, asked.text) == (Reason.APPROVAL, "rm -rf build\nDo you want to proceed?")
    assert [(option.number, option.label) for option in asked.options] == [(1, "Yes"), (2, "No")]
    assert (asked.selected, asked.approve, asked.deny) == (1, 0, 1)


def test_trust_is_preselected_to_leave() -> None:
    asked = dialog(TRUST)
    assert asked.reason == Reason.TRUST
    assert "/home/dev/src/project" in asked.text
    assert [option.label for option in asked.options] == ["No, exit", "Yes, I trust this folder"]
    assert (asked.selected, asked.approve, asked.deny) == (0, 1, 0)


def test_an_update_is_preselected_to_install() -> None:
    asked = dialog(UPDATE)
    assert (asked.reason, asked.selected, asked.approve, asked.deny) == (Reason.UPDATE, 0, 0, 1)


def test_an_unknown_menu_has_options_but_neither_yes_nor_no() -> None:
    asked = dialog(UNKNOWN)
    assert (asked.reason, asked.approve, asked.deny) == (Reason.UNKNOWN_DIALOG, None, None)
    assert asked.index_of("2") == 1


def test_a_login_needs_a_person() -> None:
    asked = dialog(LOGIN)
    assert asked.reason == Reason.LOGIN and not asked.options
    assert asked.fixed


@pytest.mark.parametrize("width", [20, 80, 200])
@pytest.mark.parametrize(
    "draft", ["", "one", "é日本語 " * 90, "x" * 900, "a\n\nb", "─" * 300, "❯ 1. Yes\n❯ 2. No"]
)
def test_what_is_drawn_is_what_is_seen(width: int, draft: str) -> None:
    """No line is too wide, and the adapter reads back the end of the draft."""
    frame = view.prompt_frame(width, 24, draft=draft, left="esc to interrupt", right="demo-1", spinner="✻ …")
    screen = Screen(tuple(frame))
    assert all(view.cells(line) <= width for line in screen.lines)
    assert len(frame) < 24
    look = Demo().look(screen)
    assert look.composer and look.busy and look.draft is not None
    seen = "".join(look.draft.split())
    assert "".join(draft.split()).endswith(seen)
    assert bool(seen) == bool(draft)


def test_wrapping_keeps_every_word() -> None:
    assert view.wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert view.wrap("abcdefghijkl", 5) == ["abcde", "fghij", "kl"]
    assert view.wrap("日本語", 4) == ["日本", "語"]
    assert view.wrap("a\tb\x1b[31mc\x07\n", 20) == ["a    bc", ""]
    assert len(view.entry("reply", "x" * 1_000_000, 80)) <= view.SHOWN_LINES + 2
