"""The directives in a prompt."""

from __future__ import annotations

import pytest

from agentd.demo.options import parse_options
from agentd.demo.script import Step, parse, pieces, small_talk


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("@say hello there", Step("say", "hello there")),
        ("  @say  padded  ", Step("say", "padded")),
        ("@slow 5 a b", Step("slow", "a b", 5)),
        ("@slow 0.5 a b", Step("slow", "a b", 0.5)),
        ("@delay no number", Step("delay", "no number", 1)),
        ("@tool 3", Step("tool", "", 3)),
        ("@tool 3 Read", Step("tool", "Read", 3)),
        ("@bash echo '@say x' | cat", Step("bash", "echo '@say x' | cat")),
        ("@ask May I?", Step("ask", "May I?")),
        ("@error Overloaded", Step("error", "Overloaded")),
        ("@cut", Step("cut")),
        ("@silence", Step("silence")),
        ("@crash 7", Step("crash", "7")),
        ("@background 2 later", Step("background", "later", 2)),
    ],
)
def test_a_directive(line: str, step: Step) -> None:
    assert parse(line) == [step]


def test_directives_run_in_order_and_prose_between_them_says_nothing() -> None:
    assert parse("Please:\n@tool 1\n\nthen\n@say done\n") == [Step("tool", "", 1), Step("say", "done")]


@pytest.mark.parametrize("prompt", ["", "hello", "mail me@say.org", "@unknown x", "@Say x", "what is @say?"])
def test_no_directive(prompt: str) -> None:
    assert parse(prompt) == []


@pytest.mark.parametrize(("text", "number"), [("hello world", 3), ("ab", 5), ("", 2), ("é日", 1), ("abc", 0)])
def test_pieces_join_to_the_text(text: str, number: int) -> None:
    cut = pieces(text, number)
    assert "".join(cut) == text
    assert len(cut) == max(1, number)


def test_small_talk_tells_which_prompt_it_answers() -> None:
    assert small_talk("  Fix the bug \nplease") == (
        "Hello from the demo agent! You said: Fix the bug (21 characters)"
    )
    assert "(1 character)" in small_talk("x")


def test_a_hook_is_words_or_one_list() -> None:
    assert parse_options(["--hook", "a", "--hook=-b"]).hook == ["a", "-b"]
    assert parse_options(["--hook", '["a", "-b", "c d"]']).hook == ["a", "-b", "c d"]


@pytest.mark.parametrize(
    "argv", [["--hook", "[broken"], ["--tick", "0"], ["--session-id", "a", "--resume", "b"], ["--nonsense"]]
)
def test_a_wrong_command_line_is_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        parse_options(argv)
    assert exit_.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_options(["--version"])
    assert capsys.readouterr().out == "1.0.0 (demo)\n"
