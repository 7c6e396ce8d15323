"""The bridge's token: one for each start of the CLI, in a file that nobody else may read."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from agentd.agents.bridging import TOKEN_FILE, bridge, fits
from agentd.agents.life import Life
from agentd.store import AgentRow


def life(folder: Path) -> Life:
    folder.mkdir(mode=0o700, exist_ok=True)
    return Life(AgentRow("a", "id", "demo", "/", None, 0.0), folder)


def test_the_token_stands_in_its_file_alone(tmp_path: Path) -> None:
    made = life(tmp_path / "a")
    command = bridge(made, Path("/run/s"))
    token = (made.folder / TOKEN_FILE).read_text()
    assert len(token) > 40
    assert stat.S_IMODE((made.folder / TOKEN_FILE).stat().st_mode) == 0o600
    assert command.env == {
        "AGENTD_SOCKET": "/run/s",
        "AGENTD_TOKEN_FILE": str(made.folder / TOKEN_FILE),
        "AGENTD_AGENT": "a",
    }
    assert token not in f"{command} {json.dumps(made.to_json())}", "not in the store either"
    assert fits(made, token)


def test_a_file_that_was_open_to_others_is_made_anew(tmp_path: Path) -> None:
    made = life(tmp_path / "a")
    (made.folder / TOKEN_FILE).write_text("x")
    (made.folder / TOKEN_FILE).chmod(0o644)
    bridge(made, Path("/run/s"))
    assert stat.S_IMODE((made.folder / TOKEN_FILE).stat().st_mode) == 0o600


def test_each_start_has_a_token_of_its_own(tmp_path: Path) -> None:
    made = life(tmp_path / "a")
    bridge(made, Path("/run/s"))
    first = (made.folder / TOKEN_FILE).read_text()
    bridge(made, Path("/run/s"))
    assert not fits(made, first) and fits(made, (made.folder / TOKEN_FILE).read_text())


def test_a_restarted_daemon_knows_it(tmp_path: Path) -> None:
    made = life(tmp_path / "a")
    bridge(made, Path("/run/s"))
    row = made.row
    row.life = json.loads(json.dumps(made.to_json()))
    assert fits(Life.load(row, made.folder), (made.folder / TOKEN_FILE).read_text())


def test_without_a_bridge_no_token_fits(tmp_path: Path) -> None:
    made = life(tmp_path / "a")
    assert not fits(made, "") and not fits(made, "None")
