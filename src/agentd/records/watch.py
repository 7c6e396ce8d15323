"""Waking readers when their files change: inotify on Linux, a look at sizes elsewhere.

A file may not exist yet, nor its folder: then the nearest folder that exists is watched. A slow look
at every size remains even with inotify, since network file systems don't always tell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import trio

if sys.platform == "linux":
    from inotify_simple import INotify, flags, parse_events

SLOW_POLL_S = 5.0
FAST_POLL_S = 0.2


class FileWatcher:
    """`run` must be running for callbacks to be called; they are called in its task and must be quick."""

    def __init__(self) -> None:
        self._callbacks: dict[Path, list[Callable[[], None]]] = {}
        self._sizes: dict[Path, tuple[int, int] | None] = {}
        self._inotify = INotify(nonblocking=True) if sys.platform == "linux" else None
        self._folders: dict[int, Path] = {}
        self._wanted: dict[Path, int] = {}

    def watch(self, path: Path, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when the file may have grown. Returns what ends it."""
        self._callbacks.setdefault(path, []).append(changed)
        self._sizes[path] = _size(path)
        self._arm(path)

        def end() -> None:
            callbacks = self._callbacks.get(path, [])
            if changed in callbacks:
                callbacks.remove(changed)
            if not callbacks:
                self._callbacks.pop(path, None)
                self._sizes.pop(path, None)
                self._drop_unused()

        return end

    async def run(self) -> None:
        """Watch until cancelled."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._poll, SLOW_POLL_S if self._inotify else FAST_POLL_S)
                if self._inotify:
                    nursery.start_soon(self._listen)
        finally:
            if self._inotify:
                # Who ends a watch after this finds nothing to take back.
                self._inotify.close()
                self._inotify = None

    async def _poll(self, every: float) -> None:
        while True:
            await trio.sleep(every)
            for path in list(self._callbacks):
                size = _size(path)
                if self._sizes.get(path) != size:
                    # It may be gone, too: its reader tells of that.
                    self._sizes[path] = size
                    self._tell(path)

    async def _listen(self) -> None:
        assert self._inotify is not None
        while True:
            await trio.lowlevel.wait_readable(self._inotify.fileno())
            try:
                data = os.read(self._inotify.fileno(), 1 << 16)
            except BlockingIOError:
                continue
            changed: dict[Path, None] = {}
            for event in parse_events(data):
                folder = self._folders.get(event.wd)
                if event.mask & flags.IGNORED and folder is not None:
                    # The folder is gone; it may have been made again already.
                    self._forget(event.wd)
                    for wanted in [path for path in self._callbacks if folder in path.parents]:
                        self._arm(wanted)
                        changed[wanted] = None
                if event.mask & flags.Q_OVERFLOW:
                    changed.update(dict.fromkeys(self._callbacks))
                if folder is None:
                    continue
                path = folder / event.name if event.name else folder
                if path in self._callbacks:
                    changed[path] = None
                elif event.mask & (flags.CREATE | flags.MOVED_TO):
                    # A folder on the way to a wanted file may have appeared.
                    for wanted in list(self._callbacks):
                        if path in wanted.parents:
                            self._arm(wanted)
                            changed[wanted] = None
            for path in changed:
                self._tell(path)

    def _tell(self, path: Path) -> None:
        for callback in list(self._callbacks.get(path, ())):
            callback()

    def _arm(self, path: Path) -> None:
        if self._inotify is None:
            return
        folder = path.parent
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        if folder in self._wanted:
            return
        mask = flags.MODIFY | flags.CREATE | flags.MOVED_TO | flags.DELETE_SELF
        try:
            descriptor = self._inotify.add_watch(folder, mask)
        except OSError:
            # No watches left (a system limit): the slow look at sizes remains.
            return
        self._wanted[folder] = descriptor
        self._folders[descriptor] = folder

    def _drop_unused(self) -> None:
        if self._inotify is None:
            return
        needed = {parent for path in self._callbacks for parent in path.parents}
        for folder, descriptor in list(self._wanted.items()):
            if folder not in needed:
                self._forget(descriptor)
                try:
                    self._inotify.rm_watch(descriptor)
                except OSError:
                    # The folder is gone, and its watch with it.
                    pass

    def _forget(self, descriptor: int) -> None:
        folder = self._folders.pop(descriptor, None)
        if folder is not None:
            self._wanted.pop(folder, None)


def _size(path: Path) -> tuple[int, int] | None:
    """What tells that a file grew or was replaced; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size
