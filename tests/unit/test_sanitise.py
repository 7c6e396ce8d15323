"""What may be pasted: text that arrives as text."""

from __future__ import annotations

import pytest

from agentd.tmux.sanitise import sanitise


@pytest.mark.parametrize(
    ("given", "pasted"),
    [
        ("plain ä € 😀\n\ttext", "plain ä € 😀\n\ttext"),
        ("end\x1b[201~\rrm -rf", "end[201~\nrm -rf"),
        ("a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne"),
        ("\x03\x04\x00\x7f\x9b31m", "31m"),
        ("\ud800 alone", "\ufffd alone"),
        ("\ud83d\ude00", "😀"),
        ("-leading; trailing;", "-leading; trailing;"),
        ("", ""),
    ],
)
def test_sanitise(given: str, pasted: str) -> None:
    assert sanitise(given) == pasted
    assert sanitise(pasted) == pasted
    pasted.encode()
