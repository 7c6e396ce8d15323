"""JSON text that is edited in place: what isn't touched keeps its bytes. Pure.

A file of the user's is never written out anew: an entry is put in, and later taken out, as text. Line
comments count as white space, since Cursor strips them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")
_SCALAR = re.compile(r'["\-0-9tfn]')
_decoder = json.JSONDecoder()


class JsonTextError(ValueError):
    """The text isn't JSON, or hasn't the shape that was asked for; says where and why."""


@dataclass(frozen=True)
class Node:
    """A value and where it stands. `names` holds where each member's name begins (objects only)."""

    start: int
    end: int
    value: Any
    """The plain value; of an object with a name twice the last one counts, as everywhere."""
    children: tuple[Node, ...] = ()
    names: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    first: int = field(default=0)
    """Where the first child would stand: right behind the opening bracket and the white space there."""

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, list)

    def member(self, key: str) -> Node | None:
        """The member of this name that counts."""
        places = [place for place, name in enumerate(self.keys) if name == key]
        return self.children[places[-1]] if places else None

    def at(self, path: Sequence[str]) -> Node | None:
        """The node below, by the names on the way."""
        node: Node | None = self
        for key in path:
            node = node.member(key) if node and node.is_object else None
        return node


def parse(text: str) -> Node:
    """The whole text as one value.

    Raises:
        JsonTextError: it isn't JSON.
    """
    try:
        node = _value(text, _skip(text, 0))
    except RecursionError as error:
        raise JsonTextError("it is nested too deeply") from error
    rest = _skip(text, node.end)
    if rest != len(text):
        raise _wrong(text, rest, "nothing more was expected")
    return node


def put_item(text: str, array: Node, value: Any) -> str:
    """The text with one more item at the array's end."""
    return _put(text, array, json.dumps(value))


def put_member(text: str, parent: Node, key: str, value: Any) -> str:
    """The text with one more member at the object's end."""
    return _put(text, parent, f"{json.dumps(key)}: {json.dumps(value)}")


def take_out(text: str, parent: Node, place: int) -> str:
    """The text without this child: the very opposite of a `put` at the end."""
    starts = parent.names or tuple(child.start for child in parent.children)
    if place > 0:
        # With the comma before it; what a comment says behind the last one stays.
        return text[: parent.children[place - 1].end] + text[parent.children[place].end :]
    if len(parent.children) > 1:
        return text[: starts[0]] + text[starts[1] :]
    return text[: starts[0]] + text[parent.children[0].end :]


def _put(text: str, parent: Node, new: str) -> str:
    if not parent.children:
        at = parent.start + 1
        return text[:at] + new + text[at:]
    at = parent.children[-1].end
    gap = text[parent.start + 1 : parent.first]
    return text[:at] + "," + (gap if gap.isspace() else " ") + new + text[at:]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int, what: str) -> JsonTextError:
    line = text.count("\n", 0, at) + 1
    return JsonTextError(f"line {line}: {what}")


def _value(text: str, at: int) -> Node:
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at)
    if opening == "[":
        return _array(text, at)
    if not _SCALAR.match(opening):
        raise _wrong(text, at, "a value is missing")
    try:
        value, end = _decoder.raw_decode(text, at)
    except ValueError as error:
        raise _wrong(text, at, str(error)) from error
    return Node(at, end, value)


def _object(text: str, start: int) -> Node:
    children: list[Node] = []
    names: list[int] = []
    keys: list[str] = []
    at = first = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        if children:
            at = _expect(text, at, ",")
        if text[at : at + 1] != '"':
            raise _wrong(text, at, "a name in quotes is missing")
        name = _value(text, at)
        at = _expect(text, _skip(text, name.end), ":")
        child = _value(text, at)
        names.append(name.start)
        keys.append(name.value)
        children.append(child)
        at = _skip(text, child.end)
    value = {key: child.value for key, child in zip(keys, children, strict=True)}
    return Node(start, at + 1, value, tuple(children), tuple(names), tuple(keys), first)


def _array(text: str, start: int) -> Node:
    children: list[Node] = []
    at = first = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        if children:
            at = _expect(text, at, ",")
        child = _value(text, at)
        children.append(child)
        at = _skip(text, child.end)
    return Node(start, at + 1, [child.value for child in children], tuple(children), first=first)


def _expect(text: str, at: int, mark: str) -> int:
    """Where the text goes on behind this mark."""
    if text[at : at + 1] != mark:
        raise _wrong(text, at, f"{mark!r} is missing")
    return _skip(text, at + 1)
