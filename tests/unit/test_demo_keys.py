"""Keys and pastes from bytes that come in any portion."""

from __future__ import annotations

import time

import pytest

from agentd.demo.composer import Composer, shown_as
from agentd.demo.keys import Decoder, Key, Paste, Press, Typed

ENTER = Key("enter")


def decode(*reads: bytes) -> list[Press]:
    """Everything these reads mean, with neighbouring text joined."""
    decoder = Decoder()
    found: list[Press] = []
    for read in reads:
        for press in decoder.feed(read):
            if isinstance(press, Typed) and found and isinstance(found[-1], Typed):
                found[-1] = Typed(found[-1].text + press.text)
            else:
                found.append(press)
    return found


@pytest.mark.parametrize(
    ("data", "presses"),
    [
        (b"abc\r", [Typed("abc"), ENTER]),
        (b"\x1b[A\x1b[B\x1bOA", [Key("up"), Key("down"), Key("up")]),
        (b"\x15\x7f\x03\x04", [Key("ctrl-u"), Key("backspace"), Key("ctrl-c"), Key("ctrl-d")]),
        (b"\x1b[I\x1b[1;5C\x1b[3~x", [Typed("x")]),
        (b"\x1b\x1b[A", [Key("escape"), Key("up")]),
        (b"\x1b\rx", [Key("newline"), Typed("x")]),
        (b"\x1b[200~a\rb\x1b[A\x03\x1b[201~\r", [Paste("a\nb\x1b[A\x03"), ENTER]),
        (b"\x1b[200~\x1b[201~", [Paste("")]),
        ("é日🎉".encode(), [Typed("é日🎉")]),
    ],
)
def test_the_same_wherever_the_bytes_are_split(data: bytes, presses: list[Press]) -> None:
    assert decode(data) == presses
    assert decode(*(data[i : i + 1] for i in range(len(data)))) == presses
    for cut in range(1, len(data)):
        assert decode(data[:cut], data[cut:]) == presses, cut


def test_a_lone_escape_is_the_key_once_nothing_follows() -> None:
    decoder = Decoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.pending
    assert decoder.flush() == [Key("escape")]
    assert not decoder.pending
    assert decoder.feed(b"\x1b[") == []
    assert decoder.flush() == [Key("escape"), Typed("[")]


def test_a_paste_is_not_pending_however_long_it_takes() -> None:
    decoder = Decoder()
    assert decoder.feed(b"\x1b[200~half\x1b[20") == []
    assert not decoder.pending
    assert decoder.flush() == []
    assert decoder.feed(b"1~") == [Paste("half")]


def test_a_letter_that_a_control_byte_cuts_off_is_broken() -> None:
    assert decode(b"\xc3\r\xa9") == [Typed("�"), ENTER, Typed("�")]


def test_a_long_paste_takes_no_quadratic_time() -> None:
    text = "0123456789abcdé\n" * 70_000
    data = b"\x1b[200~" + text.encode() + b"\x1b[201~\r"
    began = time.monotonic()
    presses = decode(*(data[i : i + 4096] for i in range(0, len(data), 4096)))
    assert time.monotonic() - began < 2
    assert presses == [Paste(text), ENTER]


def test_the_composer_labels_what_is_long_and_keeps_every_byte() -> None:
    composer = Composer()
    composer.type("see ")
    composer.paste("\n".join(map(str, range(61))))
    composer.paste("short\ttext")
    composer.paste("x" * 2001)
    assert composer.shown == "see [Pasted text #1 +60 lines]short\ttext[Pasted text #2]"
    assert composer.text == "see " + "\n".join(map(str, range(61))) + "short\ttext" + "x" * 2001
    composer.backspace()
    composer.backspace()
    assert composer.text.endswith("short\ttex")
    composer.clear()
    assert not composer
    assert shown_as("1\n" * 10) == "[Pasted text #1 +10 lines]"
    assert shown_as("1\n" * 9) == "1\n" * 9
