"""What stands before the first prompt: the login, and the trust in the workspace."""

from __future__ import annotations

import time
from collections.abc import Callable

from agentd.demo.keys import Key, Press, Typed
from agentd.testing.cursor import view
from agentd.testing.cursor.files import Home
from agentd.testing.cursor.options import Options

TRUSTING_S = 0.4


class Login:
    """No key helps."""

    def __init__(self, leave: Callable[..., None]) -> None:
        self._leave = leave
        self._signing_in = False
        self.over = False

    def frame(self, width: int) -> list[str]:
        if self._signing_in:
            return ["", "  Signing in", "  https://example.com/loginDeepControl"]
        return ["", f"  {view.LOGIN}"]

    @property
    def due(self) -> float | None:
        return None

    def go_on(self) -> None:
        pass

    def press(self, press: Press) -> None:
        if press == Key("ctrl-c"):
            self._leave(1, "Authentication required to use Cursor Agent. Please run 'agent login' first.")
        self._signing_in = True


class Trust:
    """The question comes late; a stray Enter doesn't accept it, but an Enter after an arrow does."""

    def __init__(self, options: Options, home: Home, leave: Callable[..., None]) -> None:
        self._home = home
        self._leave = leave
        self._servers = list(home.servers)
        self.servers_refused = False
        self._shown_at = time.monotonic() + options.trust_lag
        self._marked = 0
        self._moved = False
        self._trusted_at: float | None = None
        self.over = home.trusted or options.trust

    @property
    def due(self) -> float | None:
        now = time.monotonic()
        return self._trusted_at or (self._shown_at if now < self._shown_at else None)

    def go_on(self) -> None:
        if self._trusted_at and time.monotonic() >= self._trusted_at:
            self._home.trust()
            self.over = True

    def frame(self, width: int) -> list[str]:
        if time.monotonic() < self._shown_at:
            return [""]
        folder = str(self._home.workspace)
        return view.trust(folder, self._servers, self._marked, width, trusting=self._trusted_at is not None)

    def press(self, press: Press) -> None:
        keys = [key for _, key in view.trust_rows(self._servers)]
        if self._trusted_at or time.monotonic() < self._shown_at:
            return
        if isinstance(press, Typed):
            for letter in press.text:
                self._choose(letter)
        elif press == Key("up") or press == Key("down"):
            self._moved = True
            self._marked = (self._marked + (1 if press == Key("down") else -1)) % len(keys)
        elif press == Key("enter") and self._moved:
            self._choose(keys[self._marked])
        elif press == Key("ctrl-c"):
            self._leave(130)

    def _choose(self, key: str) -> None:
        if key == "q":
            self._leave(1, "The workspace isn't trusted.")
        elif key == "a" or (key == "w" and self._servers):
            self.servers_refused = key == "w"
            self._trusted_at = time.monotonic() + TRUSTING_S
