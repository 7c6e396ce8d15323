"""A line to the daemon that is connected again when it breaks: when, how often, and when not."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from agentd.api.client import ApiError, Client, ClientError, Garbled, Gone, NoDaemon
from agentd.api.reconnecting import PATIENCE_S, STEADY_S, Ask, Away, Forgotten, Line

QUESTION = Ask("POST", "/x", {"id": "1"})
AGAIN = Ask("GET", "/x/1", resumes=True)
NOBODY = NoDaemon("/run/a.sock", "refused")
BROKEN = Gone("it went away")
END = ("result", "pong")


class Played(Client):
    """Plays one script for each connection: events, seconds that pass, and how it ends."""

    def __init__(self, *scripts: list[Any]) -> None:
        super().__init__("/run/a.sock")
        self.scripts = list(scripts)
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.now = 0.0
        self.pauses: list[float] = []
        self.notices: list[str] = []
        self.line = Line(self, self.notices.append, sleep=self._sleep, clock=lambda: self.now)

    def stream(
        self, method: str, path: str, body: Any = None, query: Any = None, headers: Any = None
    ) -> Generator[tuple[str, Any], None, None]:
        self.asked.append(method)
        self.headers.append(dict(headers or {}))
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        for each in script:
            if isinstance(each, ClientError):
                raise each
            if isinstance(each, float):
                self.now += each
            else:
                yield each

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def heard(self, *asks: Ask) -> list[Any]:
        """Every event; the asks are asked in turn, the last one again and again."""
        waiting = list(asks or [QUESTION])
        ask = lambda: waiting.pop(0) if len(waiting) > 1 else waiting[0]  # noqa: E731
        return [data for _, data in self.line.events(ask, ("result",))]


def test_an_answer_ends_the_line() -> None:
    daemon = Played([("progress", 1), END, ("progress", "never read")])
    assert daemon.heard() == [1, "pong"]
    assert (daemon.asked, daemon.notices) == (["POST"], [])
    assert repr(daemon.line) == "<Line to /run/a.sock: there>"


@pytest.mark.parametrize("end", [[BROKEN], []], ids=["broken", "ended without a result"])
def test_a_daemon_that_comes_back_is_asked_again(end: list[Any]) -> None:
    daemon = Played([("progress", 1), *end], [NOBODY], [NOBODY], [("progress", 2), END])
    assert daemon.heard(QUESTION, AGAIN) == [1, 2, "pong"]
    assert daemon.asked == ["POST", "GET", "GET", "GET"]
    assert daemon.notices == ["the daemon is away; waiting for it"], "told once"
    assert not daemon.line.away


def test_each_absence_is_told() -> None:
    daemon = Played([BROKEN], [("progress", 1), BROKEN], [END])
    assert daemon.heard() == [1, "pong"]
    assert len(daemon.notices) == 2


def test_a_daemon_that_was_never_there_is_not_waited_for() -> None:
    daemon = Played([NOBODY])
    with pytest.raises(NoDaemon):
        daemon.heard()
    assert (daemon.pauses, daemon.notices) == ([], [])


@pytest.mark.parametrize("error", [ApiError(409, "busy", "no", {}), Garbled("SSH")])
@pytest.mark.parametrize("before", [[], [[BROKEN]]], ids=["at once", "after its return"])
def test_what_says_no_is_asked_once(error: ClientError, before: list[list[Any]]) -> None:
    daemon = Played(*before, [error])
    with pytest.raises(type(error)):
        daemon.heard()
    assert len(daemon.asked) == len(before) + 1


def test_a_daemon_that_has_forgotten_is_said_to_have() -> None:
    unknown = ApiError(404, "unknown_message", "demo-here was sent no message 1", {})
    daemon = Played([("progress", 1), BROKEN], [unknown])
    with pytest.raises(Forgotten, match="was sent no message 1"):
        daemon.heard(QUESTION, AGAIN)
    with pytest.raises(ApiError, match="no message"):
        Played([unknown]).heard(QUESTION)


def test_patience_ends_and_the_pauses_grow_up_to_a_second() -> None:
    daemon = Played([BROKEN], [NOBODY])
    with pytest.raises(Away, match="within 60 s"):
        daemon.heard()
    assert daemon.pauses[:3] == pytest.approx([0.1, 0.15, 0.225])
    assert daemon.pauses == sorted(daemon.pauses) and daemon.pauses[-1] == 1.0
    assert PATIENCE_S - 1.0 <= daemon.now <= PATIENCE_S


def test_a_daemon_that_dies_of_every_question_is_given_up() -> None:
    daemon = Played([("progress", 1), 1.0, BROKEN])
    with pytest.raises(Away):
        daemon.heard()
    assert daemon.now < PATIENCE_S + STEADY_S


def test_a_daemon_that_stayed_has_all_the_patience_again() -> None:
    lives = [("progress", 1), STEADY_S, BROKEN]
    daemon = Played(*[lives] * 20, [END])
    assert daemon.heard() == [*[1] * 20, "pong"]
    assert daemon.now > 3 * PATIENCE_S


def test_what_was_seen_is_said_again_with_each_question() -> None:
    daemon = Played([("event", 7), BROKEN], [("event", 8), BROKEN], [END])
    seen: dict[str, str] = {}
    for _, data in daemon.line.events(lambda: Ask("GET", "/x", headers=dict(seen)), ("result",)):
        seen["Last-Event-ID"] = str(data)
    assert daemon.headers == [{}, {"Last-Event-ID": "7"}, {"Last-Event-ID": "8"}]
