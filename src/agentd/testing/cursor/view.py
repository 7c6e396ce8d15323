"""What the simulator shows, as lines of text with their attributes. Pure.

The layout is the one that others captured: the composer's row begins with an arrow, its placeholder is dim
with the first letter in reverse video (the program draws its cursor itself), and a dialog takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentd.demo.view import BOLD, DIM, RED, RESET, REVERSE, cells, clean, clip, wrap
from agentd.testing.cursor.builds import Build
from agentd.testing.cursor.dialogs import Question

FIRST, NEXT = "Plan, search, build anything", "Add a follow-up"
STOP = "ctrl+c to stop"
SHOWN_LINES = 60
LOGIN = "Press any key to log in..."
TRUSTING = "⏳ Trusting workspace..."
REJECTION = "Reason for rejection (Enter to submit, Esc to cancel)"

_DARK = "\x1b[48;2;24;24;24m"
_BLOCK = "\x1b[48;2;40;40;44m"
_EDGE = "\x1b[38;2;24;24;24m"
_VIOLET = "\x1b[38;2;160;130;240m"
_PLAIN_BACK = "\x1b[49m"


def banner(build: Build, width: int) -> list[str]:
    tip = [f"  {DIM}{line}{RESET}" for line in wrap(f"Tip: {build.tip}", width - 4)]
    return ["", "  Cursor Agent", f"  {DIM}v{build.name}{RESET}", *tip]


def entry(kind: str, text: str, width: int) -> list[str]:
    """One entry of the chat."""
    if kind == "banner":
        return text.split("\n")
    if kind == "prompt":
        lines = ["", *_capped(text, width - 7), ""]
        return [
            "",
            *(f" {_BLOCK} {line}{' ' * max(0, width - 3 - cells(line))}{_PLAIN_BACK}" for line in lines),
        ]
    if kind == "tool":
        first, *rest = _capped(text, width - 6)
        return ["", f"  {first}", *(f"    {DIM}{line}{RESET}" for line in rest)]
    style = {"error": RED, "notice": DIM}.get(kind, "")
    return ["", *(f"  {style}{line}{RESET if style else ''}" for line in _capped(text, width - 4))]


def _capped(text: str, width: int) -> list[str]:
    lines = wrap(text[: SHOWN_LINES * 200], width, most=SHOWN_LINES)
    return lines if len(lines) <= SHOWN_LINES else [*lines[:SHOWN_LINES], "…"]


def composer(
    build: Build, width: int, *, draft: str, placeholder: str, busy: bool = False, live: bool = True
) -> list[str]:
    """The composer with its frame. `live`: the cursor is in it."""
    inner = width - 3
    rows = wrap(draft, inner - 20)[-build.most_rows :] if draft else []
    shown = [
        _row(
            f"{'→ ' if i == 0 and len(rows) < build.most_rows else '  '}{line}",
            inner,
            cursor=live and i + 1 == len(rows),
        )
        for i, line in enumerate(rows)
    ]
    if not draft:
        first = f"{RESET}{REVERSE}{_DARK}{placeholder[0]}{RESET}{DIM}{_DARK}" if live else placeholder[0]
        hint = f"{DIM}{STOP}{RESET}{_DARK}" if busy else ""
        room = max(1, inner - 3 - len(placeholder) - (len(STOP) + 1 if busy else 0))
        shown = [f" {_DARK} {DIM}→ {first}{placeholder[1:]}{RESET}{_DARK}{' ' * room}{hint} {_PLAIN_BACK}"]
    elif busy:
        shown[0] = _row(("→ " + rows[0])[: inner - 20], inner, hint=True, cursor=live and len(rows) == 1)
    if build.ruled:
        return [f" {_EDGE}{'▄' * (width - 2)}\x1b[39m", *shown, f" {_EDGE}{'▀' * (width - 2)}\x1b[39m"]
    blank = f" {_DARK}{' ' * inner}{_PLAIN_BACK}"
    return [blank, *shown, blank]


def _row(text: str, inner: int, *, hint: bool = False, cursor: bool = False) -> str:
    mark = f"{REVERSE} {RESET}{_DARK}" if cursor else " "
    end = f"{DIM}{STOP}{RESET}{_DARK} " if hint else ""
    room = max(0, inner - 2 - cells(text) - (len(STOP) + 1 if hint else 0))
    return f" {_DARK} {text}{mark}{' ' * room}{end}{_PLAIN_BACK}"


def footer(model: str, folder: str, width: int, *, used: str = "", everything: bool = False) -> list[str]:
    left = f"{model} · {used}" if used else model
    right = "Run Everything" if everything else ""
    room = max(1, width - 4 - len(left) - len(right))
    return [
        f"  {DIM}{left}{RESET}{' ' * room}{right}",
        *(f"  {DIM}{x}{RESET}" for x in wrap(folder, width - 4)),
    ]


def spinner(verb: str, tokens: int) -> list[str]:
    return ["", f" ⠴⠦ {BOLD}{verb}{RESET}" + (f"  {tokens} tokens" if tokens else "")]


def follow_ups(texts: Sequence[str], width: int) -> list[str]:
    """What waits for the running turn: what is typed now may go there."""
    rule = "─" * max(1, width - 20)
    lines = [f" ┌─ follow-ups {rule}", *(f" │ ○ {clip(text, width - 10)}" for text in texts[:2])]
    hidden = f"+{sum(text.count(chr(10)) for text in texts)} more lines · "
    return ["", *lines, f" │ {hidden}enter send now · ↑ select/edit · esc cancel", f" └{rule}─────────────"]


def question(build: Build, asked: Question, marked: int, width: int) -> list[str]:
    """A dialog in the composer's place."""
    rows = [
        _choice(clip(row.label, width - len(row.hint) - 16), row.hint, place == marked)
        for place, row in enumerate(asked.shown_rows(build))
    ]
    headline = [f" {BOLD}{_VIOLET}{asked.headline}{RESET}"]
    note = [f" {DIM}{clip(asked.note, width - 10)}{RESET}"] if asked.note else []
    if asked.boxed and not asked.detail:
        return ["", *box([*headline, *note, "", *rows], width)]
    detail = [f" {clip(line, width - 6)}" for line in asked.detail]
    top = box(detail, width) if asked.boxed else [f"{_VIOLET}{'─' * (width - 1)}\x1b[39m", *detail]
    return ["", *top, "", *headline, *note, *rows]


def _choice(label: str, hint: str, marked: bool) -> str:
    if marked:
        return f"  {_VIOLET}→ {BOLD}{label}{RESET}{_VIOLET} ({hint})\x1b[39m"
    return f"    {label} ({hint})"


def box(lines: Sequence[str], width: int, corners: str = "┌┐└┘") -> list[str]:
    """The lines within a frame."""
    inner = width - 6
    lines = [line if cells(clean(line)) <= inner else clip(clean(line), inner) for line in lines]
    return [
        f" {corners[0]}{'─' * inner}{corners[1]}",
        *(f" │{line}{' ' * max(0, inner - cells(clean(line)))}│" for line in lines),
        f" {corners[2]}{'─' * inner}{corners[3]}",
    ]


def trust(
    folder: str, servers: Sequence[str], marked: int, width: int, *, trusting: bool = False
) -> list[str]:
    """The question about the workspace; with servers of the project there is a way to trust without them."""
    rows = [label for label, _ in trust_rows(servers)]
    lines = [
        "",
        "  ⚠ Workspace Trust Required",
        "",
        "  The agent will read files here, and run code.",
        *(["  The MCP servers of this workspace will be started too."] if servers else []),
        "",
        "  Do you trust the contents of this directory?",
        "",
        *(f"    {line}" for line in wrap(folder, width - 14)),
        "",
        "",
        *(f"  {'▶' if place == marked else ' '} {row}" for place, row in enumerate(rows)),
        "",
        "  Arrows move, Enter takes the marked line; its key does both",
        "",
    ]
    return [*box(lines, width, "╭╮╰╯"), *(["", f"  {TRUSTING}"] if trusting else [])]


def trust_rows(servers: Sequence[str]) -> list[tuple[str, str]]:
    rows = [("[a] Trust this workspace", "a")]
    if servers:
        rows.append(("[w] Trust this workspace, but don't enable all MCP servers", "w"))
    return [*rows, ("[q] Quit", "q")]
