"""The rule for the real CLIs' tests: in CI a skip is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RULE = Path(__file__).parents[1] / "real" / "conftest.py"
TESTS = """
import pytest

@pytest.mark.skip(reason="not installed")
def test_marked(): ...

def test_inside():
    pytest.skip("not installed")

@pytest.mark.xfail(reason="known")
def test_known():
    assert False

def test_runs(): ...
"""


def run(folder: Path, ci: str | None) -> str:
    (folder / "conftest.py").write_text(RULE.read_text())
    (folder / "test_it.py").write_text(TESTS)
    (folder / "test_module.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--continue-on-collection-errors"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull, str(folder)],
        env=env | ({} if ci is None else {"CI": ci}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout


def test_in_ci_a_skip_is_a_failure(tmp_path: Path) -> None:
    out = run(tmp_path, "true")
    assert "not installed" in out
    assert "In CI a real CLI's test must run." in out
    assert "1 failed, 1 passed, 1 xfailed, 2 errors" in out


@pytest.mark.parametrize("ci", [None, "false"])
def test_elsewhere_it_is_a_skip(tmp_path: Path, ci: str | None) -> None:
    assert "1 passed, 3 skipped, 1 xfailed" in run(tmp_path, ci)
