"""A prompt on its way into Pi's composer: what 0.73.1, 0.87.1 and 1.6.0 took for a command is plain text."""

from __future__ import annotations

import pytest

from agentd_pi import Pi

BLANK = "\u2800"


@pytest.mark.parametrize(
    "text",
    ["!ls", "!!ls", "  !ls", "\n\t!ls", "/quit", "  /quit", "/model x", "/skill:a b", "/", "/help\nme"],
)
def test_a_command_becomes_text(text: str) -> None:
    assert Pi().guard(text, raw=False) == BLANK + text.lstrip()


@pytest.mark.parametrize("text", ["hello", "/home/me is full", "a\n!b\n/quit", "exit", "# x", "@file", "-x;"])
def test_the_rest_is_left_alone(text: str) -> None:
    assert Pi().guard(text, raw=False) == text


def test_a_last_backslash_would_turn_enter_into_a_new_line() -> None:
    assert Pi().guard("C:\\", raw=False) == "C:\\ "


def test_an_empty_first_line_would_look_like_a_dialog() -> None:
    assert Pi().guard("\n\n→ one", raw=False) == "→ one"


@pytest.mark.parametrize("text", ["!ls", " /quit", "\\"])
def test_raw_passes_as_it_is(text: str) -> None:
    assert Pi().guard(text, raw=True) == text


def test_the_record_may_differ_in_white_space() -> None:
    same = Pi().same_prompt
    assert same("\tif x:\n\t\ty \n", "    if x:\n        y")
    assert same(f"{BLANK}!ls", f"{BLANK}!ls")
    assert same("e\u0301", "\u00e9")
    assert not same(f"{BLANK}!ls", "!ls")
    assert not same("one", "two")
