"""Reading a file that grows: whole lines only, from where the last reading stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentd.records.tail import CHUNK, Tail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "record.jsonl"


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_file_that_is_not_there_yet(path: Path) -> None:
    tail = Tail(path)
    assert list(tail.rows()) == []
    append(path, '{"a": 1}\n')
    assert list(tail.rows()) == [{"a": 1}]
    assert list(tail.rows()) == []


def test_a_half_written_line_waits_for_its_end(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n{"b"')
    assert list(tail.rows()) == [{"a": 1}]
    append(path, ": 2}")
    assert list(tail.rows()) == []
    append(path, "\n")
    assert list(tail.rows()) == [{"b": 2}]


def test_a_line_of_several_megabytes(path: Path) -> None:
    row = {"a": "x" * (3 * CHUNK)}
    text = json.dumps(row) + "\n"
    tail = Tail(path)
    append(path, text[: CHUNK + 5])
    assert list(tail.rows()) == []
    append(path, text[CHUNK + 5 :])
    assert list(tail.rows()) == [row]


def test_a_character_that_was_cut_in_half(path: Path) -> None:
    line = '{"a": "ä€"}\n'.encode()
    tail = Tail(path)
    path.write_bytes(line[:8])
    assert list(tail.rows()) == []
    path.write_bytes(line)
    assert list(tail.rows()) == [{"a": "ä€"}]


def test_what_is_no_object_is_skipped_and_counted(path: Path) -> None:
    tail = Tail(path)
    append(path, 'nonsense\n[1]\n\n{"a": 1}\n' + "[" * 100_000 + "\n" + '{"b": 2}\n')
    assert list(tail.rows()) == [{"a": 1}, {"b": 2}]
    assert tail.skipped == 3


def test_a_truncated_file_is_read_from_its_beginning(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n{"b": 2}\n')
    assert len(list(tail.rows())) == 2
    path.write_text('{"c": 3}\n')
    assert list(tail.rows()) == [{"c": 3}]


def test_a_replaced_file_is_read_from_its_beginning(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n{"ha')
    assert list(tail.rows()) == [{"a": 1}]
    other = path.with_name("new")
    other.write_text('{"c": 3}\n{"d": 4}\n{"e": 5}\n')
    other.replace(path)
    assert list(tail.rows()) == [{"c": 3}, {"d": 4}, {"e": 5}]


def test_a_new_daemon_goes_on_before_the_half_line(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n{"b"')
    list(tail.rows())
    again = Tail.from_json(json.loads(json.dumps(tail.to_json())))
    append(path, ": 2}\n")
    assert list(again.rows()) == [{"b": 2}]


def test_a_reading_that_is_broken_off_loses_nothing(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n{"b": 2}\n{"c": 3}\n')
    rows = tail.rows()
    assert next(rows) == {"a": 1}
    del rows
    assert list(tail.rows()) == [{"b": 2}, {"c": 3}]


def test_from_the_end(path: Path) -> None:
    assert Tail.at_end(path).offset == 0
    append(path, '{"a": 1}\n')
    tail = Tail.at_end(path)
    append(path, '{"b": 2}\n')
    assert list(tail.rows()) == [{"b": 2}]
