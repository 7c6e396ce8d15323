"""Codex's screens, as captured from the real program at 100x30."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentd.model import Reason
from agentd.screen import Dialog, Look, Screen
from agentd_codex.screen import look

CAPTURES = Path(__file__).parent / "captures" / "codex"
RELEASES = ("0.171.0", "0.155.1")
LONG_STEER = (
    "steer one\nsecond line of a steer that is so long that it has to be wrapped by a terminal "
    "that is a hundred\ncolumns wide\n…"
)


def seen(name: str) -> Look:
    return look(Screen.captured((CAPTURES / f"{name}.ansi").read_text().split("\n")))


def asked(name: str) -> Dialog:
    dialog = seen(name).dialog
    assert dialog, name
    return dialog


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("ready", Look(composer=True, draft="")),
        ("done", Look(composer=True, draft="")),
        ("interrupted", Look(composer=True, draft="")),
        ("tool", Look(composer=True, draft="", busy=True)),
        ("draft", Look(composer=True, draft="first line\nsecond line\n\nlast line")),
        ("draft-numbered", Look(composer=True, draft="1. a draft that looks like an option")),
        ("draft-shell", Look(composer=True, draft="! echo hi")),
        ("draft-folded", Look(composer=True, draft="[Pasted Content 1600 chars]", folded=True)),
        ("steer-waiting", Look(composer=True, draft="", busy=True, waiting=(LONG_STEER, "steer two"))),
        ("queued-at-start", Look(composer=True, draft="", waiting=('@tool wait {"seconds": 1}',))),
        # The model's own text is no dialog, whatever it looks like.
        ("prose", Look(composer=True, draft="")),
    ],
)
def test_the_composer_and_what_stands_above_it(release: str, name: str, what: Look) -> None:
    assert seen(f"{release}/{name}") == what


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("name", "draft"), [("popup-file", "see @work"), ("popup-skill", "use $re")])
def test_a_list_of_completions_is_no_dialog(release: str, name: str, draft: str) -> None:
    shown = seen(f"{release}/{name}")
    assert shown.composer and shown.dialog is None
    assert shown.draft and shown.draft.startswith(draft)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("name", "reason", "selected", "approve", "deny"),
    [
        ("trust", Reason.TRUST, 0, 0, 1),
        ("sign-in", Reason.LOGIN, 0, None, None),
        ("approval", Reason.APPROVAL, 0, 0, 2),
        ("approval-third", Reason.APPROVAL, 2, 0, 2),
        ("approval-mcp", Reason.APPROVAL, 0, 0, 3),
        ("question", Reason.QUESTION, 0, None, None),
        ("model", Reason.UNKNOWN_DIALOG, 0, None, None),
    ],
)
def test_dialogs(
    release: str, name: str, reason: Reason, selected: int, approve: int | None, deny: int | None
) -> None:
    dialog = asked(f"{release}/{name}")
    assert (dialog.reason, dialog.selected, dialog.approve, dialog.deny) == (reason, selected, approve, deny)
    assert [option.number for option in dialog.options] == list(range(1, len(dialog.options) + 1))


@pytest.mark.parametrize("release", RELEASES)
def test_a_dialog_says_what_it_asks(release: str) -> None:
    approval = asked(f"{release}/approval")
    assert approval.text.splitlines()[0] == "Would you like to run the following command?"
    assert "$ touch /tmp/cap/outside" in approval.text
    assert approval.options[1].label.startswith("Yes, and don't ask again")
    assert 'run tool "wait"?' in asked(f"{release}/approval-mcp").text
    assert "Which colour do you like?" in asked(f"{release}/question").text
    assert asked(f"{release}/sign-in").fixed


@pytest.mark.parametrize("release", RELEASES)
def test_a_question_with_the_words_of_the_trust_dialog_is_none(release: str) -> None:
    """Its options are the model's: the trust list must not answer it."""
    dialog = asked(f"{release}/question")
    assert [option.label.partition("  ")[0] for option in dialog.options][:2] == [
        "Trust and continue",
        "Quit",
    ]
    assert dialog.reason is Reason.QUESTION
    assert dialog.deny_keys == ("Escape",)


def test_hooks_that_need_a_review() -> None:
    dialog = asked("dlg-hooks-untrusted.100x30")
    assert (dialog.reason, dialog.approve, dialog.deny) == (Reason.QUESTION, 1, 2)


def test_the_page_behind_a_denied_trust_is_no_composer() -> None:
    dialog = asked("0.171.0/command-center")
    assert dialog.reason is Reason.UNKNOWN_DIALOG
    assert dialog.fixed and not dialog.options and not dialog.deny_keys


@pytest.mark.parametrize(
    ("options", "keys", "reason", "approve", "deny"),
    [
        (["Update now (runs npm)", "Skip", "Skip until next version"], "enter continue", Reason.UPDATE, 0, 1),
        (["Switch to a smaller model", "Keep current model"], "Press enter to continue", Reason.LIMIT, 0, 1),
        (["Yes, implement this plan", "No, stay in Plan mode"], "Press enter to confirm or esc to go back",
         Reason.QUESTION, 0, 1),
        (["Yes, just this once", "No, continue without running it"], "enter confirm · esc cancel",
         Reason.APPROVAL, 0, 1),
        # A dialog about a command, whose text is the model's.
        (["Yes, and don't ask again", "No"], "enter confirm · esc cancel", Reason.QUESTION, None, 1),
    ],
)  # fmt: skip
def test_dialogs_that_were_only_read_in_the_program(
    options: list[str], keys: str, reason: Reason, approve: int | None, deny: int | None
) -> None:
    rows = [f"{'›' if n == 1 else ' '} {n}. {label}" for n, label in enumerate(options, 1)]
    dialog = look(Screen(("  A headline", "", *rows, "", f"  {keys}"))).dialog
    assert dialog
    assert (dialog.reason, dialog.approve, dialog.deny) == (reason, approve, deny)
    assert dialog.text == "A headline"


def test_an_unknown_page_can_be_left() -> None:
    dialog = look(Screen(("  Something new", "  with a table", "  ↑/↓ scroll · esc close"))).dialog
    assert dialog and (dialog.reason, dialog.deny_keys) == (Reason.UNKNOWN_DIALOG, ("Escape",))


@pytest.mark.parametrize("lines", [(), ("",), ("codex: command not found",), ("$ ", "Error: no such file")])
def test_anything_else_is_unknown(lines: tuple[str, ...]) -> None:
    assert look(Screen(lines)) == Look()
