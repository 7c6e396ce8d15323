"""Our entries in the workspace's files: counted, and given back, also after a daemon that was killed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentd.adapter import Unsupported
from agentd_cursor.merge import Entry
from agentd_cursor.workspace import Wanted, Workspace, WorkspaceError

MINE = b'{\n  "version": 1,\n  "hooks": {"stop": [{"command": "mine"}]} // keep it\n}\n'
HEAD = {"version": 1}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "state" / "ledger.json")


def hooks(work: Path, command: str = "ours") -> Wanted:
    entry = {"command": command}
    return Wanted(work / ".cursor" / "hooks.json", (Entry(("hooks", "stop"), None, entry),), HEAD)


def server(work: Path) -> Wanted:
    return Wanted(work / ".cursor" / "mcp.json", (Entry(("mcpServers",), "api-bridge", {"command": "b"}),))


def commands(work: Path) -> list[str]:
    data = json.loads((work / ".cursor" / "hooks.json").read_text().replace("// keep it", ""))
    return [entry["command"] for entry in data["hooks"]["stop"]]


def everything(work: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(work)): path.read_bytes() if path.is_file() else None for path in work.rglob("*")
    }


def put(work: Path, data: bytes = MINE) -> Path:
    path = work / ".cursor" / "hooks.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def test_where_nothing_was_nothing_stays(workspace: Workspace, work: Path) -> None:
    workspace.take("one", [hooks(work), server(work)])
    assert commands(work) == ["ours"]
    assert set(everything(work)) == {".cursor", ".cursor/hooks.json", ".cursor/mcp.json"}
    workspace.give_back("one")
    assert everything(work) == {}


def test_a_file_of_the_users_gets_its_bytes_back(workspace: Workspace, work: Path) -> None:
    path = put(work)
    path.chmod(0o640)
    before = everything(work)
    workspace.take("one", [hooks(work)])
    assert commands(work) == ["mine", "ours"]
    assert path.stat().st_mode & 0o777 == 0o640
    workspace.give_back("one")
    assert everything(work) == before
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_last_one_takes_it_out(workspace: Workspace, work: Path) -> None:
    put(work)
    before = everything(work)
    for agent in ("one", "two", "three"):
        workspace.take(agent, [hooks(work)])
    assert commands(work) == ["mine", "ours"]
    workspace.give_back("two")
    workspace.give_back("one")
    workspace.give_back("one")
    workspace.give_back("nobody")
    assert commands(work) == ["mine", "ours"]
    workspace.give_back("three")
    assert everything(work) == before


def test_taking_twice_counts_once(workspace: Workspace, work: Path) -> None:
    workspace.take("one", [hooks(work)])
    written = everything(work)
    workspace.take("one", [hooks(work)])
    assert everything(work) == written
    workspace.give_back("one")
    assert everything(work) == {}


def test_what_is_not_wanted_any_more_goes(workspace: Workspace, work: Path) -> None:
    workspace.take("one", [hooks(work), server(work)])
    workspace.take("one", [hooks(work)])
    assert set(everything(work)) == {".cursor", ".cursor/hooks.json"}


def test_a_newer_agentd_replaces_what_an_older_one_put(workspace: Workspace, work: Path) -> None:
    put(work)
    before = everything(work)
    workspace.take("one", [hooks(work, "old")])
    workspace.take("two", [hooks(work, "new")])
    assert commands(work) == ["mine", "new"]
    workspace.give_back("one")
    workspace.give_back("two")
    assert everything(work) == before


def test_the_users_edits_meanwhile_are_kept(workspace: Workspace, work: Path) -> None:
    path = put(work)
    workspace.take("one", [hooks(work)])
    path.write_bytes(path.read_bytes().replace(b'"mine"', b'"edited"'))
    workspace.take("two", [hooks(work)])
    assert commands(work) == ["edited", "ours"]
    workspace.give_back("one")
    workspace.give_back("two")
    assert path.read_bytes() == MINE.replace(b'"mine"', b'"edited"')


def test_a_file_that_the_user_filled_stays(workspace: Workspace, work: Path) -> None:
    workspace.take("one", [hooks(work)])
    path = work / ".cursor" / "hooks.json"
    data = json.loads(path.read_text())
    data["hooks"]["afterFileEdit"] = [{"command": "fmt"}]
    path.write_text(json.dumps(data))
    (work / ".cursor" / "rules").mkdir()
    workspace.give_back("one")
    assert json.loads(path.read_text()) == {"version": 1, "hooks": {"afterFileEdit": [{"command": "fmt"}]}}
    assert (work / ".cursor" / "rules").is_dir()


def test_a_checkout_that_dropped_our_entry_gets_it_again(workspace: Workspace, work: Path) -> None:
    path = put(work)
    workspace.take("one", [hooks(work)])
    path.write_bytes(MINE)
    workspace.take("two", [hooks(work)])
    assert commands(work) == ["mine", "ours"]
    path.unlink()
    workspace.give_back("one")
    workspace.give_back("two")
    assert not path.exists(), "whoever removed it wanted it gone"


@pytest.mark.parametrize("bad", [b"", b"{", b'{"hooks": {}}', b'{"version": 1, "hooks": {"stop": 1}}'])
def test_a_bad_file_is_named_and_left_alone(workspace: Workspace, work: Path, bad: bytes) -> None:
    path = put(work, bad)
    with pytest.raises(WorkspaceError, match=rf"{path}: .*left alone"):
        workspace.take("one", [server(work), hooks(work)])
    assert everything(work) == {".cursor": None, ".cursor/hooks.json": bad}, (
        "the other file was taken back too"
    )
    assert "nothing taken" in repr(workspace)
    assert issubclass(WorkspaceError, Unsupported)


def test_a_file_that_was_broken_meanwhile_is_restored_once_it_is_mended(
    workspace: Workspace, work: Path
) -> None:
    path = put(work)
    workspace.take("one", [hooks(work)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    with pytest.raises(WorkspaceError, match=str(path)):
        workspace.give_back("one")
    assert path.read_bytes() == whole[:-3]
    path.write_bytes(whole)
    workspace.keep([])
    assert path.read_bytes() == MINE


def test_a_file_that_cannot_be_written(workspace: Workspace, work: Path) -> None:
    (work / ".cursor").write_text("a file")
    with pytest.raises(WorkspaceError, match=r"hooks\.json: it can't be read or written"):
        workspace.take("one", [hooks(work)])
    assert "nothing taken" in repr(workspace)


def test_a_workspace_that_is_gone(workspace: Workspace, work: Path) -> None:
    workspace.take("one", [hooks(work)])
    for path in sorted(work.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    work.rmdir()
    workspace.give_back("one")
    assert "nothing taken" in repr(workspace)


def test_a_link_is_followed(workspace: Workspace, work: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.mkdir()
    (real / "hooks.json").write_bytes(MINE)
    (work / ".cursor").symlink_to(real)
    workspace.take("one", [hooks(work)])
    assert commands(work) == ["mine", "ours"]
    workspace.give_back("one")
    assert (work / ".cursor").is_symlink() and (real / "hooks.json").read_bytes() == MINE


def test_after_a_daemon_was_killed(workspace: Workspace, work: Path, tmp_path: Path) -> None:
    """Another daemon knows by the ledger what was added and what was there."""
    put(work)
    before = everything(work)
    workspace.take("one", [hooks(work)])
    workspace.take("two", [hooks(work)])
    after = Workspace(tmp_path / "state" / "ledger.json")
    after.keep(["two"])
    assert commands(work) == ["mine", "ours"]
    after.keep([])
    assert everything(work) == before


@pytest.mark.parametrize("step", range(1, 14))
def test_killed_at_any_step(work: Path, tmp_path: Path, step: int) -> None:
    """A process that dies before any of its changes to the disk leaves nothing that isn't taken back."""
    put(work)
    before = everything(work)
    script = f"""
import os, sys
steps = 0
def counted(call):
    def wrapper(*args, **kwargs):
        global steps
        steps += 1
        if steps == {step}:
            os._exit(9)
        return call(*args, **kwargs)
    return wrapper
from pathlib import Path
for name in ("replace", "unlink", "mkdir", "rmdir"):
    setattr(Path, name, counted(getattr(Path, name)))
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.unit.test_cursor_workspace import Workspace, hooks, server
workspace = Workspace(Path({str(tmp_path)!r}) / "state" / "ledger.json")
work = Path({str(work)!r})
workspace.take("one", [hooks(work), server(work)])
workspace.give_back("one")
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 9), done.stderr
    Workspace(tmp_path / "state" / "ledger.json").keep([])
    left = {name: data for name, data in everything(work).items() if not name.endswith(".agentd")}
    assert left == before


def test_a_damaged_ledger_is_named(workspace: Workspace, work: Path, tmp_path: Path) -> None:
    workspace.take("one", [hooks(work)])
    (tmp_path / "state" / "ledger.json").write_text("{")
    with pytest.raises(WorkspaceError, match=r"ledger\.json is damaged"):
        workspace.take("two", [hooks(work)])


def test_the_ledger_is_private(workspace: Workspace, work: Path, tmp_path: Path) -> None:
    workspace.take("one", [hooks(work)])
    assert (tmp_path / "state" / "ledger.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_two_daemons_at_a_time(work: Path, tmp_path: Path) -> None:
    """Each has a ledger of its own; the entries differ, as each names its own folder."""
    put(work)
    daemons = [Workspace(tmp_path / name / "ledger.json") for name in ("a", "b")]

    def live(number: int) -> None:
        for turn in range(20):
            daemons[number].take(f"{turn}", [hooks(work, f"daemon {number}")])
            assert f"daemon {number}" in commands(work)
            daemons[number].give_back(f"{turn}")
            assert f"daemon {number}" not in commands(work)

    threads = [threading.Thread(target=live, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert json.loads((work / ".cursor" / "hooks.json").read_text().replace("// keep it", "")) == json.loads(
        MINE.decode().replace("// keep it", "")
    )
