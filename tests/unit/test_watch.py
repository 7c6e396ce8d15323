"""Being woken for files that change, exist not yet, or lie in folders that come later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from agentd.records import watch
from agentd.records.watch import FileWatcher


class Bell:
    """Rings when it is called."""

    def __init__(self) -> None:
        self.rung = trio.Event()

    def __call__(self) -> None:
        self.rung.set()

    async def rings(self) -> None:
        with trio.fail_after(5):
            await self.rung.wait()
        self.rung = trio.Event()


@asynccontextmanager
async def watching() -> AsyncIterator[FileWatcher]:
    watcher = FileWatcher()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        yield watcher
        nursery.cancel_scope.cancel()


async def test_a_file_that_grows(tmp_path: Path) -> None:
    path, bell = tmp_path / "a", Bell()
    path.write_text("")
    async with watching() as watcher:
        watcher.watch(path, bell)
        for text in ("1", "12"):
            path.write_text(text)
            await bell.rings()


async def test_a_file_and_folders_that_come_later(tmp_path: Path) -> None:
    path, bell = tmp_path / "x" / "y" / "a", Bell()
    async with watching() as watcher:
        watcher.watch(path, bell)
        await trio.sleep(0.01)
        path.parent.mkdir(parents=True)
        path.write_text("1")
        await bell.rings()
        await trio.sleep(0.05)
        bell.rung = trio.Event()
        path.write_text("12")
        await bell.rings()


async def test_a_file_that_is_moved_into_place(tmp_path: Path) -> None:
    path, bell = tmp_path / "a", Bell()
    async with watching() as watcher:
        watcher.watch(path, bell)
        (tmp_path / "new").write_text("1")
        (tmp_path / "new").replace(path)
        await bell.rings()


async def test_nobody_is_called_after_the_end(tmp_path: Path) -> None:
    path, ended, other = tmp_path / "a", Bell(), Bell()
    async with watching() as watcher:
        end = watcher.watch(path, ended)
        watcher.watch(path, other)
        end()
        end()
        path.write_text("1")
        await other.rings()
        assert not ended.rung.is_set()


async def test_a_watch_may_end_after_the_watcher(tmp_path: Path) -> None:
    async with watching() as watcher:
        end = watcher.watch(tmp_path / "sub" / "a", Bell())
        await trio.sleep(0.01)
    end()


async def test_a_folder_is_watched_again_after_nobody_needed_it(tmp_path: Path) -> None:
    path, bell = tmp_path / "sub" / "a", Bell()
    path.parent.mkdir()
    async with watching() as watcher:
        watcher.watch(path, Bell())()
        watcher.watch(path, bell)
        path.write_text("1")
        await bell.rings()


async def test_a_folder_that_was_removed_and_made_again(tmp_path: Path) -> None:
    path, bell = tmp_path / "sub" / "a", Bell()
    path.parent.mkdir()
    async with watching() as watcher:
        watcher.watch(path, bell)
        path.parent.rmdir()
        await trio.sleep(0.05)
        path.parent.mkdir()
        path.write_text("1")
        await bell.rings()


async def test_the_slow_look_notices_what_nobody_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SLOW_POLL_S", 0.02)
    path, bell = tmp_path / "a", Bell()
    async with watching() as watcher:
        monkeypatch.setattr(watcher, "_arm", lambda path: None)
        watcher.watch(path, bell)
        path.write_text("1")
        await bell.rings()


async def test_a_file_that_is_gone_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SLOW_POLL_S", 0.02)
    path, bell = tmp_path / "a", Bell()
    path.write_text("1")
    async with watching() as watcher:
        watcher.watch(path, bell)
        path.unlink()
        await bell.rings()
