"""Codex's screen: dialogs first, then the composer. Every text that is matched stands here.

A person who denies a command interrupts the turn with it: Codex offers no other no.

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
_HINT = re.compile(r"\s+\S.* edit last queued message")
_FIRST_LINE = re.compile(
    r"Would you like to|Do you (?:want to|trust)|Trust this folder|Allow |Question \d|Hooks need review"
    r"|Choose how|Sign in with|Implement this plan|Approaching rate limits|.{0,3}Update available"
)
_SGR = re.compile(r"\x1b\[([\d;:]*)m")
_KEYS = re.compile(r"\b(?:enter|esc)\b")
_LEAVES = re.compile(r"\besc (?:to )?(?:close|cancel|back|skip|go back|exit|dismiss|interrupt)\b")
_HEADLINE_LINES = 20

_SIGN_IN = "start `codex login` in a terminal once, or name a provider in its config.toml"
_CENTER = "  Agent command center"
_CENTER_TODO = "attach and open a task there (`n` starts one); the message waits until the composer is back"
_PANEL_TODO = "attach and look; `deny` presses Escape, which leaves it"

_TRUST_YES = ("yes, continue", "trust and continue")
_TRUST_NO = (["no, quit"], ["quit"], ["back to agent command center"])
_TRUST_KEYS = ("press enter to continue", "enter continue · esc quit", "enter continue · esc back")
_FORM = ("to submit answer", "to submit all", "enter to submit |")
_APPROVES = ("yes, proceed", "yes, just this once", "yes, grant", "allow")
_ASKS = ("Would you like to", "Do you want to approve", "Allow ")
_ALWAYS = ("don't ask again", "session", "in the future", "conversation", "always")
_YES = re.compile(r"(?:yes|allow|approve|update now|trust all|switch to)\b")
_NO = re.compile(r"(?:no|not now|cancel|decline|deny|skip|keep current|continue without|quit)\b")


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
    escape = ("Escape",) if _LEAVES.search(keys) else ()
    for marker in ("›", ">"):
        menu = find_menu(shown, marker)
        if menu and len(menu.options) > 1 and menu.options[0].number is not None:
            above = lines[: _place(lines, menu.first_line)]
            flush = any(line.startswith(marker) for line in shown[menu.first_line : menu.last_line + 1])
            return _menu(menu, marker, keys, above, escape, flush=flush)
    if escape:
        text = "\n".join(line.strip() for line in shown[-14:])
        return Dialog(Reason.UNKNOWN_DIALOG, text, deny_keys=escape, fixed=_PANEL_TODO)
    return None


def _place(lines: Sequence[str], index: int) -> int:
    """Where the line stands that has this index among those that aren't blank."""
    return [i for i, line in enumerate(lines) if line.strip()][index]


def _menu(
    menu: Menu, marker: str, keys: str, above: Sequence[str], escape: tuple[str, ...], *, flush: bool
) -> Dialog:
    labels = [option.label.lower() for option in menu.options]
    text = _question(above)
    reason = _reason(labels, marker, keys, text, flush=flush)
    approve = next((i for i, label in enumerate(labels) if _YES.match(label) and not _lasts(label)), None)
    deny = next((i for i, label in enumerate(labels) if _NO.match(label)), None)
    if reason is Reason.TRUST:
        approve, deny = 0, 1
    elif reason is Reason.LOGIN or (reason is Reason.QUESTION and _is_form(keys)):
        # A form's options are the model's, or a server's: their words mean nothing here.
        approve = deny = None
    return Dialog(
        reason,
        "\n".join(text),
        menu.options,
        menu.selected,
        approve,
        deny,
        deny_keys=escape if deny is None else (),
        fixed=_SIGN_IN if reason is Reason.LOGIN else None,
    )


def _is_form(keys: str) -> bool:
    return any(form in keys for form in _FORM)


def _lasts(label: str) -> bool:
    """Whether the option's yes is for more than this once."""
    return any(word in label for word in _ALWAYS)


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
    if _is_form(keys) and labels[0].partition("  ")[0] != "allow":
        return Reason.QUESTION
    if labels[0].startswith(_APPROVES) or any(line.startswith(_ASKS) for line in head):
        return Reason.APPROVAL
    if labels[0].startswith(("review hooks", "yes")):
        return Reason.QUESTION
    return Reason.UNKNOWN_DIALOG


def _question(above: Sequence[str]) -> Sequence[str]:
    """The dialog's own lines: from its question on, else what stands right above its options."""
    head = [line.strip() for line in above[-_HEADLINE_LINES:]]
    for index in range(len(head) - 1, -1, -1):
        if _FIRST_LINE.match(head[index]):
            return [line for line in head[index:] if line]
    while head and not head[-1]:
        head.pop()
    blank = max((i for i, line in enumerate(head) if not line), default=-1)
    return head[blank + 1 :]
