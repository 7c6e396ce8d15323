"""A terminal that a CLI lives in: what the owner task needs of it, and how tmux gives it.

`agentd.testing.terminal.FakeTerminal` is the other one.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import trio

from agentd import processes
from agentd.adapter import Keys
from agentd.screen import Screen
from agentd.tmux.server import THEN, TmuxError, TmuxServer

WIDTH, HEIGHT = 120, 40
PASTE = "paste-"
DEAD_STATUS_S = 1.0
"""How long tmux may take to learn a dead pane's status; Debian's loses a third of them for good."""

_NO_PANES = (
    "no server running", "error connecting", "server exited", "lost server", "no current", "can't find",
)  # fmt: skip
ORPHAN_GRACE_S = 3.0
"""From SIGTERM to SIGKILL for a CLI that nobody can have given a prompt."""


@dataclass(frozen=True)
class PaneRef:
    """A pane, known again after a restart: by its server and its process, each with its start time."""

    session: str
    pane: str
    pid: int
    started: float
    server_pid: int
    server_started: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PaneRef:
        return cls(**data)


@dataclass(frozen=True)
class PaneStatus:
    """What tmux says of a pane. `exit_status` is None while it lives, or where tmux lost it."""

    exists: bool
    dead: bool = False
    exit_status: int | None = None
    attached: bool = False


class Terminal(Protocol):
    """Where CLIs live. Every method raises TmuxError when the terminal refuses."""

    async def start(
        self,
        session: str,
        tag: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        folder: Path,
        output: Path | None = None,
    ) -> PaneRef:
        """Start the program in a pane of its own; the session carries the tag, and what the program writes
        is copied to `output`."""
        ...

    async def screen(self, pane: PaneRef, history: int = 0) -> Screen:
        """What the pane shows, and so many lines before that."""
        ...

    async def paste(self, pane: PaneRef, text: str) -> None:
        """Paste the text as one bracketed paste."""
        ...

    async def press(self, pane: PaneRef, keys: Keys) -> None:
        """Press keys, by tmux's names."""
        ...

    async def status(self, pane: PaneRef) -> PaneStatus:
        """Whether the pane is there, and whether its program lives."""
        ...

    async def gone(self, pane: PaneRef) -> int | None:
        """Return when the pane's program has ended: its exit status, where anybody knows it. Never raises."""
        ...

    async def end(self, pane: PaneRef, grace_s: float) -> list[str]:
        """End the program, its children and its pane; what outlived even that, in words."""
        ...


class TmuxTerminal:
    """Panes on the private server."""

    def __init__(self, server: TmuxServer, *, width: int = WIDTH, height: int = HEIGHT) -> None:
        self.server = server
        self.width, self.height = width, height

    async def start(
        self,
        session: str,
        tag: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        folder: Path,
        output: Path | None = None,
    ) -> PaneRef:
        copy = (THEN, "pipe-pane", "-O", "-t", f"={session}:", f"exec cat >> {shlex.quote(str(output))}")
        launch = folder / "launch.json"
        write_private(launch, json.dumps({"argv": list(argv), "env": dict(env), "cwd": str(cwd)}))
        launcher = Path(__file__).with_name("launcher.py")
        command = [
            "-d", "-P", "-F", "#{pane_id} #{pane_pid} #{pid} #{start_time}",
            "-s", session, "-x", self.width, "-y", self.height, "-c", "/",
            "--", sys.executable, "-I", "-S", str(launcher), str(launch),
            THEN, "set-option", "-t", f"={session}:", "@agentd", tag,
            THEN, "set-option", "-p", "-t", f"={session}:", "@agentd_pane", tag,
            # The pane keeps its size, whoever attaches. (As a global option this ends tmux 3.3a.)
            THEN, "set-option", "-w", "-t", f"={session}:", "window-size", "manual",
                *(copy if output else ()),
        ]  # fmt: skip
        try:
            line = await self.server.new_session(command)
        except TmuxError as error:
            if "duplicate session" not in str(error) or not await self._end_orphan(session, tag):
                raise
            line = await self.server.new_session(command)
        pane, pid, server_pid, server_started = line.split()
        started = processes.start_time(int(pid)) or 0.0
        return PaneRef(session, pane, int(pid), started, int(server_pid), int(server_started))

    async def _end_orphan(self, session: str, tag: str) -> bool:
        """End panes with our tag that nobody knows: their daemon was killed while it started one. What a
        person has opened beside them stays theirs. False where the session isn't ours."""
        names = "#{@agentd}\t#{@agentd_pane}\t#{session_id}\t#{pane_id}\t#{pane_pid}"
        panes = [
            line.split("\t")
            for line in await self.server.run("list-panes", "-s", "-t", f"={session}:", "-F", names)
        ]
        if any(of_session != tag for of_session, *_ in panes):
            return False
        for _, of_pane, _, pane, pid in panes:
            if of_pane == tag:
                if started := processes.start_time(int(pid)):
                    await processes.end_tree(int(pid), started, ORPHAN_GRACE_S)
                await self._kill(pane)
        await self._give_away(panes[0][2])
        return True

    async def _kill(self, pane: str) -> None:
        """Take a pane away; with its last one its session goes. One that is gone is no error."""
        with _gone_is_fine():
            await self.server.run("kill-pane", "-t", pane)

    async def _give_away(self, session: str) -> None:
        """What is left of a session of ours are windows and panes that a person opened there: it is theirs
        from now on, under another name. One that was theirs already is left as it is."""
        with _gone_is_fine():
            lines = await self.server.run(
                "list-panes", "-s", "-t", f"{session}:", "-F", "#{@agentd}\t#{session_id}\t#{session_name}"
            )
            mark, id, name = lines[0].split("\t")
            if mark:
                await self.server.run(
                    "set-option", "-u", "-t", f"{id}:", "@agentd",
                    THEN, "rename-session", "-t", f"{id}:", f"{name}-left-{id[1:]}",
                )  # fmt: skip

    async def screen(self, pane: PaneRef, history: int = 0) -> Screen:
        attached, *lines = await self._in(
            pane,
            "display-message", "-p", "-t", pane.pane, "#{session_attached}",
            THEN, "capture-pane", "-p", "-e", "-S", -history, "-t", pane.pane,
        )  # fmt: skip
        return Screen.captured(lines, attached=attached not in ("", "0"))

    async def paste(self, pane: PaneRef, text: str) -> None:
        # A file, since libtmux's clients have no standard input of their own; a buffer of the pane's own,
        # since two agents may be pasted to at the same time.
        path = self.server.socket.with_name(f"{PASTE}{pane.session}")
        write_private(path, text)
        buffer = f"agentd-{pane.session}"
        try:
            said = await self._in(
                pane,
                "copy-mode", "-q", "-t", pane.pane,
                THEN, "load-buffer", "-b", buffer, path,
                # To paste into a dead pane ends tmux 3.3a, and with it every agent.
                THEN, "if-shell", "-F", "-t", pane.pane, "#{pane_dead}",
                f"delete-buffer -b {buffer} ; display-message -p dead",
                f"paste-buffer -p -r -d -b {buffer} -t {pane.pane}",
            )  # fmt: skip
        finally:
            path.unlink(missing_ok=True)
        if said:
            raise TmuxError(f"the program in {pane.session}'s pane has ended")

    def forget_pastes(self) -> None:
        """Remove what a daemon has left that was killed while it pasted."""
        for path in self.server.socket.parent.glob(f"{PASTE}*"):
            path.unlink(missing_ok=True)

    async def press(self, pane: PaneRef, keys: Keys) -> None:
        # Copy mode, which a person may have left the pane in, would swallow the keys.
        await self._in(
            pane, "copy-mode", "-q", "-t", pane.pane, THEN, "send-keys", "-t", pane.pane, "--", *keys.names
        )

    async def _in(self, pane: PaneRef, *arguments: object) -> list[str]:
        """Run commands in this very pane. Another server gives the same ids to the panes of others; what
        follows a command that fails isn't run."""
        try:
            return await self.server.run("has-session", "-t", f"={pane.session}", THEN, *arguments)
        except TmuxError as error:
            row = (await self._rows()).get(pane.pane) if "can't find session" in str(error) else None
            if row is None or not row.is_of(pane):
                raise
            # A person has given the session another name.
            return await self.server.run("has-session", "-t", f"={row.session}", THEN, *arguments)

    async def status(self, pane: PaneRef) -> PaneStatus:
        row = (await self._rows()).get(pane.pane)
        if row is None or not row.is_of(pane):
            return PaneStatus(exists=False)
        return PaneStatus(True, row.dead, row.exit_status, row.attached)

    async def _rows(self) -> dict[str, _Row]:
        names = (
            "pane_id",
            "pane_pid",
            "pane_dead",
            "pane_dead_status",
            "session_attached",
            "pid",
            "start_time",
            "session_id",
            "session_name",
        )
        fields = "\t".join(f"#{{{name}}}" for name in names)
        try:
            lines = await self.server.run("list-panes", "-a", "-F", fields)
        except TmuxError as error:
            if any(said in str(error) for said in _NO_PANES):
                return {}
            raise
        rows = [_Row.parse(line) for line in lines]
        return {row.pane: row for row in rows}

    async def gone(self, pane: PaneRef) -> int | None:
        await processes.ended(pane.pid, pane.started)
        try:
            with trio.move_on_after(DEAD_STATUS_S):
                while True:
                    status = await self.status(pane)
                    if not status.exists or status.exit_status is not None:
                        return status.exit_status
                    # Makes tmux reap its children.
                    await self.server.run("run-shell", "-b", "true")
                    await trio.sleep(0.05)
        except TmuxError:
            # The server went with it.
            pass
        return None

    async def end(self, pane: PaneRef, grace_s: float) -> list[str]:
        left = await processes.end_tree(pane.pid, pane.started, grace_s)
        row = (await self._rows()).get(pane.pane)
        if row and row.is_of(pane):
            await self._kill(pane.pane)
            await self._give_away(row.session_id)
        else:
            # A person has taken the pane away; the session that it was in may be there still.
            await self._give_away(f"={pane.session}")
        return left


@contextmanager
def _gone_is_fine() -> Iterator[None]:
    """What was to be taken away is gone already, or the whole server is."""
    try:
        yield
    except TmuxError as error:
        if not any(said in str(error) for said in _NO_PANES):
            raise


@dataclass(frozen=True)
class _Row:
    pane: str
    pid: int
    dead: bool
    exit_status: int | None
    attached: bool
    server_pid: int
    server_started: int
    session_id: str
    session: str

    def is_of(self, pane: PaneRef) -> bool:
        """Whether it is this very pane: ids begin anew with each server."""
        mine = (pane.pid, pane.server_pid, pane.server_started)
        return (self.pid, self.server_pid, self.server_started) == mine

    @classmethod
    def parse(cls, line: str) -> _Row:
        pane, pid, dead, status, attached, server_pid, started, session_id, session = line.split("\t", 8)
        return cls(
            pane,
            int(pid or 0),
            dead == "1",
            int(status) if status else None,
            attached not in ("", "0"),
            int(server_pid),
            int(started),
            session_id,
            session,
        )


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whatever the umask.

    Raises:
        OSError: it can't be written; names the file, and none of that name is left.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        # Half a file could be read for a whole one.
        with suppress(OSError):
            path.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error
