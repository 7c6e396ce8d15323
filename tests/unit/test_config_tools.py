"""`[bridge] tools` and `[tools.custom.NAME]`: what is wrong there is named by file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentd.config import BUILT_IN_TOOLS, ConfigError, load

CUSTOM = '[tools.custom.x]\ncommand = ["x"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[bridge]\ntools = ["execute_shel"]',
            ":2: bridge.tools: no tool is called 'execute_shel'; there are: ",
        ),
        ("[tools.custom.x]\ncommand = []", ":1: tools.custom.x: needs a command"),
        ('[tools.custom."a b"]\ncommand = ["x"]', "a tool's name is a letter, then up to 39 of"),
        ('[tools.custom.list_sub_agents]\ncommand = ["x"]', "agentd has a tool of that name"),
        (
            CUSTOM + 'input_schema = { type = "array" }',
            ":3: tools.custom.x.input_schema: a tool's arguments are",
        ),
        (CUSTOM + "input_schema = { required = 1 }", ":3: tools.custom.x.input_schema: is no JSON schema: "),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert said in str(caught.value)


@pytest.mark.parametrize("value", ["2024-01-01", "10:00:00", "2024-01-01T10:00:00Z", "inf", "-inf", "nan"])
@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("input_schema = {{ properties = {{ d = {{ default = {} }} }} }}", ":3: {}properties.d.default: "),
        ("input_schema = {{ enum = [1, {}] }}", ":3: {}enum.1: "),
        (
            "[tools.custom.x.input_schema.properties.d]\nminimum = 1\nmaximum = {}",
            ":5: {}properties.d.maximum: ",
        ),
    ],
)
def test_a_schema_that_json_can_not_say_is_refused(
    tmp_path: Path, value: str, where: str, place: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(CUSTOM + where.format(value))
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(str(path) + place.format("tools.custom.x.input_schema."))
    assert "JSON has no value" in str(caught.value)


def test_what_is_right_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        f"[bridge]\ntools = {[*BUILT_IN_TOOLS, 'x']!r}\n{CUSTOM}input_schema = {{ required = ['a'] }}"
    )
    config = load(path)
    assert config.bridge_tools == (*BUILT_IN_TOOLS, "x")
    assert config.custom_tools["x"].input_schema == {"required": ["a"]}
