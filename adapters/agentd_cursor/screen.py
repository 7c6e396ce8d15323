"""Cursor's screen: dialogs, then the composer. Every text that is matched stands in this file.

Wording and layout are those of panes that others captured (builds 2026.06 to 2026.09), or, where a line is
marked, of what they wrote down; the TUI's wording changed with almost every build. What isn't known is
neither composer nor dialog.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentd.model import Reason
from agentd.screen import Dialog, Look, Option, Screen, undimmed

LOGIN_TODO = "run `cursor-agent login` in a terminal, then send the prompt again"
PLACEHOLDERS = ("Plan, search, build anything", "Add a follow-up")
FRESH = PLACEHOLDERS[0]
"""The composer of a chat that had no turn: nothing on such a screen is a model's text."""
BUSY = "ctrl+c to stop"


@dataclass(frozen=True)
class _Known:
    """A question by its headline. `approve` and `deny` are the keys that those words mean."""

    reason: Reason
    headline: re.Pattern[str]
    approve: str | None = "y"
    deny: str | None = "n"


QUESTIONS = tuple(
    _Known(reason, re.compile(headline), *keys)
    for reason, headline, *keys in (
        (Reason.TRUST, r"Do you trust the contents of this directory\?", "a", "q"),
        (Reason.APPROVAL, r"Run this command\?"),
        (Reason.APPROVAL, r"Write to this file\?"),
        (Reason.APPROVAL, r"Delete this file\?"),
        (Reason.APPROVAL, r"Run this MCP tool\?"),
        (Reason.APPROVAL, r"Allow this web (?:search|fetch)\?"),
        (Reason.APPROVAL, r"Open this URL\?|Allow opening URL \S+\?"),
        (Reason.APPROVAL, r"Switch to Agent mode\?"),
    )
)
"""The wording for an edit, and for the MCP servers of a project at start, is unknown: the general rule below
still sees them, as an approval if they have `(y)` and `(n)`, else as a dialog that nobody knows."""

_NO_COMPOSER = (
    (Reason.LOGIN, re.compile(r"Press any key to log in(?:\.\.\.|…)"), LOGIN_TODO),
    (Reason.LOGIN, re.compile(r"Signing in\b.*"), LOGIN_TODO),
    (Reason.LOGIN, re.compile(r"Authentication required to use Cursor Agent\..*"), LOGIN_TODO),
    (Reason.LIMIT, re.compile(r"Error: You've hit your usage limit.*"), "wait for the reset, or change the plan"),
    (Reason.LIMIT, re.compile(r"Named models unavailable\b.*"), "start it with --model auto, or change the plan"),
)
"""Whole lines that say what is wrong where there is no composer. Whether it comes back after a limit is told
differently; with one on the screen these lines are somebody's text."""
_REASON = re.compile(r"Reason for rejection \(Enter to submit, Esc to cancel\).*")
_TRUSTING = re.compile(r"⏳ Trusting workspace(?:\.\.\.|…)")
_QUEUED = re.compile(r".*\benter send now · .*\besc cancel\b.*")

_WITHIN = 8
"""A headline stands so many lines above its options at most."""
_LAST_LINES = 14
_BOX = "│┃|╭╮╰╯┌┐└┘─━"
_FRAME = re.compile(r"\s*[│┃]?\s?(.*?)\s*[│┃]?\s*$")
_RULE = re.compile(r"\s*[╭┌╰└]?[─━]{10,}[╮┐╯┘]?\s*$")
_OPTION = re.compile(r"(?P<mark>[→▶]\s+)?(?P<label>\S.*?)\s*\((?P<hint>[a-z+]+(?: or [a-z+]+)*)\)$")
_LETTERED = re.compile(r"(?P<mark>[→▶]\s+)?\[(?P<hint>\w)\]\s+(?P<label>\S.*)$")
_KEYS = {"esc": "Escape", "enter": "Enter", "space": "Space"}
_WIDENING = ("tab", "shift+tab")
"""These keys change what the agent may do from now on: never pressed, never offered."""

_TOP, _BOTTOM = re.compile(r"\s{0,2}▄{8,}\s*$"), re.compile(r"\s{0,2}▀{8,}\s*$")
_ARROW = re.compile(r"\s{1,4}→(?:\s|$)")
_FOLDED = re.compile(r"\[Pasted text #\d+")
_MOST_FOOTER = 8
_TRAILING = re.compile(r"(?:\x1b\[[0-9;:]*m|\s)+$")


def look(screen: Screen) -> Look:
    """What the screen says."""
    lines = [_FRAME.sub(r"\1", line) for line in screen.lines]
    composer = _composer(screen)
    question = _question(lines, composer)
    if question:
        return Look(dialog=question)
    if composer is None:
        return _without_composer(lines)
    if any(_QUEUED.match(line) for line in lines[-_LAST_LINES - _MOST_FOOTER :][: _LAST_LINES]) and _overlay(
        lines, composer
    ):
        return Look(busy=composer.busy)
    return Look(composer=True, draft=composer.draft, folded=bool(_FOLDED.search(composer.draft)), busy=composer.busy)
