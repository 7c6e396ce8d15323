"""Fixtures for every level that runs a real daemon."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from agentd.testing.daemon import Daemon


def pytest_configure() -> None:
    # A shell's background job ignores Ctrl-C, and so would every command that the tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that take long begin first, so that nobody waits for the last of them alone."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def open_daemon() -> Iterator[Callable[..., Daemon]]:
    """Starts daemons, with `Daemon`'s arguments; they end with the test."""
    if shutil.which("tmux") is None:
        pytest.skip("needs tmux")
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(Daemon(*args, **options))


@pytest.fixture
def daemon(open_daemon: Callable[..., Daemon]) -> Daemon:
    """A daemon of the test's own, with a quick demo agent."""
    return open_daemon()
