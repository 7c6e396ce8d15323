"""What must live in a workspace, and leaves it again: our entries in `.cursor/hooks.json` and `mcp.json`.

Both files are shared with the user, the editor and the other agents of that directory. So an entry is put
in once, however many agents need it, and the last one takes it out: the file then has its old bytes, or is
gone if there was none. A ledger in agentd's own folder is written before each change; with it a daemon
that was killed in between knows what to take back.
"""

from __future__ import annotations

import base64
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentd.adapter import Unsupported
from agentd_cursor.merge import Entry, MergeError, is_bare, merge, unmerge


class WorkspaceError(Unsupported):
    """A file of the workspace can't be used; names the file, and nothing in it was changed."""


@dataclass(frozen=True)
class Wanted:
    """What one file is to hold as long as an agent lives."""

    path: Path
    entries: tuple[Entry, ...]
    head: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class _Held:
    """One line of the ledger: who needs the file's entries, and how it was before."""

    agents: list[str]
    original: bytes | None
    """The whole file as it was, None where there was none; it comes back if nobody else wrote to it."""
    written: str
    """The digest of what we wrote."""
    added: tuple[Entry, ...]
    made: tuple[tuple[str, ...], ...]
    head: Mapping[str, Any]
    folder: bool
    """`.cursor` wasn't there before us."""

    def to_json(self) -> dict[str, Any]:
        original = None if self.original is None else base64.b64encode(self.original).decode()
        return {**self.__dict__, "original": original}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> _Held:
        original = data["original"]
        return cls(
            list(data["agents"]),
            None if original is None else base64.b64decode(original),
            data["written"],
            tuple(Entry.from_json(entry) for entry in data["added"]),
            tuple(tuple(path) for path in data["made"]),
            data["head"],
            data["folder"],
        )

    def without(self, current: bytes | None) -> bytes | None:
        """The file as it is now, without what is ours."""
        if current is None:
            return None
        if _digest(current) == self.written:
            return self.original
        rest = unmerge(current, self.added, self.made)
        return None if self.original is None and is_bare(rest, self.head) else rest


class Workspace:
    """The files of all workspaces that this daemon's agents use. `ledger` is a file of agentd's own."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger

    def __repr__(self) -> str:
        return f"<Workspace: {', '.join(map(str, self._load())) or 'nothing taken'}>"

    def take(self, agent: str, wanted: Sequence[Wanted]) -> None:
        """Let this agent have these entries, and no others of ours that it had before.

        Raises:
            WorkspaceError: a file can't be used; the agent then has none of them.
        """
        files = {Path(os.path.realpath(want.path)): want for want in wanted}
        with self._locked() as held:
            for path in [path for path, one in held.items() if agent in one.agents and path not in files]:
                self._leave(held, path, agent)
            try:
                for path, want in files.items():
                    self._put(held, path, agent, want)
            except BaseException:
                for path in [path for path in files if path in held and agent in held[path].agents]:
                    self._leave(held, path, agent)
                raise

    def give_back(self, agent: str) -> None:
        """The agent's CLI has ended. An agent that has nothing is no error.

        Raises:
            WorkspaceError: a file doesn't parse any more, or can't be written; it is tried again next time.
        """
        self._release(lambda name: name == agent)

    def keep(self, living: Collection[str]) -> None:
        """After a daemon's start: give back what agents had that don't live any more.

        Raises:
            WorkspaceError: as `give_back`, after all others were given back.
        """
        self._release(lambda name: name not in living)

    def _release(self, gone: Any) -> None:
        problems = []
        with self._locked() as held:
            for path, one in list(held.items()):
                for agent in [name for name in one.agents if gone(name)] or ([] if one.agents else [""]):
                    try:
                        self._leave(held, path, agent)
                    except WorkspaceError as error:
                        problems.append(str(error))
        if problems:
            raise WorkspaceError("\n".join(problems))

    def _put(self, held: dict[Path, _Held], path: Path, agent: str, want: Wanted) -> None:
        known = held.get(path)
        with _naming(path), _alone(path.parent.parent):
            current = _read(path)
            base = known.without(current) if known else current
            merged = merge(base, want.entries, want.head)
            agents = known.agents if known else []
            held[path] = _Held(
                [*agents, *([] if agent in agents else [agent])],
                base,
                _digest(merged.data),
                merged.added,
                merged.made,
                want.head,
                known.folder if known else _is_ours(held, path.parent),
            )
            self._save(held)
            if merged.data != current:
                path.parent.mkdir(exist_ok=True)
                _write(path, merged.data)

    def _leave(self, held: dict[Path, _Held], path: Path, agent: str) -> None:
        """One agent less; the last one restores the file. An empty name: nobody is left from last time."""
        one = held[path]
        one.agents = [name for name in one.agents if name != agent]
        self._save(held)
        if one.agents:
            return
        if path.parent.parent.is_dir():
            with _naming(path), _alone(path.parent.parent):
                current = _read(path)
                rest = one.without(current)
                if rest is None:
                    path.unlink(missing_ok=True)
                elif rest != current:
                    _write(path, rest)
                if one.folder:
                    _remove_if_empty(path.parent)
        del held[path]
        self._save(held)

    # The ledger -----------------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Iterator[dict[Path, _Held]]:
        self._ledger.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._ledger.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self._load()
        finally:
            os.close(lock)

    def _load(self) -> dict[Path, _Held]:
        try:
            data = json.loads(self._ledger.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            text = f"{self._ledger} is damaged ({error}): mend what it names, then remove it"
            raise WorkspaceError(text) from error
        return {Path(path): _Held.from_json(one) for path, one in data.items()}

    def _save(self, held: Mapping[Path, _Held]) -> None:
        data = {str(path): one.to_json() for path, one in held.items()}
        if data:
            _write(self._ledger, json.dumps(data, indent=1).encode(), mode=0o600)
        else:
            self._ledger.unlink(missing_ok=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Every problem names the file."""
    try:
        yield
    except MergeError as error:
        raise WorkspaceError(f"{path}: {error}; it was left alone: mend it, then try again") from error
    except OSError as error:
        raise WorkspaceError(f"{path}: it can't be read or written: {error.strerror or error}") from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other daemon changes this folder's files meanwhile. A folder can be locked without a trace in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes, mode: int | None = None) -> None:
    """In one step, since Cursor reads the file as soon as it changes; its mode stays."""
    new = path.with_name(f".{path.name}.agentd")
    if mode is None:
        try:
            mode = path.stat().st_mode & 0o7777
        except FileNotFoundError:
            mode = 0o644
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            os.fchmod(descriptor, mode)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _is_ours(held: Mapping[Path, _Held], folder: Path) -> bool:
    """Whether the folder isn't there yet, or was made for another of our files."""
    return not folder.is_dir() or any(one.folder for path, one in held.items() if path.parent == folder)


def _remove_if_empty(folder: Path) -> None:
    # What a killed daemon had begun to write.
    for left in folder.glob(".*.json.agentd"):
        left.unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            raise
