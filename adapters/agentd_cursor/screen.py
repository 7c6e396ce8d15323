"""Cursor's screen: dialogs, then the composer. Every text that is matched stands in this file.

Wording and layout are those of panes that others captured (builds 2026.06 to 2026.09) or wrote down; both
changed with almost every build. What isn't known is neither composer nor dialog.

A model may quote a whole dialog in its answer. What tells them apart is where the cursor is: the program
draws it itself, in reverse video, and it is in the composer or in the dialog.
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
"""Stands in the composer of a chat without a turn: no text on such a screen is a model's."""
BUSY = "ctrl+c to stop"


@dataclass(frozen=True)
class _Known:
    """A question by its headline, and the keys that `approve` and `deny` mean there."""

    reason: Reason
    headline: re.Pattern[str]
    approve: str
    deny: str


_QUESTIONS = tuple(
    _Known(reason, re.compile(headline), approve, deny)
    for reason, headline, approve, deny in (
        (Reason.TRUST, r"Do you trust the contents of this directory\?", "a", "q"),
        (Reason.APPROVAL, r"Run this command\?", "y", "n"),
        (Reason.APPROVAL, r"Write to this file\?", "y", "n"),
        (Reason.APPROVAL, r"Delete this file\?", "y", "n"),
        (Reason.APPROVAL, r"Run this MCP tool\?", "y", "n"),
        (Reason.APPROVAL, r"Allow this web (?:search|fetch)\?", "y", "n"),
        (Reason.APPROVAL, r"Open this URL\?|Allow opening URL \S+\?", "y", "n"),
        (Reason.APPROVAL, r"Switch to Agent mode\?", "y", "n"),
    )
)
"""There are more: the wording for an edit, and for a project's MCP servers at start, is unknown. One that
isn't listed is seen by its shape: an approval if it has `(y)` and `(n)`, else a dialog nobody knows."""
_GENERAL = (Reason.APPROVAL, "y", "n")

_MESSAGES = tuple(
    (reason, re.compile(line), todo)
    for reason, line, todo in (
        (Reason.LOGIN, r"Press any key to log in(?:\.\.\.|…)", LOGIN_TODO),
        (Reason.LOGIN, r"Signing in\b.*", LOGIN_TODO),
        (Reason.LOGIN, r"Authentication required to use Cursor Agent\..*", LOGIN_TODO),
        (Reason.LIMIT, r"Error: You've hit your usage limit.*", "wait for the reset, or change the plan"),
        (Reason.LIMIT, r"Named models unavailable\b.*", "use the model `auto`, or change the plan"),
    )
)
"""Whole lines that say what is wrong while no composer is shown; beside one they are somebody's text."""
_REJECTION = re.compile(r"Reason for rejection \(Enter to submit, Esc to cancel\).*")
_TRUSTING = re.compile(r"⏳ Trusting workspace(?:\.\.\.|…)")
_TITLE = re.compile(r"\s*[┌╭]?─* ?follow-ups\b")
_QUEUED = re.compile(r".*\benter send now · .*\besc cancel")

_WITHIN = 8
"""A headline stands at most so many lines above its options."""
_AFTER = 2
"""So many lines of text may follow the options: a hint at the keys."""
_ABOVE = 10
"""So many lines above the headline may say what it is about."""
_LAST = 14
_MOST_ROWS, _MOST_FOOTER = 14, 8

_SIDES = re.compile(r"^\s*[│┃]?\s?(.*?)\s*[│┃]?\s*$")
_RULE = re.compile(r"\s*[╭┌╰└]?[─━]{6,}.*$")
_CORNERS, _FEET = ("╭", "┌"), ("╰", "└")
_OPTION = re.compile(r"(?P<mark>[→▶]\s+)?(?P<label>\S.*?)\s*\((?P<hint>[a-z+]+(?: or [a-z+]+)*)\)$")
_LETTERED = re.compile(r"(?P<mark>[→▶]\s+)?\[(?P<hint>\w)\]\s+(?P<label>\S.*)$")
_NAMED_KEYS = {"esc": "Escape", "enter": "Enter"}
_WIDENING = ("tab", "shift+tab")
"""They change what the agent may do from now on: never pressed, never offered."""

_TOP, _BOTTOM = re.compile(r"\s{0,2}▄{8,}\s*$"), re.compile(r"\s{0,2}▀{8,}\s*$")
_ARROW = re.compile(r"\s{1,4}→(?:\s|$)")
_FOLDED = re.compile(r"\[Pasted text #\d+")
_HINT = re.compile(rf"(?:\x1b\[[0-9;:]*m)*{re.escape(BUSY)}.*$")
_TRAILING = re.compile(r"(?:\x1b\[[0-9;:]*m|\s)+$")
_BACKGROUND = re.compile(r"\x1b\[(?:[0-9;]*;)?48;[25];")
_SGR = re.compile(r"\x1b\[([0-9;]*)m")


@dataclass(frozen=True)
class _Composer:
    """Where the composer stands, frame included, and what it shows. `live`: the cursor is in it."""

    top: int
    draft: str
    busy: bool
    live: bool
    fresh: bool


@dataclass(frozen=True)
class _Row:
    """One line of a dialog that can be chosen."""

    label: str
    keys: tuple[str, ...]
    marked: bool
    lettered: bool
    """Its key stands before it."""


def look(screen: Screen) -> Look:
    """What the screen says."""
    lines = [_SIDES.sub(r"\1", line) for line in screen.lines]
    composer = _composer(screen)
    above = lines[: composer.top] if composer else lines
    if dialog := _question(above, composer) or _rejection(above, composer):
        return Look(dialog=dialog)
    if composer is None:
        return _message(lines)
    if _directly_above(_QUEUED, above):
        # A follow-up waits inside the program: what is typed now may go there.
        return Look(busy=composer.busy, waiting=_waiting(above))
    folded = bool(_FOLDED.search(composer.draft))
    return Look(composer=True, draft=composer.draft, folded=folded, busy=composer.busy)


# The composer -----------------------------------------------------------------------------------


def _composer(screen: Screen) -> _Composer | None:
    """Between its rules, or (June) a row that begins with the arrow, set off by blank lines."""
    found = _framed(screen.lines) or _bare(screen)
    if found is None:
        return None
    top, first, end = found
    rows = [_HINT.sub("", line) for line in screen.styled[first:end]]
    plain = [line.replace(BUSY, "").strip() for line in screen.lines[first:end]]
    whole = "\n".join(plain).removeprefix("→").strip()
    draft = "\n".join(undimmed(_TRAILING.sub("", row)).strip() for row in rows).strip()
    draft = draft.removeprefix("→").strip()
    return _Composer(
        top,
        "" if draft in PLACEHOLDERS else draft,
        any(line.rstrip().endswith(BUSY) for line in screen.lines[first:end]),
        any(_reversed(row) for row in rows),
        whole == FRESH and draft in ("", FRESH),
    )


def _framed(lines: Sequence[str]) -> tuple[int, int, int] | None:
    """The rows between the last two rules. Of a long draft only the tail is shown, without its arrow."""
    bottom = next((i for i in range(len(lines) - 1, -1, -1) if _BOTTOM.match(lines[i])), None)
    if bottom is None or not _only_footer(lines[bottom + 1 :]):
        return None
    top = next((i for i in range(bottom - 1, -1, -1) if _TOP.match(lines[i])), None)
    if top is None or not 1 < bottom - top <= _MOST_ROWS:
        return None
    return top, top + 1, bottom


def _bare(screen: Screen) -> tuple[int, int, int] | None:
    """Without rules it is known by its dark background, or by its placeholder."""
    lines = screen.lines
    at = next((i for i in range(len(lines) - 1, -1, -1) if _ARROW.match(lines[i])), None)
    if at is None or (at > 0 and lines[at - 1].strip()):
        return None
    shown = lines[at].replace(BUSY, "").strip().removeprefix("→").strip()
    if shown not in PLACEHOLDERS and not _BACKGROUND.search(screen.styled[at]):
        return None
    end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
    return (at, at, end) if end - at <= _MOST_ROWS and _only_footer(lines[end:]) else None


def _only_footer(lines: Sequence[str]) -> bool:
    """Model, context use and path: a few lines, none of which the arrow begins."""
    shown = [line for line in lines if line.strip()]
    return len(shown) <= _MOST_FOOTER and not any(_ARROW.match(line) for line in shown)


def _reversed(row: str) -> bool:
    """Whether some cell of the row is in reverse video."""
    for match in _SGR.finditer(row):
        codes = iter(match[1].split(";"))
        for code in codes:
            if code in ("38", "48", "58"):
                # A colour's own numbers follow.
                for _ in range({"5": 1, "2": 3}.get(next(codes, ""), 0)):
                    next(codes, "")
            elif code == "7":
                return True
    return False


# Dialogs ----------------------------------------------------------------------------------------


def _question(lines: Sequence[str], composer: _Composer | None) -> Dialog | None:
    """A headline that asks, and below it two or more rows that name their keys, one of them marked."""
    found = _options(lines)
    if found is None:
        return None
    first, rows = found
    near = range(first - 1, max(-1, first - 1 - _WITHIN), -1)
    asked = [i for i in near if lines[i].rstrip().endswith("?")]
    known = next(((i, q) for i in asked for q in _QUESTIONS if q.headline.fullmatch(lines[i].strip())), None)
    if not asked:
        return None
    at, question = known or (asked[0], None)
    trust = question is not None and question.reason is Reason.TRUST
    if composer and composer.live and not (trust and composer.fresh):
        return None
    return _dialog(question, rows, _about(lines, at, first))


def _options(lines: Sequence[str]) -> tuple[int, list[_Row]] | None:
    """The last block of option rows, if hardly anything follows it: its first line, and the rows."""
    after = 0
    for last in range(len(lines) - 1, -1, -1):
        line = lines[last].strip()
        if _row(line):
            break
        if _TRUSTING.match(line):
            # It was answered, and is still drawn.
            return None
        after += bool(line) and not _RULE.match(line)
        if after > _AFTER:
            return None
    else:
        return None
    rows: list[_Row] = []
    while last >= 0 and (row := _row(lines[last].strip())):
        rows.insert(0, row)
        last -= 1
    marks = sum(row.marked for row in rows)
    if len(rows) < 2 or marks > 1 or not (marks or all(row.lettered for row in rows)):
        return None
    return last + 1, rows


def _row(line: str) -> _Row | None:
    found = _LETTERED.match(line) or _OPTION.match(line)
    if not found:
        return None
    keys = tuple(found["hint"].split(" or "))
    if any(len(key) > 1 and key not in (*_NAMED_KEYS, *_WIDENING) for key in keys):
        # Some other text in parentheses.
        return None
    return _Row(found["label"], keys, bool(found["mark"]), found.re is _LETTERED)


def _dialog(question: _Known | None, rows: Sequence[_Row], text: str) -> Dialog:
    offered = [row for row in rows if any(key not in _WIDENING for key in row.keys)]
    reason, yes, no = (question.reason, question.approve, question.deny) if question else _GENERAL
    approve = next((i for i, row in enumerate(offered) if yes in row.keys), None)
    deny = next((i for i, row in enumerate(offered) if no in row.keys), None)
    if question is None and (approve is None or deny is None):
        reason, approve, deny = Reason.UNKNOWN_DIALOG, None, None
    options = tuple(Option(row.label, key=_key(row.keys)) for row in offered)
    selected = next((i for i, row in enumerate(offered) if row.marked), None)
    return Dialog(reason, text, options, selected, approve, deny)


def _key(keys: Sequence[str]) -> str:
    """The key to press, by tmux's name: a letter where there is one."""
    letters = [key for key in keys if len(key) == 1]
    return letters[0] if letters else next(_NAMED_KEYS[key] for key in keys if key in _NAMED_KEYS)


def _about(lines: Sequence[str], headline: int, options: int) -> str:
    """The question with what it is about: the lines before it in its box, or those of the box above it, or
    what stands above its rule."""
    kept: list[str] = []
    apart = False
    for line in reversed(lines[max(0, headline - _ABOVE) : headline]):
        if _RULE.match(line):
            if kept or line.strip().startswith(_CORNERS):
                break
            apart = not line.strip().startswith(_FEET)
        elif line.strip():
            kept.insert(0, line.strip())
        elif kept and apart:
            break
    return "\n".join([*kept, *(line.strip() for line in lines[headline:options] if line.strip())])


def _rejection(lines: Sequence[str], composer: _Composer | None) -> Dialog | None:
    """Some builds ask why after a "no"."""
    if not (_directly_above(_REJECTION, lines) if composer else any(map(_REJECTION.match, lines[-_LAST:]))):
        return None
    todo = "`deny` leaves the reason empty; attach to give one"
    return Dialog(
        Reason.APPROVAL, "Reason for rejection?", deny_keys=("Enter",), fixed=todo, completes=("Enter",)
    )


def _waiting(lines: Sequence[str]) -> tuple[str, ...]:
    """The follow-ups in the box above the composer, as far as they are shown."""
    titles = [at for at, line in enumerate(lines) if _TITLE.match(line)]
    box = lines[titles[-1] + 1 :] if titles else []
    return tuple(line.strip().removeprefix("○").strip() for line in box if line.strip().startswith("○"))


def _directly_above(pattern: re.Pattern[str], lines: Sequence[str]) -> bool:
    """Whether the last line above the composer says this; a model's text stands further away."""
    for line in lines[:-3:-1]:
        if pattern.match(line.strip()):
            return True
        if line.strip() and not _RULE.match(line):
            return False
    return False


def _message(lines: Sequence[str]) -> Look:
    """What stands where the composer isn't."""
    shown = [line.strip() for line in lines if line.strip()][-_LAST:]
    if any(_TRUSTING.fullmatch(line) for line in shown):
        return Look(busy=True)
    for at, line in enumerate(shown):
        for reason, pattern, todo in _MESSAGES:
            if pattern.fullmatch(line):
                return Look(dialog=Dialog(reason, "\n".join(shown[at:]), fixed=todo))
    return Look()
