"""Claude Code's screen: dialogs first, then the composer. Every text that is matched stands here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agentd.model import Reason
from agentd.screen import Dialog, Look, Menu, Screen, find_menu, undimmed

MARKER = "❯"
_RULE = re.compile(r"\s*[─━]{10,}")
_BUSY = "esc to interrupt"
_FOLDED = re.compile(r"\[Pasted text #\d+|\[\.\.\.Truncated text #\d+")
_FOOTERS = (
    "enter to confirm",
    "esc to cancel",
    "enter to select",
    "esc to reject",
    "esc to exit",
    "to navigate",
)
_PANEL = re.compile(r"\besc to (?:close|cancel|exit|go back|reject)\b", re.IGNORECASE)
_HEADLINE_LINES = 14

_KINDS: tuple[tuple[Reason, tuple[str, ...]], ...] = (
    (Reason.TRUST, ("trust this folder", "trust the files in this folder", "one you trust")),
    (Reason.LOGIN, ("select login method", "custom api key", "paste code here", "choose the text style")),
    (Reason.LIMIT, ("usage limit", "session limit", "hit your limit", "reached your", "upgrade your plan")),
    (Reason.UPDATE, ("update available", "new version")),
    (Reason.APPROVAL, ("do you want to", "mcp server found", "new mcp server", "bypass permissions mode")),
    (Reason.QUESTION, ("default permission mode", "settings warning", "settings error")),
    (Reason.QUESTION, ("enter to select", "would you like to")),
)
_NO_MENU = (
    (Reason.LOGIN, "Press Enter to retry", "start `claude` in a terminal once and sign in"),
    (Reason.LOGIN, "Paste code here if prompted", "attach, and finish the sign-in"),
)


def look(screen: Screen) -> Look:
    """What the screen says; neither composer nor dialog means unknown."""
    lines = screen.lines
    composer = _composer(lines)
    if composer is None:
        if dialog := _dialog(lines):
            return Look(dialog=dialog)
        return Look(busy=_busy(lines))
    first, last = composer
    below = lines[last + 1 :]
    draft = [undimmed(screen.styled[i]).rstrip() for i in range(first, last)]
    text = "\n".join(
        re.sub(rf"^\s*{MARKER}\s?", "", line) if n == 0 else line for n, line in enumerate(draft)
    )
    text = text.replace("\u00a0", " ").strip()
    return Look(composer=True, draft=text, folded=bool(_FOLDED.search(text)), busy=_busy(below))


def _busy(lines: Sequence[str]) -> bool:
    return any(_BUSY in line for line in lines)


def _composer(lines: Sequence[str]) -> tuple[int, int] | None:
    """The lines between the last two rules, if they begin with the mark and nothing below asks anything."""
    rules = [i for i, line in enumerate(lines) if _RULE.match(line)]
    for top, bottom in zip(rules[-2::-1], rules[:0:-1], strict=False):
        if bottom - top < 2 or not re.match(rf"\s*{MARKER}(?:[\s\u00a0]|$)", lines[top + 1]):
            return None
        below = " ".join(lines[bottom + 1 :]).lower()
        if any(footer in below for footer in _FOOTERS):
            return None
        return top + 1, bottom
    return None


def _dialog(lines: Sequence[str]) -> Dialog | None:
    menu = find_menu(lines, MARKER)
    text = "\n".join(line for line in lines if line.strip())
    if menu is None or len(menu.options) < 2 or not _anchored(lines, menu):
        for reason, anchor, todo in _NO_MENU:
            if anchor in text:
                return Dialog(reason, _question(lines[-_HEADLINE_LINES:]), fixed=todo)
        return _panel(lines)
    area = " ".join([*menu.headline, *(o.label for o in menu.options), *lines[menu.last_line :]]).lower()
    reason = next(
        (kind for kind, anchors in _KINDS if any(anchor in area for anchor in anchors)),
        Reason.UNKNOWN_DIALOG,
    )
    # The line that was just chosen gets a tick while the next screen is prepared: no new question.
    options = tuple(replace(option, label=option.label.removesuffix("✔").rstrip()) for option in menu.options)
    labels = [option.label.lower() for option in options]
    yes = next(
        (i for i, label in enumerate(labels) if label.startswith(("yes", "use this mcp server"))), None
    )
    no = next((i for i, label in enumerate(labels) if label.startswith(("no", "continue without"))), None)
    return Dialog(reason, _question(menu.headline), options, menu.selected, yes, no)


def _panel(lines: Sequence[str]) -> Dialog | None:
    """A page in the composer's place (`/help`, `/model`): it isn't known, but Escape leaves it."""
    shown = [line for line in lines if line.strip()]
    if shown and _PANEL.search(shown[-1]):
        todo = "attach and look; `deny` presses Escape, which leaves it"
        enter = ("Enter",) if re.search(r"\benter to\b", shown[-1], re.IGNORECASE) else ()
        text = _question(shown)
        return Dialog(Reason.UNKNOWN_DIALOG, text, approve_keys=enter, deny_keys=("Escape",), fixed=todo)
    return None


def _anchored(lines: Sequence[str], menu: Menu) -> bool:
    """A dialog names its keys below its options, or is a question at the very end of the screen; a list in
    the model's own text is neither, since the composer stands below it."""
    below = " ".join(lines[menu.last_line + 1 : menu.last_line + 8]).lower()
    if any(footer in below for footer in _FOOTERS):
        return True
    asks = any(line.rstrip().endswith("?") for line in _question(menu.headline).splitlines())
    return asks and not "".join(lines[menu.last_line + 1 :]).strip()


def _question(headline: Sequence[str]) -> str:
    """The dialog's text, from its upper rule on."""
    kept: list[str] = []
    for line in headline:
        if _RULE.match(line):
            kept = []
        elif line.strip() and not re.match(r"\s*[╌┄]{5,}", line):
            kept.append(line.strip())
    return "\n".join(kept)
