"""How Cursor's CLI is examined and started, and what it needs in the workspace."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentd.adapter import Adapter, BridgeCommand, LaunchRequest, Program, Unsupported
from agentd.contract import Policy
from agentd_cursor import LEDGER, Cursor, hook
from agentd_cursor.launch import EVENTS, mcp_file
from agentd_cursor.workspace import WorkspaceError

CHAT = "3f1c8d2e-9a44-4b17-9c0e-2b6a1d7e4f88"
HELP = "  --resume [chatId]\n  --model <model>\n  --workspace <path>  folder\n  --trust\n  --force\n"
OLD_HELP = HELP.replace("--workspace", "--somewhere")


def program(version: str = "2026.09.26-0123abc", help: str = HELP) -> Program:
    return Program(("/home/me/.local/bin/cursor-agent",), version, help)


@pytest.fixture
def request_(tmp_path: Path) -> LaunchRequest:
    home, work, folder = tmp_path / "home", tmp_path / "home" / "work", tmp_path / "state" / "agents" / "one"
    for place in (home / ".cursor", work, folder):
        place.mkdir(parents=True)
    return LaunchRequest(
        agent="one",
        program=program(),
        cwd=work,
        folder=folder,
        hook=("python", "-I", "-S", "hook.py", str(folder / "spool-1.jsonl")),
        spool=folder / "spool-1.jsonl",
        policy=Policy(),
        home=home,
        environment={},
        new_session="7b1c8d2e-9a44-4b17-9c0e-2b6a1d7e4f88",
    )


def bridged(request: LaunchRequest) -> LaunchRequest:
    return replace(request, bridge=BridgeCommand(("/bin/agentd", "bridge"), {"AGENTD_AGENT": request.agent}))


def test_it_is_an_adapter() -> None:
    assert isinstance(Cursor(), Adapter)
    assert Cursor().native_timeout is None, "the CLI documents no limit for an MCP call"
    assert Cursor().command == ("cursor-agent",)


# The program -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2026.09.26-dd00aa1", "2026.06.15-01-02-03-0123abc", "2026.07.16-x"])
def test_a_build(version: str) -> None:
    facts = Cursor().examine(program(version))
    assert facts["build"] == [int(part) for part in version[:10].split(".")]
    assert ("advice" in facts) == (version < "2026.07.16")


@pytest.mark.parametrize("version", ["1.4.0", "agent 2026.09.26-x", "2026.09.26", "", "0.171.0 (codex)"])
def test_another_tool_called_agent(version: str) -> None:
    with pytest.raises(Unsupported, match="isn't the Cursor CLI"):
        Cursor().examine(program(version))


def test_a_build_that_is_too_old() -> None:
    with pytest.raises(
        Unsupported, match=r"2026\.05\.07-x isn't supported: agentd needs 2026\.05\.20 or newer"
    ):
        Cursor().examine(program("2026.05.07-x"))


def test_a_build_without_a_flag_that_is_needed() -> None:
    with pytest.raises(Unsupported, match="doesn't list --resume"):
        Cursor().examine(program(help="  --model <model>\n"))


# The command line --------------------------------------------------------------------------------


def test_a_new_chat(request_: LaunchRequest) -> None:
    launch = Cursor().launch(request_)
    assert launch.argv == (*request_.program.argv, "--workspace", str(request_.cwd))
    assert launch.session_id is None, "the CLI makes up the id"
    assert launch.env == {hook.SPOOL: str(request_.folder / "spool-1.jsonl")}
    assert launch.search and not launch.files


def test_an_old_chat_with_a_model_and_the_users_own_flags(request_: LaunchRequest) -> None:
    launch = Cursor().launch(replace(request_, resume=CHAT, model="gpt-5", args=("--force",)))
    rest = ["--resume", CHAT, "--model", "gpt-5", "--workspace", str(request_.cwd), "--force"]
    assert launch.argv == (*request_.program.argv, *rest)
    assert launch.session_id == CHAT


def test_only_flags_that_help_names(request_: LaunchRequest) -> None:
    launch = Cursor().launch(replace(request_, program=program(help=OLD_HELP)))
    assert launch.argv == request_.program.argv


def test_an_id_that_is_none_resumes_nothing(request_: LaunchRequest) -> None:
    for wrong in ("--force", "latest", CHAT + "x", ""):
        launch = Cursor().launch(replace(request_, resume=wrong))
        assert "--resume" not in launch.argv and launch.session_id is None


def test_no_policy_of_its_own(request_: LaunchRequest) -> None:
    for request in (request_, bridged(request_), replace(request_, resume=CHAT)):
        flags = {word for word in Cursor().launch(request).argv if word.startswith("-")}
        assert flags <= {"--resume", "--model", "--workspace"}


def test_nothing_of_an_outer_agent() -> None:
    assert {"CI", "CURSOR_AGENT", "CURSOR_CONVERSATION_ID", hook.SPOOL} <= set(Cursor().variables)


# The workspace -----------------------------------------------------------------------------------


def test_prepare_and_release(request_: LaunchRequest) -> None:
    cursor, work = Cursor(), request_.cwd
    cursor.prepare(bridged(request_))
    hooks = json.loads((work / ".cursor" / "hooks.json").read_text())
    assert set(hooks["hooks"]) == set(EVENTS) and hooks["version"] == 1
    [entry] = hooks["hooks"]["stop"]
    state = str(request_.folder.parent)
    assert shlex.split(entry["command"]) == [sys.executable, "-I", "-S", hook.__file__, state]
    assert "//" not in entry["command"], "Cursor would take it for a comment"
    assert (request_.folder.parent / LEDGER).is_file()
    servers = json.loads((work / ".cursor" / "mcp.json").read_text())["mcpServers"]
    assert servers == {
        "api-bridge": {
            "type": "stdio",
            "command": "/bin/agentd",
            "args": ["bridge"],
            "env": {"AGENTD_AGENT": "${env:AGENTD_AGENT}"},
        }
    }, "the same for every agent, and without a time limit"
    launch = Cursor().launch(bridged(request_))
    assert launch.env["AGENTD_AGENT"] == "one" and launch.await_bridge
    cursor.release("one", request_.folder)
    assert list(work.iterdir()) == []


def test_two_agents_of_a_workspace_share_one_entry(request_: LaunchRequest) -> None:
    cursor = Cursor()
    other = replace(request_, agent="two", folder=request_.folder.with_name("two"))
    cursor.prepare(bridged(request_))
    before = (request_.cwd / ".cursor" / "mcp.json").read_bytes()
    cursor.prepare(bridged(other))
    assert (request_.cwd / ".cursor" / "mcp.json").read_bytes() == before
    cursor.release("one", request_.folder)
    assert (request_.cwd / ".cursor" / "mcp.json").read_bytes() == before
    cursor.release("two", other.folder)
    assert list(request_.cwd.iterdir()) == []


def test_the_users_global_files_are_not_touched(request_: LaunchRequest) -> None:
    home = request_.home
    with pytest.raises(WorkspaceError, match="Cursor's own global file"):
        Cursor().prepare(replace(request_, cwd=home))
    (request_.cwd / ".cursor").symlink_to(home / ".cursor")
    with pytest.raises(WorkspaceError, match="Cursor's own global file"):
        Cursor().prepare(request_)
    assert list((home / ".cursor").iterdir()) == []


def test_the_projects_own_mcp_file_is_found_upwards(tmp_path: Path) -> None:
    home, root = tmp_path, tmp_path / "src" / "project"
    deep = root / "packages" / "one"
    deep.mkdir(parents=True)
    above = root / ".cursor" / "mcp.json"
    above.parent.mkdir()
    above.write_text("{}")
    assert mcp_file(deep, home) == deep / ".cursor" / "mcp.json", "outside of a repository"
    (root / ".git").mkdir()
    assert mcp_file(deep, home) == above
    assert mcp_file(root, home) == above
    above.unlink()
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text("{}")
    assert mcp_file(deep, home) == deep / ".cursor" / "mcp.json", "never the user's global one"


# Records without hooks ---------------------------------------------------------------------------


def test_the_transcript_is_found_by_the_open_chat(tmp_path: Path) -> None:
    home = tmp_path / ".cursor"
    other = "00000000-9a44-4b17-9c0e-2b6a1d7e4f88"
    stores = [home / "chats" / "d41d8cd98f00b204e9800998ecf8427e" / id / "store.db" for id in (CHAT, other)]
    for store in stores:
        store.parent.mkdir(parents=True)
        store.touch()
    find = Cursor().records
    assert find([*stores, Path("/dev/null")], {}) == {}
    transcripts = home / "projects" / "some-slug" / "agent-transcripts"
    path = transcripts / CHAT / f"{CHAT}.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    assert find(stores, {"chat": CHAT}) == {"transcript": path}
    assert find(stores, {"transcript": "/named/by/a/hook.jsonl"}) == {
        "transcript": Path("/named/by/a/hook.jsonl")
    }
    flat = transcripts / f"{other}.jsonl"
    flat.touch()
    assert find([stores[1]], {}) == {"transcript": flat}, "older builds"
    assert find([], {}) == {}


# The prompt --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pasted"),
    [
        ("hello", "hello"),
        ("/help", " /help"),
        ("!ls", " !ls"),
        ("& more", " & more"),
        ("@say hi", " @say hi"),
        ("?", " ?"),
        ("exit", "\u2800exit"),
        (" Quit \n", "\u2800Quit \n"),
        ("exit now", "exit now"),
        ("a\\", "a\\ "),
        ("look at @src/app.py", "look at @src/app.py "),
        ("mail a@b", "mail a@b"),
        ("# heading", "# heading"),
    ],
)
def test_text_arrives_as_text(text: str, pasted: str) -> None:
    cursor = Cursor()
    assert cursor.guard(text, raw=False) == pasted
    assert cursor.guard(text, raw=True) == text
    assert cursor.same_prompt(pasted, text) and cursor.same_prompt(pasted, pasted.strip())


def test_other_prompts_are_other_prompts() -> None:
    assert not Cursor().same_prompt("one", "two")
    assert Cursor().same_prompt("caf\u00e9\tau lait", "cafe\u0301 au\nlait")
