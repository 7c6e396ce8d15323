"""What Pi's screen says; captured in tmux 3.3a from 1.6.0, 0.87.1 and 0.73.1."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentd.model import Reason
from agentd.screen import Dialog, Look, Screen
from agentd_pi import Pi

CAPTURES = Path(__file__).with_name("captures") / "pi"
RULE = "─" * 80
FOOTER = ("~/project", "0.0%/128k (auto)                                                       mock-1")
CURSOR = "\x1b[7m \x1b[0m"


def see(name: str) -> Look:
    return Pi().look(Screen.captured((CAPTURES / f"{name}.ansi").read_text().split("\n")))


def frame(*inside: str, above: tuple[str, ...] = (), below: tuple[str, ...] = FOOTER) -> Look:
    return Pi().look(Screen.captured([*above, RULE, *inside, RULE, *below]))


def dialog(name: str) -> Dialog:
    look = see(name)
    assert look.dialog is not None, name
    assert not look.composer and look.draft is None and not look.busy
    return look.dialog


IDLE = Look(composer=True, draft="")
BUSY = Look(composer=True, draft="", busy=True)
STEER = "please also say STEER-TEXT-1"


@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("1.6.0/ready", IDLE),
        ("1.6.0/error-529", IDLE),
        ("1.6.0/bang", IDLE),
        ("1.6.0/working-streaming", BUSY),
        ("1.6.0/working-steer-queued", BUSY),
        ("1.6.0/working-steer-typed", Look(composer=True, draft=STEER, busy=True)),
        ("1.6.0/tool-running", BUSY),
        ("1.6.0/mcp-ok-running", BUSY),
        ("1.6.0/retrying-529", BUSY),
        ("1.6.0/bang-running", BUSY),
        ("1.6.0/interrupted-with-queue", Look(composer=True, draft="QUEUED-MSG @say q")),
        ("1.6.0/long-paste-typed", Look(composer=True, draft="[paste #1 +61 lines]", folded=True)),
        ("1.6.0/slash-typed", Look(composer=True, draft="/m")),
        ("1.6.0/exited", Look()),
        ("0.73.1/ready", IDLE),
        ("0.73.1/error-529", IDLE),
        ("0.73.1/bang", IDLE),
        ("0.73.1/working-streaming", BUSY),
        ("0.73.1/working-steer-queued", BUSY),
        ("0.73.1/working-steer-typed", Look(composer=True, draft=STEER, busy=True)),
        ("0.73.1/tool-steer-queued", BUSY),
        ("0.73.1/retrying-429", BUSY),
        ("0.73.1/bang-running", BUSY),
        ("0.73.1/interrupted-with-queue", Look(composer=True, draft="QUEUED-MSG @say q")),
        ("0.73.1/long-paste-typed", Look(composer=True, draft="[paste #1 +61 lines]", folded=True)),
    ],
)
def test_the_composer(name: str, look: Look) -> None:
    assert see(name) == look


def test_a_draft_over_many_lines() -> None:
    hidden = see("1.6.0/draft-hidden")
    assert hidden.composer and not hidden.busy, "a rule that counts hidden lines is no sign of work"
    assert hidden.draft and hidden.draft.endswith("more 7\nmore 8")
    wrapped = see("1.6.0/draft-wrapped")
    assert wrapped.draft and wrapped.draft.replace("\n", "") == "x" * 300


@pytest.mark.parametrize("name", ["1.6.0/dlg-trust", "1.6.0/dlg-trust-moved", "0.87.1/dlg-trust"])
def test_the_trust_dialog(name: str) -> None:
    asked = dialog(name)
    assert asked.reason is Reason.TRUST
    assert asked.text.startswith("Trust project folder?\n/home/dev/proj")
    labels = [option.label for option in asked.options]
    assert labels[0] == "Trust" and labels[2:] == [
        "Trust (this session only)",
        "Do not trust",
        "Do not trust (this session only)",
    ]
    assert (asked.approve, asked.deny) == (0, 3)
    assert asked.selected == ("moved" in name)


@pytest.mark.parametrize("name", ["1.6.0/fresh-1-no-models", "0.87.1/no-model"])
def test_nobody_is_signed_in(name: str) -> None:
    asked = dialog(name)
    assert asked.reason is Reason.LOGIN
    assert asked.fixed and "/login" in asked.fixed


def test_a_prompt_that_nobody_can_answer_is_still_no_draft_to_send() -> None:
    assert dialog("0.73.1/no-model-sent").reason is Reason.LOGIN


def test_a_login_menu() -> None:
    asked = dialog("1.6.0/dlg-login")
    assert asked.reason is Reason.LOGIN
    assert asked.options[0].label == "Sign in with an account"
    assert asked.deny_keys == ("Escape",)


@pytest.mark.parametrize("name", ["1.6.0/dlg-confirm", "0.73.1/dlg-confirm"])
def test_a_question_of_an_extension(name: str) -> None:
    asked = dialog(name)
    assert asked.reason is Reason.QUESTION
    assert asked.text == "Delete all?\nThis can't be undone"
    assert [option.label for option in asked.options] == ["Yes", "No"]
    assert (asked.selected, asked.approve, asked.deny) == (0, 0, 1)


@pytest.mark.parametrize("name", ["1.6.0/dlg-select", "0.87.1/dlg-select"])
def test_a_choice_of_an_extension(name: str) -> None:
    asked = dialog(name)
    assert asked.reason is Reason.QUESTION and asked.text == "Pick one:"
    assert [option.label for option in asked.options] == ["Alpha", "Beta", "Gamma"]
    assert asked.approve is None and asked.deny is None and asked.deny_keys == ("Escape",)


@pytest.mark.parametrize(
    "name",
    [
        "1.6.0/dlg-input",
        "1.6.0/dlg-editor",
        "1.6.0/dlg-model",
        "1.6.0/dlg-settings",
        "1.6.0/dlg-resume",
        "1.6.0/dlg-tree",
        "1.6.0/dlg-fork",
        "1.6.0/dlg-mcp",
        "0.73.1/dlg-model",
        "0.73.1/dlg-tree",
        "0.73.1/dlg-settings",
    ],
)
def test_what_a_person_opened_can_be_left(name: str) -> None:
    asked = dialog(name)
    assert asked.reason is Reason.UNKNOWN_DIALOG
    assert asked.text and not asked.options
    assert asked.deny_keys == ("Escape",)


@pytest.mark.parametrize(
    "lines",
    [
        (f"> a quotation{CURSOR}",),
        (f"→ an arrow{CURSOR}",),
        ("", f"after an empty line{CURSOR}"),
        ("press", f"escape to cancel{CURSOR}"),
        ("→ Yes", f"enter to select{CURSOR}"),
        ("enter select", ""),
    ],
)
def test_a_draft_may_look_like_a_dialog(lines: tuple[str, ...]) -> None:
    look = frame(*lines)
    assert look.composer and look.dialog is None
    assert look.draft == "\n".join(line.replace(CURSOR, "") for line in lines).strip()


def test_prose_is_no_dialog() -> None:
    said = (" Trust project folder?", " → Trust", "   Do not trust", " enter select  escape/ctrl+c cancel")
    assert frame(CURSOR, above=said) == IDLE
    assert Pi().look(Screen(said)) == Look()


def test_a_guarded_prompt_is_no_spinner() -> None:
    assert frame(CURSOR, above=("", " \u2800!ls", "")) == IDLE
    assert frame(CURSOR, above=("", " \u280b Working...", "")) == BUSY


def test_an_empty_screen() -> None:
    assert Pi().look(Screen(())) == Look()
    assert Pi().look(Screen(("fd not found. Downloading...", ""))) == Look()
