"""Entries in a user's JSON file: put in beside their own, taken out without a trace."""

from __future__ import annotations

import json

import pytest

from agentd_cursor.jsontext import JsonTextError, parse
from agentd_cursor.merge import Entry, MergeError, is_bare, merge, unmerge

HEAD = {"version": 1}
OURS = {"command": "/opt/python -I -S /opt/hook.py /state", "timeout": 10}
ENTRIES = (Entry(("hooks", "stop"), None, OURS), Entry(("hooks", "sessionStart"), None, OURS))
SERVER = Entry(("mcpServers",), "api-bridge", {"command": "/opt/agentd", "args": ["bridge"]})

FILES = [
    b'{"version": 1}',
    b'{"version": 1,"hooks":{}}',
    b'{ "version" : 1 , "hooks" : { } }\n',
    b'{"version":1,"hooks":{"stop":[]}}',
    b'{"version":1,"hooks":{"stop":[ ]}}',
    b'{\n  "version": 1,\n  "hooks": {\n    "stop": [\n      {"command": "mine"}\n    ]\n  }\n}\n',
    b'{\r\n\t"hooks": {"afterFileEdit": [{"command": "fmt"}]},\r\n\t"version": 1\r\n}',
    b'// of mine\n{\n  "version": 1, // as it must be\n  "hooks": { // none yet\n  }\n}\n',
    '{"version": 1, "note": "\u00e9\u4e2d \\u00e9 \\"//\\"", "hooks": {"stop": [{"command": "x"}]}}'.encode(),
    b'{"version": 1, "hooks": {"stop": [{"command": "a"}]}, "hooks": {"stop": [{"command": "b"}]}}',
]


@pytest.mark.parametrize("before", FILES)
def test_what_is_put_in_comes_out_and_every_byte_is_back(before: bytes) -> None:
    merged = merge(before, ENTRIES, HEAD)
    hooks = parse(merged.data.decode()).value["hooks"]
    assert hooks["stop"][-1] == OURS and hooks["sessionStart"] == [OURS]
    assert merged.added == ENTRIES
    assert unmerge(merged.data, merged.added, merged.made) == before


@pytest.mark.parametrize("before", FILES)
def test_the_users_own_stays_where_it_was(before: bytes) -> None:
    kept = parse(before.decode()).value
    with_ours = parse(merge(before, ENTRIES, HEAD).data.decode()).value
    for event, entries in kept.get("hooks", {}).items():
        assert with_ours["hooks"][event][: len(entries)] == entries
    assert {k: v for k, v in with_ours.items() if k != "hooks"} == {
        k: v for k, v in kept.items() if k != "hooks"
    }


def test_a_new_file_is_laid_out_for_people_and_is_bare_without_ours() -> None:
    merged = merge(None, ENTRIES, HEAD)
    assert json.loads(merged.data) == {"version": 1, "hooks": {"stop": [OURS], "sessionStart": [OURS]}}
    assert merged.data.count(b"\n") > 10
    assert is_bare(unmerge(merged.data, merged.added, merged.made), HEAD)


def test_a_server_beside_others() -> None:
    before = b'{\n  "mcpServers": {\n    "mine": {"url": "https://example.com/mcp"}\n  }\n}\n'
    merged = merge(before, [SERVER], {})
    assert list(json.loads(merged.data)["mcpServers"]) == ["mine", "api-bridge"]
    assert b'"api-bridge"' in merged.data.split(b"\n")[3], "it is set as its neighbours are"
    assert unmerge(merged.data, merged.added, merged.made) == before


def test_what_is_there_already_is_the_users() -> None:
    before = merge(None, ENTRIES, HEAD).data
    merged = merge(before, ENTRIES, HEAD)
    assert merged.data == before and merged.added == ()
    assert unmerge(before, merged.added, merged.made) == before


def test_another_server_of_that_name_is_a_conflict() -> None:
    with pytest.raises(MergeError, match=r"another \"mcpServers\.api-bridge\""):
        merge(b'{"mcpServers": {"api-bridge": {"command": "theirs"}}}', [SERVER], {})


def test_edits_in_between_survive() -> None:
    merged = merge(FILES[5], ENTRIES, HEAD)
    edited = merged.data.replace(b'"mine"', b'"changed"').replace(
        b'"timeout": 10}]', b'"timeout": 10}, {"command": "new"}]'
    )
    left = json.loads(unmerge(edited, merged.added, merged.made))
    assert left["hooks"]["stop"] == [{"command": "changed"}]
    assert left["hooks"]["sessionStart"] == [{"command": "new"}]


def test_what_somebody_took_out_is_no_error() -> None:
    merged = merge(FILES[0], ENTRIES, HEAD)
    assert unmerge(b'{"version": 1, "hooks": {}}', merged.added, merged.made) == b'{"version": 1}'
    assert unmerge(b'{"version": 2}', merged.added, merged.made) == b'{"version": 2}'


def test_the_middle_one_of_three() -> None:
    text = json.dumps({"version": 1, "hooks": {"stop": ["a", OURS, "b"]}}).encode()
    assert json.loads(unmerge(text, ENTRIES[:1], ()))["hooks"]["stop"] == ["a", "b"]
    text = json.dumps({"version": 1, "hooks": {"stop": [OURS, "b"]}}).encode()
    assert json.loads(unmerge(text, ENTRIES[:1], ()))["hooks"]["stop"] == ["b"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "line 1: a value is missing"),
        (b'{"version": 1', r"line 1: ',' is missing"),
        (b'{"version": 1,}', "a name in quotes is missing"),
        (b'{"version": 1}\n}', "line 2: nothing more was expected"),
        (b"\xef\xbb\xbf{}", "a value is missing"),
        (b"\xff", "it isn't UTF-8"),
        (b"[1]", "it holds no JSON object"),
        (b'{"hooks": {}}', r'its "version" isn\'t 1, so Cursor ignores the whole file'),
        (b'{"version": 1, "hooks": []}', r'its "hooks" is no object'),
        (b'{"version": 1, "hooks": {"stop": {}}}', r'its "hooks\.stop" is no array'),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_cursor_would_not_heed_is_left_alone(data: bytes, why: str) -> None:
    with pytest.raises(MergeError, match=why):
        merge(data, ENTRIES, HEAD)


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a': 1}", "01", "nul", '{"a" 1}', "NaN", '"\n"'])
def test_no_json(text: str) -> None:
    with pytest.raises(JsonTextError):
        parse(text)
    with pytest.raises(ValueError):
        json.loads(text, parse_constant=lambda name: json.loads("{"))
