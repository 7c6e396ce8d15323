"""Entries that are put into a user's JSON file beside their own, and taken out again. Pure, on bytes.

What was put in is remembered exactly, so that only that is ever taken out: an entry that was there
before is the user's, whatever it looks like.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentd_cursor.jsontext import JsonTextError, Node, parse, put_item, put_member, take_out


class MergeError(ValueError):
    """The file can't be added to; says why, without its name."""


class Entry(NamedTuple):
    """One thing to put in: `key` names a member of the object at `path`; None adds an item to the array."""

    path: tuple[str, ...]
    key: str | None
    value: Any

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Entry:
        path, key, value = data
        return cls(tuple(path), key, value)


@dataclass(frozen=True)
class Merged:
    """The file with the entries. `added` are those that weren't there; `made` the containers that had to
    be made for them, outermost first."""

    data: bytes
    added: tuple[Entry, ...] = ()
    made: tuple[tuple[str, ...], ...] = ()


def merge(data: bytes | None, entries: Sequence[Entry], head: Mapping[str, Any]) -> Merged:
    """The file (None: there is none) with these entries. `head` is what such a file must hold to count.

    Raises:
        MergeError: it doesn't parse, or Cursor would not heed it. The latter isn't mended: hooks that their
            owner knows as switched off would begin to run.
    """
    text = json.dumps(dict(head)) if data is None else _text(data)
    root = _root(text)
    for name, wanted in head.items():
        if root.value.get(name) != wanted:
            raise MergeError(f'its "{name}" isn\'t {json.dumps(wanted)}, so Cursor ignores the whole file')
    added: list[Entry] = []
    made: list[tuple[str, ...]] = []
    for entry in entries:
        text = _make(text, entry, made)
        holder = _at(text, entry.path)
        if _has(holder, entry):
            continue
        if entry.key is None:
            text = put_item(text, holder, entry.value)
        else:
            text = put_member(text, holder, entry.key, entry.value)
        added.append(entry)
    if data is None:
        # A file of our own is laid out for people.
        text = json.dumps(parse(text).value, indent=2) + "\n"
    return Merged(text.encode(), tuple(added), tuple(made))


def unmerge(data: bytes, added: Sequence[Entry], made: Sequence[Sequence[str]]) -> bytes:
    """The file without what was put in. What somebody else has taken out already is no error.

    Raises:
        MergeError: it doesn't parse any more.
    """
    text = _text(data)
    _root(text)
    for entry in reversed(added):
        holder = parse(text).at(entry.path)
        place = _place(holder, entry) if holder else None
        if holder and place is not None:
            text = take_out(text, holder, place)
    for path in reversed(made):
        root = parse(text)
        node, parent = root.at(path), root.at(path[:-1])
        if node and parent and node.value in ([], {}):
            place = max(place for place, key in enumerate(parent.keys) if key == path[-1])
            text = take_out(text, parent, place)
    return text.encode()


def is_bare(data: bytes, head: Mapping[str, Any]) -> bool:
    """Whether a file that we made holds nothing of anybody's."""
    try:
        value = parse(data.decode()).value
    except (JsonTextError, UnicodeDecodeError):
        return False
    if not isinstance(value, dict):
        return False
    return all(value[key] == head.get(key) or value[key] in ([], {}) for key in value)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise MergeError(f"it isn't UTF-8 ({error.reason} at byte {error.start})") from error


def _root(text: str) -> Node:
    try:
        root = parse(text)
    except JsonTextError as error:
        raise MergeError(f"it isn't valid JSON ({error})") from error
    if not root.is_object:
        raise MergeError("it holds no JSON object")
    return root


def _at(text: str, path: Sequence[str]) -> Node:
    node = parse(text).at(path)
    assert node is not None  # `_make` has made it
    return node


def _make(text: str, entry: Entry, made: list[tuple[str, ...]]) -> str:
    """The text with every container on the entry's way."""
    for depth in range(1, len(entry.path) + 1):
        path = entry.path[:depth]
        array = depth == len(entry.path) and entry.key is None
        node = parse(text).at(path)
        if node is None:
            text = put_member(text, _at(text, path[:-1]), path[-1], [] if array else {})
            made.append(path)
        elif not (node.is_array if array else node.is_object):
            raise MergeError(f'its "{".".join(path)}" is no {"array" if array else "object"}')
    return text


def _has(holder: Node, entry: Entry) -> bool:
    if entry.key is None:
        return entry.value in holder.value
    if entry.key in holder.value and holder.value[entry.key] != entry.value:
        raise MergeError(f'it has another "{".".join((*entry.path, entry.key))}" already')
    return entry.key in holder.value


def _place(holder: Node, entry: Entry) -> int | None:
    """Where the entry stands among the holder's children: the last one, as it was put at the end."""
    names = holder.keys or (None,) * len(holder.children)
    places = [
        place
        for place, (name, child) in enumerate(zip(names, holder.children, strict=True))
        if (name, child.value) == (entry.key, entry.value)
    ]
    return places[-1] if places else None
