"""What the demo agent's screen says. Pure.

A frame stands at the bottom: a rule, then either the composer, a second rule and a footer, or a dialog.
What scrolls above it is prose and says nothing. Only the frame draws a rule in the first column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentd.model import Reason
from agentd.screen import Dialog, Look, Menu, Screen, find_menu, undimmed

MARKER = "❯"
LOGIN = "Press any key to log in…"
TRUST = "Yes, I trust this folder"
APPROVAL = "Do you want to proceed?"

_FOLDED = re.compile(r"\[Pasted text #\d+(?: \+\d+ lines)?\]")
_RULE = re.compile(r"─{10,}")


def look(screen: Screen) -> Look:
    """The dialog or the composer; neither where there is no frame."""
    lines = screen.lines
    rules = [index for index, line in enumerate(lines) if _RULE.fullmatch(line)]
    if not rules:
        return Look()
    last = rules[-1]
    if len(rules) > 1 and lines[rules[-2] + 1].startswith(MARKER):
        draft = _draft(screen.styled[rules[-2] + 1 : last])
        busy = _footer(lines[last + 1 :])
        return Look(composer=True, draft=draft, folded=bool(_FOLDED.search(draft)), busy=busy)
    return Look(dialog=_dialog(lines[last + 1 :]))


def _draft(styled: Sequence[str]) -> str:
    """What was typed; the placeholder is drawn dim, the cursor in reverse."""
    rows = [undimmed(line).rstrip() for line in styled]
    return "\n".join(row.removeprefix(MARKER).strip(" \xa0") for row in rows).strip("\n")


def _footer(lines: Sequence[str]) -> bool:
    return bool(lines) and lines[0].startswith("  esc to interrupt")


def _dialog(lines: Sequence[str]) -> Dialog | None:
    written = [line.strip() for line in lines if line.strip()]
    if not written:
        return None
    if written[-1] == LOGIN:
        fixed = "attach to the agent and log in there; no key that agentd could press helps"
        return Dialog(Reason.LOGIN, "\n".join(written), fixed=fixed)
    menu = find_menu(lines, MARKER)
    if menu is None:
        return None
    headline = [line.strip() for line in lines[: menu.first_line] if line.strip()]
    return Dialog(
        _reason(headline, menu),
        "\n".join(headline),
        menu.options,
        menu.selected,
        approve=_option(menu, "yes", "update"),
        deny=_option(menu, "no", "skip"),
    )


def _reason(headline: Sequence[str], menu: Menu) -> Reason:
    if any(option.label == TRUST for option in menu.options):
        return Reason.TRUST
    if headline and headline[-1] == APPROVAL:
        return Reason.APPROVAL
    if headline and headline[0].startswith("✨ Update available!"):
        return Reason.UPDATE
    return Reason.UNKNOWN_DIALOG


def _option(menu: Menu, *words: str) -> int | None:
    """The first option whose first word is one of these."""
    for index, option in enumerate(menu.options):
        first = re.match(r"\w+", option.label)
        if first and first[0].lower() in words:
            return index
    return None
