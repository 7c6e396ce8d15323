"""The page of failure modes: every row is held by a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "failure-modes.md"
ROWS = [
    line.strip("| ").split(" | ")
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.endswith("| held by |")
]


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_names_a_test_that_exists(row: list[str]) -> None:
    failure, answer, test = row
    assert failure and answer
    named = re.fullmatch(r"`((?:unit|tmux|real)/test_\w+\.py)::(test_\w+)`", test)
    assert named, f"not a test: {test}"
    assert named[2] in functions_of(named[1])


def test_the_page_is_whole_and_linked() -> None:
    assert len(ROWS) > 80
    assert "(docs/failure-modes.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
