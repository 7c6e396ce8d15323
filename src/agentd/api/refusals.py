"""Requests that can't be met."""

from __future__ import annotations


class Refused(Exception):
    """A request that can't be met: the status, a code, and why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code
