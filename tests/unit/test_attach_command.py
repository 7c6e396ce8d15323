"""The command that `agentd show` gives a person: any shell must take it as it stands."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from agentd.tmux.server import TmuxServer


@pytest.mark.parametrize("folder", ["plain", "with a space", "it's", "$HOME"])
def test_a_shell_gives_tmux_what_was_meant(tmp_path: Path, folder: str) -> None:
    socket = tmp_path / folder / "agentd.tmux.sock"
    command = TmuxServer(socket, {}, binary="/bin/true").attach_command("demo-work")
    words = ["tmux", "-S", str(socket), "attach", "-t", "=demo-work"]
    assert shlex.split(command) == words
    said = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {command}"], stdout=subprocess.PIPE, text=True, check=True
    )
    assert said.stdout.splitlines() == words


def test_a_shell_for_which_an_equals_sign_names_a_program_is_kept_from_it(tmp_path: Path) -> None:
    """As zsh does with a bare word."""
    command = TmuxServer(tmp_path / "s", {}, binary="/bin/true").attach_command("demo-work")
    assert not any(word.startswith("=") for word in command.split())
