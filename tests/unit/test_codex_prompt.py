"""What Codex would take for something else than text, and how it arrives as text."""

from __future__ import annotations

import pytest

from agentd_codex.prompt import guard, same

BLANK = "\u2800"


@pytest.mark.parametrize(
    ("text", "pasted"),
    [
        ("plain", "plain"),
        ("/quit", " /quit"),
        (" /quit", " /quit"),
        ("!rm -rf x", f"{BLANK}!rm -rf x"),
        # Up to 0.166 white space before the mark doesn't help.
        (" \n!ls", f"{BLANK}!ls"),
        ("first\n!second", "first\n!second"),
        ("/tmp/a.png", f"{BLANK}/tmp/a.png"),
        ("a.PNG", f"{BLANK}a.PNG"),
        ("'my picture.jpg'", f"{BLANK}'my picture.jpg'"),
        ("my\\ picture.jpg", f"{BLANK}my\\ picture.jpg"),
        ("look at a.png", "look at a.png"),
        ("it's a.png", "it's a.png"),
        ("a.png\nb.png", "a.png\nb.png"),
        ("read @README.md", "read @README.md "),
        ("@x", "@x "),
        ("use $skill", "use $skill "),
        ("mail a@b.c", "mail a@b.c"),
        ("@x is first", "@x is first"),
        ("", ""),
    ],
)
def test_text_is_pasted_so_that_it_stays_text(text: str, pasted: str) -> None:
    assert guard(text, raw=False) == pasted
    assert guard(text, raw=True) == text
    assert same(pasted, pasted.strip(" \n"))


def test_the_same_prompt_is_known_whatever_white_space_became_of_it() -> None:
    assert same("a\tb\r\nc ", "a    b\nc")
    assert same("e\u0301", "\u00e9")
    assert not same("a b c", "a b d")
