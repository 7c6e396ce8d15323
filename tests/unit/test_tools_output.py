"""Head and tail for the model, the whole on disk."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from random import Random

import pytest

from agentd.tools.output import CAP, KEPT_FILES, Output


def fed(tmp_path: Path, data: bytes, piece: int, **limits: int) -> Output:
    output = Output(tmp_path / "tools" / "c1.out", **limits)
    for start in range(0, len(data), piece):
        output.add(data[start : start + piece])
    output.close()
    return output


def test_the_cap_is_the_contracts() -> None:
    assert CAP == 128 * 1024


def test_what_fits_is_shown_whole_and_leaves_no_file(tmp_path: Path) -> None:
    output = fed(tmp_path, b"x" * 20, 7, cap=20)
    assert output.text() == "x" * 20
    assert not output.capped and not output.file.exists()
    assert repr(output) == "<Output: 20 bytes>"


@pytest.mark.parametrize("piece", [1, 3, 9, 10, 11, 20, 26, 1000])
def test_of_more_the_head_and_the_tail_are_shown(tmp_path: Path, piece: int) -> None:
    data = b"abcdefghijklmnopqrstuvwxyz" * 4
    output = fed(tmp_path, data, piece, cap=20)
    head, note, tail = output.text().split("\n")
    assert (head, tail) == ("abcdefghij", "qrstuvwxyz")
    assert note == f"[… 84 bytes are left out here; the whole output is in {output.file} …]"
    assert output.file.read_bytes() == data
    assert stat.S_IMODE(output.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(output.file.parent.stat().st_mode) == 0o700


def test_a_character_that_is_cut_is_left_out(tmp_path: Path) -> None:
    shown = fed(tmp_path, "é".encode() * 40, 5, cap=22).text()
    assert "\N{REPLACEMENT CHARACTER}" not in shown
    assert shown.startswith("é" * 5 + "\n") and shown.endswith("\n" + "é" * 5)


def test_what_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    assert fed(tmp_path, b"a\xffb", 9).text() == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("whole", ["é", "€", "🦉"])
@pytest.mark.parametrize("cap", range(20, 36, 2))
def test_wherever_the_cut_goes_through_a_character(tmp_path: Path, cap: int, whole: str) -> None:
    shown = fed(tmp_path, f"a{whole * 40}b".encode(), 5, cap=cap).text()
    assert "\N{REPLACEMENT CHARACTER}" not in shown
    assert shown.startswith(f"a{whole}") and shown.endswith(f"{whole}b")


ALPHABETS = {
    "no text": [b"\xff"],
    "continuations": [b"\x80"],
    "mixed": [b"a", b"\n", "é".encode(), "€".encode(), "🦉".encode(), b"\xff", b"\x80", b"\xe2", b"\xf0\x9f"],
    "text": [b"a", "é".encode(), "🦉".encode()],
}


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
@pytest.mark.parametrize("seed", range(50))
def test_no_more_is_shown_than_the_cap_and_the_count_adds_up(
    tmp_path: Path, alphabet: list[bytes], seed: int
) -> None:
    random = Random(seed)
    data = b"".join(random.choices(alphabet, k=random.randrange(120)))
    cap = random.randrange(20, 60, 2)
    output = fed(tmp_path, data, random.randrange(1, 50), cap=cap)
    shown = output.text()
    match = re.search(r"\n\[… (\d+) bytes are left out here; the whole output is in .+ …\]\n", shown)
    if match is None:
        assert bytes_of(shown) == len(data) and len(shown.encode()) <= cap
        return
    head, tail = shown[: match.start()], shown[match.end() :]
    assert len((head + tail).encode()) <= cap
    assert bytes_of(head) + int(match[1]) + bytes_of(tail) == len(data)
    assert data.startswith(head.partition("\N{REPLACEMENT CHARACTER}")[0].encode())
    assert data.endswith(tail.rpartition("\N{REPLACEMENT CHARACTER}")[2].encode())
    assert min(len(head.encode()), len(tail.encode())) > cap // 2 - 7, "what could be shown is"
    assert output.file.read_bytes() == data


def bytes_of(shown: str) -> int:
    """How many bytes of output this was: a mark stands for one."""
    return sum(1 if char == "\N{REPLACEMENT CHARACTER}" else len(char.encode()) for char in shown)


def test_an_endless_output_does_not_fill_the_disk(tmp_path: Path) -> None:
    output = fed(tmp_path, b"y" * 1000, 64, cap=20, whole=100)
    assert output.file.stat().st_size == 100
    assert f"its first 100 bytes are in {output.file}" in output.text()


def test_the_oldest_files_go(tmp_path: Path) -> None:
    for number in range(KEPT_FILES + 3):
        output = Output(tmp_path / f"{number}.out", cap=2)
        output.add(b"more than that")
        output.close()
    assert len(list(tmp_path.glob("*.out"))) == KEPT_FILES
    assert (tmp_path / f"{KEPT_FILES + 2}.out").exists()


def test_the_files_together_do_not_fill_the_disk(tmp_path: Path) -> None:
    for number in range(5):
        output = Output(tmp_path / f"{number}.out", cap=2, whole=100)
        output.add(b"x" * 40)
        output.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["2.out", "3.out", "4.out"]


def test_the_file_of_a_call_that_runs_stays(tmp_path: Path) -> None:
    running = Output(tmp_path / "running.out", cap=2, whole=100)
    running.add(b"x" * 90)
    os.utime(running.file, (1, 1))
    for number in range(KEPT_FILES + 3):
        other = Output(tmp_path / f"{number}.out", cap=2, whole=100)
        other.add(b"y" * 90)
        other.close()
    running.add(b"z" * 5)
    assert "the whole output is in" in running.text()
    assert running.file.read_bytes() == b"x" * 90 + b"z" * 5
    running.close()
    os.utime(running.file, (1, 1))
    newest = Output(tmp_path / "newest.out", cap=2, whole=100)
    newest.add(b"more than that")
    newest.close()
    assert not running.file.exists(), "it is over"


def test_a_disk_without_room_ends_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output(tmp_path / "tools" / "c1.out", cap=20)
    output.add(b"a" * 30)
    monkeypatch.setattr(os, "write", _full)
    output.add(b"b" * 30)
    monkeypatch.undo()
    output.add(b"c" * 30)
    output.close()
    head, note, tail = output.text().split("\n")
    assert (head, tail) == ("a" * 10, "c" * 10)
    assert note == (
        f"[… 70 bytes are left out here; its first 30 bytes are in {output.file} (No space left on device) …]"
    )


def test_no_file_at_all(tmp_path: Path) -> None:
    (tmp_path / "tools").write_text("not a folder")
    output = fed(tmp_path, b"x" * 50, 50, cap=20)
    assert "nothing is kept (File exists)" in output.text()


def _full(descriptor: int, data: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")
