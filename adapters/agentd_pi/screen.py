"""Pi's screen: dialogs first, then the composer. Every text that is matched stands here.

Two rules from the first column to the last stand at the bottom, and what lies between them is either the
composer or what is shown in its place; a footer follows. Prose is indented by a column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentd.model import Reason
from agentd.screen import Dialog, Look, Screen, find_menu, undimmed

MARKER = "→"
_RULE = re.compile(r"─{2,}(?: (?P<label>\S.*?) ─*)?")
"""A rule may carry what Pi is at (1.x), or how many lines of a draft are hidden."""
_HIDDEN = re.compile(r"[↑↓] \d+ more")
_SPINNER = re.compile(r" ?[\u2801-\u28ff] \S")
_STATUS_LINES = 4
"""Between the spinner (0.x, and a `!` command) and the composer stand at most a rule and empty lines."""
_FOLDED = re.compile(r"\[paste #\d+(?: (?:\+\d+ lines|\d+ chars))?\]")
_HINT = re.compile(
    r"\b(?:escape|esc)(?:/ctrl\+c)?(?: to)? (?:cancel|close|skip setup)\b"
    r"|\benter (?:to )?(?:select|submit|save)\b",
    re.IGNORECASE,
)
"""The last line of most dialogs names the keys (their defaults)."""
_NO_MODEL = re.compile(r"%/0(?: \(auto\))?\s.*\b(?:unknown|no-model)$")
"""The footer, where nobody is signed in: a context of no size, of no model. A prompt would be refused."""
_GOODBYE = "To resume this session:"
_SIGN_IN = "nobody is signed in: attach and use /login, or give Pi a provider's API key in [adapters.pi] env"
_ATTACH = "attach and look; `deny` presses Escape, which leaves it"


def look(screen: Screen) -> Look:
    """What the screen says; neither composer nor dialog means unknown."""
    lines = list(screen.lines)
    rules = [i for i, line in enumerate(lines) if _is_rule(line)]
    if len(rules) < 2:
        return Look(busy=_busy(lines))
    top, bottom = rules[-2], rules[-1]
    inside, below = lines[top + 1 : bottom], lines[bottom + 1 :]
    if any(line.startswith(_GOODBYE) for line in below):
        return Look()
    busy = _busy(lines[: top + 1])
    if _is_composer(screen.styled[top + 1 : bottom], inside):
        if any(_NO_MODEL.search(line) for line in below):
            return Look(busy=busy, dialog=Dialog(Reason.LOGIN, _SIGN_IN, fixed=_SIGN_IN))
        draft = "\n".join(line.rstrip() for line in inside).strip("\n")
        return Look(composer=True, draft=draft.strip(), folded=bool(_FOLDED.search(draft)), busy=busy)
    return Look(busy=busy, dialog=_dialog(lines[: bottom + 1], inside))


def _is_rule(line: str) -> bool:
    return len(line) >= 20 and bool(_RULE.fullmatch(line))


def _label(line: str) -> str:
    found = _RULE.fullmatch(line)
    return (found["label"] or "") if found else ""


def _busy(lines: Sequence[str]) -> bool:
    """Whether something works, by the rule above the composer or the lines above that."""
    if lines and (label := _label(lines[-1])) and not _HIDDEN.fullmatch(label):
        return True
    shown = [line for line in lines if line.strip() and not _is_rule(line)]
    return any(_SPINNER.match(line) for line in shown[-_STATUS_LINES:])


def _is_composer(styled: Sequence[str], inside: Sequence[str]) -> bool:
    """A dialog leaves its first line empty, or names its keys in the last one. A draft may do so too, but
    has the cursor in it, while in a dialog only a line of input has."""
    if not inside:
        return False
    if not any(line.strip() for line in inside):
        return len(inside) == 1 or _has_cursor(styled[0])
    last = max(index for index, line in enumerate(inside) if line.strip())
    if _HINT.search(inside[last]) and not _HINT.search(undimmed(styled[last])):
        # A person's own words aren't drawn dim or grey.
        return False
    if inside[0].strip():
        return True
    listed = any(line.startswith((MARKER, f" {MARKER}", "›")) for line in inside)
    return not listed and not _searches(inside) and any(_has_cursor(line) for line in styled)


def _searches(inside: Sequence[str]) -> bool:
    """Whether there is a line of input, above a list that it searches."""
    return any(line == ">" or line.startswith("> ") for line in inside)


def _has_cursor(styled: str) -> bool:
    return bool(re.search(r"\x1b\[(?:\d+;)*7(?:;\d+)*m", styled))


def _dialog(lines: Sequence[str], inside: Sequence[str]) -> Dialog:
    """What stands in the composer's place."""
    written = [line.strip() for line in inside if line.strip()]
    menu = find_menu(lines, MARKER, within=len(inside) + 1)
    if menu is None or _searches(inside) or not _HINT.search(written[-1]):
        text = "\n".join(line for line in written if not _HINT.search(line))
        shown = text or "\n".join(line.strip() for line in lines[-12:] if line.strip() and not _is_rule(line))
        return Dialog(Reason.UNKNOWN_DIALOG, shown, deny_keys=("Escape",), fixed=_ATTACH)
    question = "\n".join(line.strip() for line in lines[len(lines) - 1 - len(inside) : menu.first_line])
    labels = [option.label for option in menu.options]
    return Dialog(
        _reason(question),
        question.strip(),
        menu.options,
        menu.selected,
        approve=next((i for i, label in enumerate(labels) if label in ("Trust", "Yes")), None),
        deny=next((i for i, label in enumerate(labels) if label in ("Do not trust", "No")), None),
        deny_keys=() if any(label in ("Do not trust", "No") for label in labels) else ("Escape",),
    )


def _reason(question: str) -> Reason:
    first = question.strip().partition("\n")[0]
    if first == "Trust project folder?":
        return Reason.TRUST
    if first.startswith(("Select authentication method", "Select provider", "Log in", "Login")):
        return Reason.LOGIN
    return Reason.QUESTION
