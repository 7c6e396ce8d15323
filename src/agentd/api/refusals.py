"""Requests that can't be met, and the answers that say so: a status, and the error as JSON."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agentd.agents.dialogs import DialogError
from agentd.agents.supervisor import TargetError
from agentd.ledger import Unwritable
from agentd.tmux.server import TmuxError

log = logging.getLogger(__name__)


class Refused(Exception):
    """A request that can't be met: the status, a code, and why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def _error(status: int, code: str, message: str) -> JSONResponse:
    keys = {"layer": None, "code": code, "message": message, "tool": None, "session": None, "timeout_s": None}
    return JSONResponse({"error": keys}, status)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _error(error.status, error.code, str(error))


async def _target_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, TargetError)
    return _error({"unknown": 404, "usage": 400}.get(error.code, 409), error.code, str(error))


async def _dialog_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, DialogError)
    return _error(422 if error.code == "choice" else 409, f"dialog_{error.code}", str(error))


async def _tmux_error(request: Request, error: Exception) -> Response:
    return _error(503, "tmux", str(error))


async def _unwritable(request: Request, error: Exception) -> Response:
    return _error(507, "store_unwritable", str(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, f"http_{error.status_code}", error.detail)


async def _failed(request: Request, error: Exception) -> Response:
    """A fault of ours: the client is told that there was one, the log where."""
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return _error(500, "internal", f"the daemon failed ({type(error).__name__}: {error}); its log says where")


HANDLERS: Mapping[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    Refused: _refused,
    TargetError: _target_error,
    DialogError: _dialog_error,
    TmuxError: _tmux_error,
    Unwritable: _unwritable,
    HTTPException: _http_error,
    Exception: _failed,
}
"""What each exception that leaves a route is answered with."""
