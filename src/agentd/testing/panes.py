"""Looking at panes, and doing in them what a person would."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from agentd.testing.until import until


class Tmux:
    """A tmux server by its socket; never the default one."""

    def __init__(self, socket: Path, env: Mapping[str, str]) -> None:
        self.socket = socket
        self.env = dict(env)

    def __call__(self, *words: str) -> str:
        """Run a tmux command; its output."""
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *words],
            env=self.env,
            capture_output=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == 0, f"tmux {' '.join(words)}: {done.stderr.decode()}"
        return done.stdout.decode().rstrip("\n")

    @property
    def runs(self) -> bool:
        command = ["tmux", "-S", str(self.socket), "has-session"]
        return subprocess.run(command, env=self.env, capture_output=True, check=False).returncode == 0

    @property
    def pid(self) -> int:
        return int(self("display-message", "-p", "#{pid}"))


class Pane:
    """One pane, by its id."""

    def __init__(self, tmux: Tmux, id: str) -> None:
        self.tmux = tmux
        self.id = id

    def __repr__(self) -> str:
        return f"<Pane {self.id} of {self.tmux.socket}>"

    def text(self, *, history: bool = True) -> str:
        return self.tmux("capture-pane", "-p", "-t", self.id, *(["-S", "-"] if history else []))

    def shows(self, text: str) -> str:
        """Wait until the text is on the screen or above it."""

        def seen() -> str | None:
            shown = self.text()
            return shown if text in shown else None

        try:
            return until(f"{text!r} in {self!r}", seen)
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows:\n{self.text()}") from error

    def keys(self, *names: str) -> None:
        """Press keys, as a person does."""
        self.tmux("send-keys", "-t", self.id, *names)

    def types(self, text: str) -> None:
        self.tmux("send-keys", "-t", self.id, "-l", "--", text)

    def value(self, format: str) -> str:
        """One of tmux's formats, such as `#{pane_pid}`."""
        return self.tmux("display-message", "-p", "-t", self.id, format)
