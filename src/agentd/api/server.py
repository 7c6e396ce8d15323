"""The HTTP server on the daemon's Unix socket: 0600, in a 0700 directory, one daemon a socket."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import hypercorn.trio
from hypercorn.config import Config
from hypercorn.typing import ASGIFramework
from starlette.types import ASGIApp

from agentd.lock import Held, Lock
from agentd.paths import socket_path_limit

GRACE_S = 0.3


class SocketError(Exception):
    """The socket can't be had; the text says why and what to do."""


class Listener:
    """A socket that is ours alone, by the lock beside it."""

    def __init__(self, path: Path) -> None:
        if len(os.fsencode(path)) > socket_path_limit():
            raise SocketError(
                f"{path} is longer than a socket's path may be "
                f"({socket_path_limit()} bytes); set AGENTD_SOCKET"
            )
        self.path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = path.parent.stat()
        others_write = mode.st_mode & 0o022 and not mode.st_mode & stat.S_ISVTX
        if others_write or (mode.st_uid not in (os.getuid(), 0)):
            raise SocketError(
                f"others may write in {path.parent}: whoever can replace the socket can read your prompts; "
                "use a directory of your own (0700)"
            )
        try:
            self._lock = Lock(path.with_name(path.name + ".lock"))
        except Held as error:
            raise SocketError(f"another agentd serves {path}") from error
        path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            self.socket.bind(str(path))
        finally:
            os.umask(before)
        self.socket.listen(128)

    def close(self) -> None:
        self.socket.close()
        self.path.unlink(missing_ok=True)
        self._lock.close()


async def serve(app: ASGIApp, listener: Listener, until: Callable[[], Awaitable[None]]) -> None:
    """Answer requests until `until` returns; then requests that still run are cancelled."""
    config = Config()
    config.bind = [f"fd://{os.dup(listener.socket.fileno())}"]
    config.graceful_timeout = GRACE_S
    config.include_server_header = False
    config.loglevel = "WARNING"
    config.errorlog = None
    # Commands close their connections. A short limit would cut requests off that came while the daemon stood
    # still: hypercorn sees the limit first, and the request second.
    config.keep_alive_timeout = 3600
    await hypercorn.trio.serve(cast(ASGIFramework, app), config, shutdown_trigger=until, mode="asgi")
