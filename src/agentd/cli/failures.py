"""Exit codes, and how each error becomes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

DONE, FAILED, USAGE, ATTENTION, TIMED_OUT, LOST, NO_DAEMON, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
BROKEN_PIPE = 141
"""128 and SIGPIPE, as of any program whose reader went away."""

OUTCOMES: Mapping[str, int] = {
    "completed": DONE,
    "submitted": DONE,
    "failed": FAILED,
    "blocked": FAILED,
    "attention": ATTENTION,
    "timed_out": TIMED_OUT,
    "lost": LOST,
    "interrupted": INTERRUPTED,
}

CODES: Mapping[str, int] = {
    "timeout": TIMED_OUT,
    "attention": ATTENTION,
    "lost": LOST,
    "interrupted": INTERRUPTED,
}
"""Errors whose code says more than their HTTP status."""
STATUSES: Mapping[int, int] = {400: USAGE, 404: USAGE, 422: USAGE}
"""A wrong word on the command line: an unknown agent or choice is one too."""


class CommandError(Exception):
    """A command can't do what it was asked; the daemon has no part in it."""

    def __init__(self, code: str, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code


def error_object(code: str, message: str) -> dict[str, Any]:
    """The `error` object of the public JSON, for what happened on this side of the socket."""
    return {"layer": None, "code": code, "message": message, "tool": None, "session": None, "timeout_s": None}


def explain(error: BaseException) -> tuple[int, dict[str, Any]] | None:
    """The exit code and the `error` object of an error; None for one that is a bug."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, error_object("interrupted", str(error) or "interrupted")
    if isinstance(error, CommandError):
        return error.exit_code, error_object(error.code, str(error))
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "agentd"
        return USAGE, error_object("usage", f"{error.format_message()}\nsee `{path} --help`")
    if isinstance(error, click.ClickException):
        return USAGE, error_object("usage", error.format_message())

    from agentd.api.client import ApiError, Gone, NoDaemon
    from agentd.api.reconnecting import Away, Forgotten

    if isinstance(error, NoDaemon):
        return NO_DAEMON, error_object(
            "no_daemon", f"{error}; start one with `agentd serve{_elsewhere(error.path)}`"
        )
    if isinstance(error, Forgotten):
        return LOST, error_object("lost", str(error))
    if isinstance(error, Away):
        return NO_DAEMON, error_object("daemon_gone", str(error))
    if isinstance(error, Gone):
        return NO_DAEMON, error_object("daemon_gone", f"{error}; what became of the request is not known")
    if isinstance(error, ApiError):
        exit_code = CODES.get(error.code.lower()) or STATUSES.get(error.status, FAILED)
        return exit_code, error.payload
    return None


def _elsewhere(path: str) -> str:
    from agentd import paths

    if path == str(paths.socket_path()):
        return ""
    from shlex import quote

    return f" --socket {quote(path)}"
