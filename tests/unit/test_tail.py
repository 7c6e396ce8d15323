"""Reading a file that grows: whole lines only, from where the last reading stopped."""

from __future__ import annotations

import errno
import json
import os
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


# What goes wrong with files -----------------------------------------------------------------------


def problem(tail: Tail) -> str:
    [text] = tail.problems
    tail.problems.clear()
    return text


def test_a_problem_names_file_and_position(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\nnonsense\n{"b": 2}\n')
    assert list(tail.rows()) == [{"a": 1}, {"b": 2}]
    assert problem(tail) == f"{path} has a line that is no JSON object at byte 9: skipped"


def test_a_file_of_nonsense_does_not_flood(path: Path) -> None:
    tail = Tail(path)
    for _ in range(60):
        append(path, "nonsense\n" * 5)
        assert list(tail.rows()) == []
    assert [text.rpartition(": ")[2] for text in tail.problems] == [
        "skipped",
        "skipped (10 by now)",
        "skipped (100 by now)",
    ]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b'\0\0\0\0{"a": 1}\0\0', {"a": 1}),
        (b'{"a": "\xff\xfe"}', {"a": "\ufffd\ufffd"}),
        (b'{"a": "cut \\ud83d"}', {"a": "cut \ufffd"}),
        (b'{"\\uDE00": ["\\ud83d\\ude00", {"b": "\\udfff"}]}', {"\ufffd": ["😀", {"b": "\ufffd"}]}),
        (b'{"half": {"text": "say \\"{\\" an{"a": {"b": [1]}}', {"a": {"b": [1]}}),
        (b"\0" * 5000 + b'{"a": 1}', {"a": 1}),
    ],
    ids=[
        "zeros",
        "no utf-8",
        "half a character",
        "half characters everywhere",
        "behind half a row",
        "a hole",
    ],
)
def test_a_damaged_line_does_not_hide_its_row(path: Path, line: bytes, row: dict[str, object]) -> None:
    path.write_bytes(b'{"z": 0}\n' + line + b'\n{"y": 2}\n')
    assert list(Tail(path).rows()) == [{"z": 0}, row, {"y": 2}]
    json.dumps(row, ensure_ascii=False).encode()


def test_a_quoted_row_is_not_taken_for_one(path: Path) -> None:
    quoted = json.dumps({"text": '{"kind": "turn_done"}'})
    path.write_text(quoted[:-1] + "\n" + quoted + "\n")
    assert list(Tail(path).rows()) == [json.loads(quoted)]


def test_a_line_that_is_too_long_is_skipped_without_being_held(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentd.records.tail.LONGEST", 2 * CHUNK)
    tail = Tail(path)
    append(path, '{"a": 1}\n{"x": "')
    for _ in range(8):
        append(path, "x" * CHUNK)
        list(tail.rows())
        assert len(tail._rest) <= 3 * CHUNK
    append(path, '"}\n{"b": 2}\n')
    assert list(tail.rows()) == [{"b": 2}]
    assert "a line of more than 2 MiB at byte 9: skipped" in problem(tail)


def test_a_line_in_many_pieces_is_not_copied_for_each(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"x": "')
    for _ in range(2000):
        append(path, "x" * 1000)
        assert list(tail.rows()) == []
    append(path, '"}\n')
    [row] = tail.rows()
    assert len(row["x"]) == 2_000_000


def test_truncated_and_grown_beyond_the_position(path: Path) -> None:
    """By its size alone it is the same file."""
    tail = Tail(path)
    append(path, '{"a": 1}\n')
    assert list(tail.rows()) == [{"a": 1}]
    path.write_text('{"other": "row"}\n{"end": true}\n')
    assert list(tail.rows()) == [{"other": "row"}, {"end": True}]
    assert "was truncated or written anew (it had been read up to byte 9)" in problem(tail)


def test_a_new_daemon_knows_the_file_again(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n')
    list(tail.rows())
    again = Tail.from_json(json.loads(json.dumps(tail.to_json())))
    path.write_text('{"other": "row"}\n')
    assert list(again.rows()) == [{"other": "row"}]


@pytest.mark.parametrize("at_end", [False, True])
def test_a_copy_in_the_files_place_is_read_on(path: Path, at_end: bool) -> None:
    """A CLI that rewrites its history, and an editor that saves a file: nothing is told twice."""
    append(path, '{"a": 1}\n{"b": 2}\n')
    tail = Tail.at_end(path) if at_end else Tail(path)
    list(tail.rows())
    copy = path.with_name("copy")
    copy.write_text(path.read_text() + '{"c": 3}\n')
    copy.replace(path)
    assert list(tail.rows()) == [{"c": 3}]
    assert tail.problems == []


def test_rotated_by_copying_while_its_writer_goes_on(path: Path) -> None:
    """`copytruncate`: a writer that doesn't append leaves a hole before its next line."""
    tail = Tail(path)
    with path.open("wb", buffering=0) as writer:
        writer.write(b'{"a": 1}\n{"b": 2}\n')
        list(tail.rows())
        os.truncate(path, 0)
        list(tail.rows())
        writer.write(b'{"c": 3}\n')
        assert list(tail.rows()) == [{"c": 3}]


def test_what_was_read_is_given_back_and_the_rest_is_read_on(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n')
    list(tail.rows())
    with path.open("r+b") as file:
        file.write(b"\0" * 9)
    append(path, '{"b": 2}\n')
    assert list(tail.rows()) == [{"b": 2}] and tail.problems == []


def test_moved_away_and_begun_anew(path: Path) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n')
    list(tail.rows())
    path.rename(path.with_name("old"))
    assert list(tail.rows()) == [] == list(tail.rows())
    assert problem(tail) == f"{path} can't be read on at byte 9: No such file or directory"
    append(path, '{"b": 2}\n')
    assert list(tail.rows()) == [{"b": 2}]


def test_what_is_no_file_does_not_hang(path: Path, tmp_path: Path) -> None:
    os.mkfifo(path)
    assert list(Tail(path).rows()) == []
    assert list(Tail(tmp_path).rows()) == []


def test_a_disk_that_can_not_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tail = Tail(path)
    append(path, '{"a": 1}\n')
    list(tail.rows())
    append(path, '{"b": 2}\n')
    with monkeypatch.context() as patch:
        patch.setattr(Tail, "_same", _broken)
        assert list(tail.rows()) == []
    assert problem(tail) == f"{path} can't be read at byte 9: Input/output error"
    assert list(tail.rows()) == [{"b": 2}]


def _broken(*args: object, **options: object) -> bool:
    raise OSError(errno.EIO, "Input/output error")
