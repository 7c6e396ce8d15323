"""What a pane shows, as data, and the readings that every CLI's adapter shares. Pure.

The screen is read for what has no record: start-up, dialogs, a draft that is stuck. It never says
that a turn is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agentd.model import Reason

_CSI = re.compile(r"\x1b\[([0-9;:]*)([A-Za-z])")
_OSC = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


@dataclass(frozen=True)
class Screen:
    """A pane's visible lines, as captured with their attributes (`capture-pane -e`), and whether a person
    is attached to it."""

    styled: tuple[str, ...]
    attached: bool = False

    @classmethod
    def captured(cls, lines: Iterable[str], *, attached: bool = False) -> Screen:
        """From a capture, where a line goes on with the attributes that the line before ended with."""
        styled, pen = [], _Pen()
        for line in lines:
            styled.append(pen.codes() + line)
            for match in _CSI.finditer(line):
                if match[2] == "m":
                    pen.change(match[1])
        return cls(tuple(styled), attached)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines as plain text, without trailing blanks."""
        return tuple(plain(line).rstrip() for line in self.styled)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)

    def tail(self, count: int = 12) -> str:
        """The last lines that hold anything: what an error shows a person."""
        return "\n".join([line for line in self.lines if line.strip()][-count:])

    @cached_property
    def digest(self) -> str:
        """The text with spinners, clocks and counters masked: two equal digests mean that nothing
        happened but an idle redraw (contract: "normalised screen")."""
        return normalise(self.text)


def plain(line: str) -> str:
    """A captured line without its escape sequences."""
    return _CSI.sub("", _OSC.sub("", line))


def undimmed(line: str) -> str:
    """A captured line without what is drawn dim or grey: a placeholder or a suggested text is no draft.

    The cell under a drawn cursor is in reverse video; it counts as typed only if its neighbours do,
    so a placeholder's first letter under the cursor is dropped with the rest.
    """
    kept: list[tuple[str, bool]] = []
    pen = _Pen()
    position = 0
    text = _OSC.sub("", line)
    for match in [*_CSI.finditer(text), None]:
        piece = text[position : match.start() if match else len(text)]
        if piece and not pen.dim and not pen.grey:
            kept.append((piece, pen.reverse))
        if match:
            position = match.end()
            if match[2] == "m":
                pen.change(match[1])
    while kept and kept[-1][1] and len(kept[-1][0]) == 1:
        kept.pop()
    return "".join(piece for piece, _ in kept)


class _Pen:
    """What a terminal draws with: the attributes that tell a placeholder from a draft."""

    def __init__(self) -> None:
        self.dim = self.grey = self.reverse = False

    def change(self, parameters: str) -> None:
        """Take in the parameters of one `CSI ... m`."""
        codes = iter(parameters.split(";"))
        for code in codes:
            if code in ("38", "48", "58"):
                # A colour's own numbers follow: they are no attributes.
                form = next(codes, "")
                colour = [next(codes, "") for _ in range({"5": 1, "2": 3}.get(form, 0))]
                if code == "38":
                    self.grey = _is_grey(colour)
            elif code.startswith("38:"):
                parts = [part for part in code.split(":") if part]
                self.grey = _is_grey(parts[2:])
            elif code in ("", "0"):
                self.dim = self.grey = self.reverse = False
            elif code in ("2", "22"):
                self.dim = code == "2"
            elif code in ("7", "27"):
                self.reverse = code == "7"
            elif code == "90" or re.fullmatch(r"3[0-79]|9[1-7]", code):
                self.grey = code == "90"

    def codes(self) -> str:
        """The sequence that sets this pen on a fresh line; empty for the default one."""
        words = [code for code, is_set in (("2", self.dim), ("7", self.reverse), ("90", self.grey)) if is_set]
        return f"\x1b[{';'.join(words)}m" if words else ""


def _is_grey(colour: Sequence[str]) -> bool:
    """Whether a foreground is one of the greys that placeholders are drawn in: of the 256 colours by its
    number, else by its three equal parts."""
    values = [int(part) for part in colour if part.isdigit()]
    if len(values) == 1:
        return values[0] == 8 or 238 <= values[0] <= 249
    return len(values) == 3 and len(set(values)) == 1 and 10 <= values[0] < 200


_MASKS = (
    (re.compile(r"[\u2800-\u28ff✢✳✶✻✽✺·◐◓◑◒⏺●○◌◯]"), "*"),
    (re.compile(r"(?<!\S)[|/\\-](?!\S)"), "*"),
    (re.compile(r"\b\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?\b"), "#"),
    (re.compile(r"\b\d+(?:\.\d+)?\s?(?:ms|s|m|h|secs?|seconds?|mins?|minutes?|hours?)\b"), "#"),
    (re.compile(r"[↑↓⇡⇣]\s*\d[\d.,]*[kKmM]?|\b\d[\d.,]*\s*[kKmM]?\s*(?=tok(?:ens?)?\b)"), "#"),
    (re.compile(r"#(?:\s*#)+"), "#"),
    (re.compile(r"\s+"), " "),
)


def normalise(text: str) -> str:
    """Mask spinner glyphs, clocks and token counters. Any other number is news: a download's percentage, a
    step's count."""
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    return text


@dataclass(frozen=True)
class Option:
    """One line of a dialog that can be chosen."""

    label: str
    number: int | None = None
    key: str | None = None
    """The key that chooses this line at once, where the dialog names one."""


@dataclass(frozen=True)
class Dialog:
    """A question of the CLI to a person.

    `selected` is the index of the preselected option. `approve` and `deny` are the indexes that those
    words mean, or None where the dialog has no such answer. `fixed` names what to do where no key helps.
    """

    reason: Reason
    text: str
    options: tuple[Option, ...] = ()
    selected: int | None = None
    approve: int | None = None
    deny: int | None = None
    approve_keys: tuple[str, ...] = ()
    deny_keys: tuple[str, ...] = ()
    """The keys for either, where the dialog has no line for it."""
    fixed: str | None = None
    completes: tuple[str, ...] = ()
    """It only asks for more about an answer just given: the keys that leave that open."""

    def index_of(self, choice: str) -> int | None:
        """The option that `approve`, `deny` or a number (from 1, in the order shown) means."""
        if choice == "approve":
            return self.approve
        if choice == "deny":
            return self.deny
        if choice.isdigit() and 1 <= int(choice) <= len(self.options):
            wanted = int(choice)
            for index, option in enumerate(self.options):
                if option.number == wanted:
                    return index
            return wanted - 1
        return None


@dataclass(frozen=True)
class Look:
    """What one screen says. `composer` is true where the CLI shows the place to type a prompt;
    `draft` is the text typed there (None: no composer seen, empty: nothing typed)."""

    composer: bool = False
    draft: str | None = None
    folded: bool = False
    """The draft is a placeholder that the CLI shows for a long paste (`[Pasted text #1 +60 lines]`)."""
    busy: bool = False
    dialog: Dialog | None = None
    waiting: tuple[str, ...] = ()
    """Texts that wait inside the CLI: it has them, though no record says so yet. One that it cuts ends
    in `…`."""


@dataclass(frozen=True)
class Menu:
    """The option lines found in a dialog's area."""

    options: tuple[Option, ...]
    selected: int | None
    first_line: int
    last_line: int
    headline: tuple[str, ...] = field(default=())


def find_menu(lines: Sequence[str], marker: str, *, within: int = 40) -> Menu | None:
    """The last block of option lines on the screen of which one carries the selection marker.

    An option is a line that starts with the marker or is indented to the same column as the marked
    one's label; a numbered option keeps its number. Wrapped lines are joined to their option.
    """
    start = max(0, len(lines) - within)
    marked = [i for i in range(start, len(lines)) if re.match(rf"\s*{re.escape(marker)}\s+\S", lines[i])]
    if not marked:
        return None
    at = marked[-1]
    column = re.match(rf"\s*{re.escape(marker)}\s+", lines[at]).end()  # type: ignore[union-attr]
    numbered = bool(re.match(r"\d+\.\s", lines[at][column:]))

    def label(index: int) -> str | None:
        """The option's text on this line, or None where the line is none."""
        line = lines[index]
        lead = line[:column]
        if len(line) <= column or line[column] == " " or lead.replace(marker, " ").strip():
            return None
        if numbered and not re.match(r"\d+\.\s", line[column:]):
            return None
        return line[column:].strip()

    def wrapped(index: int) -> bool:
        """Whether the line is the rest of the option above it."""
        line = lines[index]
        indent = len(line) - len(line.lstrip())
        return bool(line.strip()) and indent > column and marker not in line

    first = index = at
    while index > start and (label(index - 1) is not None or wrapped(index - 1)):
        index -= 1
        if label(index) is not None:
            first = index
    last = at
    while last + 1 < len(lines) and (label(last + 1) is not None or wrapped(last + 1)):
        last += 1
    options: list[Option] = []
    selected = None
    for index in range(first, last + 1):
        text = label(index)
        if text is None:
            if options:
                options[-1] = Option(f"{options[-1].label} {lines[index].strip()}", options[-1].number)
            continue
        if index == at:
            selected = len(options)
        number = re.match(r"(\d+)\.\s+", text)
        options.append(Option(text[number.end() :] if number else text, int(number[1]) if number else None))
    return Menu(tuple(options), selected, first, last, tuple(lines[max(start, first - 14) : first]))
