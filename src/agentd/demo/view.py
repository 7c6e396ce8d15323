"""What the demo agent shows, as lines of text with their attributes. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

RESET = "\x1b[0m"
BOLD = "\x1b[1m"
DIM = "\x1b[2m"
REVERSE = "\x1b[7m"
CYAN = "\x1b[36m"
GREEN = "\x1b[32m"
RED = "\x1b[31m"

PLACEHOLDER = "Ask the demo agent anything"
SHOWN_LINES = 200
"""How much of one entry the transcript shows."""
SHOWN_TEXT = SHOWN_LINES * 200

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if code != 10} | {9: "    "}


def clean(text: str) -> str:
    """Text that can be drawn: no escape sequences, no control characters but line ends."""
    return _SEQUENCES.sub("", text).translate(_CONTROLS)


def cells(text: str) -> int:
    """The columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(letter) for letter in text)


def _cells(letter: str) -> int:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2
    return 0 if unicodedata.category(letter) in ("Mn", "Me", "Cf") else 1


def wrap(text: str, width: int, *, most: int | None = None) -> list[str]:
    """The text in lines of at most this width, broken at blanks where that helps."""
    width = max(2, width)
    lines: list[str] = []
    for line in clean(text).split("\n"):
        while cells(line[: 4 * width]) > width:
            cut = _cut(line, width)
            lines.append(line[:cut].rstrip())
            line = line[cut:]
            if most is not None and len(lines) > most:
                return lines
        lines.append(line)
        if most is not None and len(lines) > most:
            return lines
    return lines


def _cut(line: str, width: int) -> int:
    """Where to break a line that is too long: after the last blank of its second half, or at the edge."""
    used = edge = 0
    for letter in line:
        used += _cells(letter)
        if used > width:
            break
        edge += 1
    blank = line.rfind(" ", edge // 2, edge + 1)
    return blank + 1 if blank >= 0 else max(1, edge)


def clip(text: str, width: int) -> str:
    """The first line of a text, cut to a width."""
    line = clean(text[: 4 * width + 4]).split("\n", 1)[0]
    if cells(line) <= width and "\n" not in text:
        return line
    while line and cells(line) > width - 1:
        line = line[:-1]
    return line + "…"


def banner(version: str, model: str, folder: str, width: int) -> list[str]:
    return [
        f"{CYAN} ◆ {RESET}{BOLD}agentd demo{RESET} {DIM}v{version}{RESET}",
        f"{DIM}   {clip(f'{model} · offline · {folder}', width - 4)}{RESET}",
        f"{DIM}   {clip('Type a prompt, or a script: @say, @slow, @tool, @bash, @ask …', width - 4)}{RESET}",
    ]


_MARKS = {
    "prompt": (f"{BOLD}❯{RESET} ", BOLD),
    "reply": ("● ", ""),
    "tool": (f"{GREEN}●{RESET} ", BOLD),
    "error": (f"{RED}●{RESET} ", RED),
}
_UNDER = {"result": "  ⎿  ", "interrupted": "  ⎿  "}


def entry(kind: str, text: str, width: int) -> list[str]:
    """One entry of the transcript. A blank line sets it off, unless it belongs to the one above."""
    under = _UNDER.get(kind)
    if under:
        style = RED if kind == "interrupted" else DIM
        lines = _capped(text, width - 6)
        return [f"{style}{under if i == 0 else '     '}{line}{RESET}" for i, line in enumerate(lines)]
    if kind == "banner":
        return text.split("\n")
    if kind == "notice":
        return ["", *(f"{DIM}  {line}{RESET}" for line in _capped(text, width - 3))]
    mark, style = _MARKS[kind]
    lines = _capped(text, width - 3)
    return ["", *(f"{mark if i == 0 else '  '}{style}{line}{RESET}" for i, line in enumerate(lines))]


def _capped(text: str, width: int) -> list[str]:
    lines = wrap(text[:SHOWN_TEXT], width, most=SHOWN_LINES)
    if len(lines) > SHOWN_LINES or len(text) > SHOWN_TEXT:
        lines = [*lines[:SHOWN_LINES], "…"]
    return lines


def rule(width: int) -> str:
    return f"{DIM}{'─' * width}{RESET}"


def composer(draft: str, width: int, most: int) -> list[str]:
    """The draft, or the placeholder; of a long draft the end, where the cursor is."""
    if not draft:
        hint = clip(PLACEHOLDER, width - 3)
        return [f"❯ {REVERSE}{hint[:1]}{RESET}{DIM}{hint[1:]}{RESET}"]
    lines = wrap(draft, width - 3)[-most:]
    shown = [f"{'❯' if i == 0 else ' '} {line}" for i, line in enumerate(lines)]
    shown[-1] += f"{REVERSE} {RESET}"
    return shown


def footer(left: str, right: str, width: int) -> str:
    """The last line; the right half gives way where there is no room."""
    left = clip(left, width - 3)
    room = width - 4 - cells(left) - cells(right)
    return f"{DIM}  {left}{' ' * room + right if room > 1 else ''}{RESET}"


def prompt_frame(
    width: int,
    height: int,
    *,
    draft: str,
    left: str,
    right: str,
    spinner: str | None = None,
    partial: str = "",
    queued: Sequence[str] = (),
) -> list[str]:
    """The frame with the composer: streamed text, spinner, waiting texts, draft, footer."""
    most = max(1, min(10, height - 8))
    bottom = [rule(width), *composer(draft, width, most), rule(width), footer(left, right, width)]
    top: list[str] = []
    if spinner:
        top += ["", f"{CYAN}{clip(spinner, width - 1)}{RESET}"]
    top += [f"{DIM}  queued: {clip(text, width - 12)}{RESET}" for text in queued[:3]]
    if len(queued) > 3:
        top.append(f"{DIM}  … and {len(queued) - 3} more{RESET}")
    room = height - len(bottom) - len(top) - 3
    if partial and room > 0:
        lines = wrap(partial[-(room + 1) * width :], width - 3)[-room:]
        top = ["", *(f"{'●' if i == 0 else ' '} {line}" for i, line in enumerate(lines)), *top]
    frame = [*top, "", *bottom] if not top else [*top, *bottom]
    return frame[-max(1, height - 1) :]


def dialog_frame(
    width: int, height: int, text: Sequence[str], options: Sequence[str], selected: int, hint: str
) -> list[str]:
    """The frame with a question instead of the composer."""
    lines = [rule(width)]
    for paragraph in text:
        lines += [f" {line}" for line in wrap(paragraph, width - 2, most=max(3, height - 12))]
    for index, option in enumerate(options):
        label = clip(option, width - 4)
        lines.append(f" {CYAN}❯ {label}{RESET}" if index == selected else f"   {label}")
    lines += ["", f"{DIM} {clip(hint, width - 2)}{RESET}"] if hint else []
    return ["", *lines][-max(1, height - 1) :]
