"""Codex's screen: dialogs first, then the composer. Every text that is matched stands here.

The composer's mark is a bold `›` (in the shell mode a `!`) in the first column. The same mark is dim
before an earlier prompt, coloured or reversed before the selected line of a dialog. A dialog takes the
composer's place, and its last line names its keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentd.model import Reason
from agentd.screen import Dialog, Look, Menu, Screen, find_menu, undimmed

_MARKS = ("›", "!")
_BUSY = re.compile(r"\S .*\(\d.*• esc to interrupt\)")
_FOLDED = re.compile(r"\[Pasted Content \d+ chars\]")
_WAITING = re.compile(r"• (?:Messages to be submitted |Queued follow-up inputs)")
_HINT = re.compile(r"\s+\S+ edit last queued message")
_FIRST_LINE = re.compile(
    r"Would you like to|Do you (?:want to|trust)|Trust this folder|Allow |Question \d|Hooks need review"
    r"|Choose how|Sign in with|Implement this plan|Approaching rate limits|.{0,3}Update available"
)
_SGR = re.compile(r"\x1b\[([\d;:]*)m")
_KEYS = re.compile(r"\b(?:enter|esc)\b")

_SIGN_IN = "start `codex login` in a terminal once, or name a provider in its config.toml"
_CENTER = "  Agent command center"
_CENTER_TODO = "attach and open a task there (`n` starts one); the message waits until the composer is back"
_PANEL_TODO = "attach and look; `deny` presses Escape, which leaves it"

_TRUST_YES = ("yes, continue", "trust and continue")
_TRUST_NO = (["no, quit"], ["quit"], ["back to agent command center"])
_TRUST_KEYS = ("press enter to continue", "enter continue · esc quit", "enter continue · esc back")
_FORM = ("to submit answer", "to submit all", "enter to submit |")
_ALWAYS = ("don't ask again", "session", "in the future", "conversation", "always")
_YES = ("yes", "allow", "approve", "update now", "trust all", "switch to")
_NO = ("no", "cancel", "decline", "deny", "skip", "keep current", "continue without", "quit")


def look(screen: Screen) -> Look:
    """What the screen says; neither composer nor dialog means unknown."""
    lines = screen.lines
    at = next((i for i in range(len(lines) - 1, -1, -1) if _is_composer(screen.styled[i], lines[i])), None)
    if at is None:
        return Look(dialog=_dialog(lines), busy=_busy(lines))
    draft = _draft(screen, at)
    return Look(
        composer=True,
        draft=draft,
        folded=bool(_FOLDED.search(draft)),
        busy=_busy(lines[:at]),
        waiting=_waiting(lines[:at]),
    )


# The composer ------------------------------------------------------------------------------------


def _is_composer(styled: str, line: str) -> bool:
    if not line.startswith(_MARKS):
        return False
    pen = _pen(styled.partition(line[0])[0])
    return "1" in pen and not pen & {"2", "7"} and (line[0] == "!" or "colour" not in pen)


def _pen(text: str) -> set[str]:
    """What is on after these escape sequences: bold `1`, dim `2`, reverse `7`, `colour`."""
    pen: set[str] = set()
    for match in _SGR.finditer(text):
        codes = iter(re.split("[;:]", match[1]))
        for code in codes:
            if code in ("", "0"):
                pen.clear()
            elif code in ("1", "2", "7"):
                pen.add(code)
            elif code in ("22", "27"):
                pen -= {"1", "2"} if code == "22" else {"7"}
            elif code in ("38", "48"):
                if code == "38":
                    pen.add("colour")
                for _ in range({"5": 1, "2": 3}.get(next(codes, ""), 0)):
                    next(codes, "")
            elif re.fullmatch(r"3[0-79]|9[0-7]", code):
                pen = pen - {"colour"} if code == "39" else pen | {"colour"}
    return pen


def _draft(screen: Screen, at: int) -> str:
    """What stands in the composer. A blank line is between it and the lines at the bottom."""
    last = max(i for i, line in enumerate(screen.lines) if line)
    while last > at and screen.lines[last]:
        last -= 1
    rows = [undimmed(line).rstrip() for line in screen.styled[at : max(last, at + 1)]]
    rows[0] = rows[0].removeprefix("›")
    return "\n".join(row.strip() for row in rows).strip()


def _busy(lines: Sequence[str]) -> bool:
    return any(_BUSY.match(line) for line in lines)


def _waiting(above: Sequence[str]) -> tuple[str, ...]:
    """The texts that wait inside the CLI, as far as they are shown: three lines each, the rest is `…`."""
    texts: list[str] = []
    text: list[str] = []
    for line in reversed(above):
        if _WAITING.match(line):
            return tuple(reversed(texts))
        if line.startswith("  ↳ "):
            text.append(line.removeprefix("  ↳ "))
            texts.append("\n".join(reversed(text)))
            text = []
        elif line.startswith("    ") and not _HINT.fullmatch(line):
            text.append(line.strip())
        elif line and not line.startswith("    "):
            break
    return ()


# Dialogs -----------------------------------------------------------------------------------------


def _dialog(lines: Sequence[str]) -> Dialog | None:
    shown = [line for line in lines if line.strip()]
    if not shown:
        return None
    keys = shown[-1].strip().lower()
    if shown[0].startswith(_CENTER):
        leave = ("Escape",) if "esc back" in keys else ()
        return Dialog(Reason.UNKNOWN_DIALOG, shown[0].strip(), deny_keys=leave, fixed=_CENTER_TODO)
    if not _KEYS.search(keys):
        return None
    for marker in ("›", ">"):
        menu = find_menu(shown, marker)
        if menu and len(menu.options) > 1 and menu.options[0].number is not None:
            flush = any(line.startswith(marker) for line in shown[menu.first_line : menu.last_line + 1])
            return _menu(menu, marker, keys, flush=flush)
    if re.search(r"\besc (?:to )?(?:close|cancel|back|skip|go back|exit|dismiss)\b", keys):
        text = "\n".join(line.strip() for line in shown[-14:])
        return Dialog(Reason.UNKNOWN_DIALOG, text, deny_keys=("Escape",), fixed=_PANEL_TODO)
    return None


def _menu(menu: Menu, marker: str, keys: str, *, flush: bool) -> Dialog:
    labels = [option.label.lower() for option in menu.options]
    head = [line.strip() for line in menu.headline]
    reason = _reason(labels, marker, keys, head, flush=flush)
    approve = next((i for i, label in enumerate(labels) if _means(label, _YES)), None)
    deny = next((i for i, label in enumerate(labels) if label.startswith(_NO)), None)
    if reason is Reason.TRUST:
        approve, deny = 0, 1
    elif reason is Reason.LOGIN:
        approve = deny = None
    text = "\n".join(_question(head))
    fixed = _SIGN_IN if reason is Reason.LOGIN else None
    return Dialog(reason, text, menu.options, menu.selected, approve, deny, fixed=fixed)


def _means(label: str, words: Sequence[str]) -> bool:
    """Whether the option says so for this once."""
    return label.startswith(tuple(words)) and not any(word in label for word in _ALWAYS)


def _reason(labels: Sequence[str], marker: str, keys: str, head: Sequence[str], *, flush: bool) -> Reason:
    """The dialog's kind, by its options and its keys. What it asks about is the model's text, and could
    pretend to be another dialog's: above all, the trust list must never answer one of those. (`flush`:
    its marks stand in the first column, where no text of the model's does.)"""
    if flush and labels[0] in _TRUST_YES and labels[1:] in _TRUST_NO and keys in _TRUST_KEYS:
        return Reason.TRUST
    if marker == ">" and labels[0].startswith("sign in with chatgpt"):
        return Reason.LOGIN
    if labels[0].startswith("update now"):
        return Reason.UPDATE
    if any(label.startswith("keep current model") for label in labels):
        return Reason.LIMIT
    if any(form in keys for form in _FORM) and labels[0].partition("  ")[0].strip() != "allow":
        return Reason.QUESTION
    if labels[0].startswith(("yes", "allow")):
        asks = any(line.startswith(("Would you like to", "Do you want to", "Allow ")) for line in head)
        return Reason.APPROVAL if asks else Reason.QUESTION
    if labels[0].startswith("review hooks"):
        return Reason.QUESTION
    return Reason.UNKNOWN_DIALOG


def _question(head: Sequence[str]) -> Sequence[str]:
    """The dialog's own lines: from its question on, as far as that can be told."""
    for index in range(len(head) - 1, -1, -1):
        if _FIRST_LINE.match(head[index]):
            return head[index:]
    return head[-6:]
