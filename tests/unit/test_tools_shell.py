"""`execute_shell_command` with real processes."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio

from agentd.contract import TimedOut
from agentd.testing.until import until
from agentd.tools.registry import Call, Result, ToolError
from agentd.tools.shell import execute
from tests.unit.tool_calls import Progress, call, living, pids_in


async def shell(tmp_path: Path, command: str, say: Progress | None = None, **more: Any) -> Result:
    return await execute(call(tmp_path, "execute_shell_command", say, command=command, **more))


async def test_output_and_status(tmp_path: Path) -> None:
    assert await shell(tmp_path, "echo out; echo err >&2") == Result("out\nerr\n[exit status 0]")
    assert await shell(tmp_path, "printf half; exit 3") == Result("half\n[exit status 3]")
    assert await shell(tmp_path, "kill -9 $$") == Result("[ended by SIGKILL]")
    assert not list((tmp_path / "own").rglob("*.*")), "nothing is left on disk"


async def test_it_runs_in_the_workspace_with_a_plain_environment(tmp_path: Path) -> None:
    (tmp_path / "work" / "sub").mkdir(parents=True)
    assert (await shell(tmp_path, "pwd")).text == f"{tmp_path}/work\n[exit status 0]"
    assert (await shell(tmp_path, "pwd", cwd="sub")).text == f"{tmp_path}/work/sub\n[exit status 0]"
    assert (await shell(tmp_path, "pwd", cwd="/")).text == "/\n[exit status 0]"
    assert (await shell(tmp_path, "echo $TERM $PAGER; tty; cat")).text.startswith("dumb cat\nnot a tty\n")
    assert f"HOME={tmp_path}" in (await shell(tmp_path, "env")).text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"cwd": "nowhere"}, r"/work/nowhere can't be used: No such file or directory"),
        ({"cwd": "file"}, r"/work/file is no directory"),
        ({"cwd": "file/below"}, r"Not a directory"),
        ({"cwd": "loop"}, r"symbolic links"),
        ({"cwd": "a" * 5000}, r"^.{300,400}… can't be used: File name too long"),
        ({"cwd": "a\0b"}, r"`cwd` has a NUL character"),
        ({"cwd": "\ud800"}, r"`cwd` is no Unicode text"),
        ({"cwd": "\udc80"}, r"`cwd` is no Unicode text"),
        ({"command": "touch ran #\0"}, r"`command` has a NUL character"),
        ({"command": "touch ran # \ud800"}, r"`command` is no Unicode text"),
        ({"command": "touch ran # \udcff"}, r"`command` is no Unicode text"),
        ({"command": "touch ran #" + "x" * 300_000}, r"can't be started: .*Argument list too long"),
        ({"timeout_s": 10**400}, r"`timeout_s` is too large"),
    ],
    ids=lambda value: repr(value)[:30],
)
async def test_what_nothing_can_be_run_with_says_why(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    (work := tmp_path / "work").mkdir()
    (work / "file").touch()
    (work / "loop").symlink_to("loop")
    with pytest.raises(ToolError, match=said) as caught:
        await execute(call(tmp_path, "execute_shell_command", **{"command": "touch ran", **arguments}))
    str(caught.value).encode()
    assert not (work / "ran").exists() and not (tmp_path / "own" / "tools").exists()


async def test_a_limit_as_large_as_can_be(tmp_path: Path) -> None:
    assert (await shell(tmp_path, "echo on", timeout_s=1e308)).text == "on\n[exit status 0]"


async def test_progress_is_what_it_says_as_it_says_it(tmp_path: Path) -> None:
    class Answered(Progress):
        """Each piece lets the command go on."""

        async def __call__(self, progress: float, message: str) -> None:
            await super().__call__(progress, message)
            (tmp_path / "work" / f"heard-{len(self.said)}").touch()

    say, held = Answered(), "until [ -e heard-{} ]; do sleep 0.02; done"
    result = await shell(tmp_path, f"echo one; {held.format(1)}; echo two; {held.format(2)}", say)
    assert result.text == "one\ntwo\n[exit status 0]"
    assert say.said == [(4, "one\n"), (8, "two\n")]


async def test_a_silent_command_makes_no_progress(tmp_path: Path) -> None:
    say = Progress()
    await shell(tmp_path, "sleep 0.6", say)
    assert say.said == []


async def test_a_talkative_command_is_told_in_few_words(tmp_path: Path) -> None:
    say = Progress()
    result = await shell(tmp_path, "seq 1 60000; sleep 0.3", say)
    assert len(say.said) < 10 and all(len(text) <= 2048 for _, text in say.said)
    assert result.text.startswith("1\n2\n") and result.text.endswith("60000\n[exit status 0]")
    [file] = (tmp_path / "own" / "tools").glob("*.out")
    assert file.read_text() == "".join(f"{n}\n" for n in range(1, 60001))
    assert str(file) in result.text and len(result.text) < 128 * 1024 + 300


async def test_the_callers_own_limit(tmp_path: Path) -> None:
    made = call(
        tmp_path, "execute_shell_command", command="echo $$ > p; echo so far; sleep 60", timeout_s=0.5
    )
    with pytest.raises(TimedOut) as caught:
        await execute(made)
    assert str(caught.value) == (
        "TIMEOUT layer=workflow tool=execute_shell_command session=a timeout=500ms: "
        "the caller's own timeout_s passed; the command was ended, with everything below it"
    )
    assert made.so_far() == "so far\n"
    assert not living(pids_in(tmp_path / "work" / "p"))


STUBBORN = """
trap '' TERM HUP INT
(trap '' TERM HUP INT; echo $BASHPID >> pids; while :; do sleep 100; done) &
(trap '' TERM HUP INT; (echo $BASHPID >> pids; exec sleep 1000) & sleep 0.1) &
setsid sh -c 'echo $$ >> pids; trap "" TERM; sleep 1000; sleep 1000' &
echo $$ >> pids; echo started; while :; do sleep 100; done
"""


AWAY = "(setsid sh -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 &)"
"""It has left both its parent and its session."""
DETACHED = f"""{sys.executable} -c "
import subprocess
it = subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=subprocess.DEVNULL)
print(it.pid, file=open('pids', 'a'))
" """
SUPERVISOR = "trap : TERM; while :; do sleep 1000 & echo $! >> pids; wait; done"
HIDDEN = AWAY.replace("sh -c", "env -i sh -c")
"""Its environment doesn't tell whose it is either, as with daemons that write their title over it."""
STUBBORN_AWAY = AWAY.replace("echo", 'trap "" TERM; echo')
ESCAPES = {
    "itself": "echo $$ >> pids; echo started; sleep 1000",
    "stubborn": STUBBORN,
    "double fork": f"{AWAY}; echo $$ >> pids; sleep 1000",
    "stubborn double fork": f"{STUBBORN_AWAY}; echo $$ >> pids; sleep 1000",
    "below a double fork": "(setsid sh -c 'sleep 1000 & echo $! >> pids; wait' &); sleep 1000",
    "detached": f"{DETACHED}; echo $$ >> pids; sleep 1000",
    "supervisor": f"setsid bash -c '{SUPERVISOR}' & sleep 1000",
    "supervisor here": f"bash -c '{SUPERVISOR}' & sleep 1000",
    "supervisor away": f"(setsid bash -c '{SUPERVISOR}' &); sleep 1000",
    "a server's name": "cp $(command -v sleep) tmux; ./tmux 1000 & echo $! >> pids; wait",
    "a name like a server's": "cp $(command -v sleep) screenshot; ./screenshot 1000 & echo $! >> pids; wait",
}
if LINUX := sys.platform == "linux":
    ESCAPES["hidden double fork"] = f"{HIDDEN}; echo $$ >> pids; sleep 1000"


@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES)
async def test_cancelling_leaves_nothing_within_two_seconds(tmp_path: Path, command: str) -> None:
    pids: list[int] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shell, tmp_path, command)
        wanted = command.count(">> pids") + command.count("'pids', 'a'")
        with trio.fail_after(20):
            while len(pids := pids_in(tmp_path / "work" / "pids")) < wanted:
                await trio.sleep(0.02)
        await trio.sleep(0.2)
        assert living(pids) == pids
        before = time.monotonic()
        nursery.cancel_scope.cancel()
    assert time.monotonic() - before < 2
    assert not living(pids_in(tmp_path / "work" / "pids")), "those that a supervisor started since, too"
    assert not list((tmp_path / "own" / "tools").iterdir()), "no mark and no output is left"


@pytest.mark.parametrize("command", [AWAY, DETACHED, *([HIDDEN] if LINUX else [])])
async def test_what_leaves_parent_and_session_ends_with_its_command(tmp_path: Path, command: str) -> None:
    result = await shell(tmp_path, f"{command}; until [ -s pids ]; do sleep 0.01; done")
    assert result.text == "[exit status 0; 1 background process ended with it]"
    [pid] = pids_in(tmp_path / "work" / "pids")
    assert not living([pid])


async def test_a_command_that_kills_its_keeper_ends_with_it(tmp_path: Path) -> None:
    result = await shell(tmp_path, "echo $$ > pids; kill -9 $PPID; sleep 1000")
    assert result.text == "[ended by SIGKILL; 1 background process ended with it]"
    assert not living(pids_in(tmp_path / "work" / "pids"))


async def test_a_process_of_another_call_is_not_touched(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shell, tmp_path, f"{AWAY}; sleep 1000")
        with trio.fail_after(20):
            while not (pids := pids_in(tmp_path / "work" / "pids")):
                await trio.sleep(0.02)
        assert (await shell(tmp_path, "echo on")).text == "on\n[exit status 0]"
        assert living(pids) == pids
        nursery.cancel_scope.cancel()
    assert not living(pids)


@pytest.mark.parametrize("question", ["environ", "ppid", "status"])
async def test_a_background_process_that_ends_just_then_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    ask = getattr(psutil.Process, question)

    def dies(process: psutil.Process) -> Any:
        if process.pid in pids_in(tmp_path / "work" / "pids"):
            process.kill()
            raise psutil.NoSuchProcess(process.pid)
        return ask(process)

    monkeypatch.setattr(psutil.Process, question, dies)
    result = await shell(tmp_path, "sleep 1000 >/dev/null 2>&1 & echo $! > pids")
    assert result.text.startswith("[exit status 0")
    monkeypatch.undo()
    until("it is gone", lambda: not living(pids_in(tmp_path / "work" / "pids")))


async def test_what_runs_on_in_the_background_ends_with_its_command(tmp_path: Path) -> None:
    result = await shell(
        tmp_path, "sleep 1000 & echo $! > p; sleep 1000 >/dev/null 2>&1 & echo $! >> p; echo on"
    )
    assert result.text == "on\n[exit status 0; 2 background processes ended with it]"
    pids = pids_in(tmp_path / "work" / "p")
    assert len(pids) == 2 and not living(pids)


async def test_last_words_of_the_background_are_heard(tmp_path: Path) -> None:
    assert (await shell(tmp_path, "(sleep 0.05; echo late) & echo early")).text.startswith("early\nlate\n")


async def test_it_is_in_a_session_of_its_own(tmp_path: Path) -> None:
    text = (await shell(tmp_path, "echo $$; ps -o sid= -p $$")).text.split()
    assert text[0] == text[1] != str(os.getsid(0))


async def test_its_keeper_leaves_no_trace_in_it(tmp_path: Path) -> None:
    descriptors = "for n in {3..30}; do [ -e /dev/fd/$n ] && echo $n; done"
    signals = "yes | head -n 1; echo ${PIPESTATUS[0]}; (sh -c 'kill $$'; echo $?) 2>/dev/null"
    result = await shell(tmp_path, f"{descriptors}; {signals}")
    assert result.text == "y\n141\n143\n[exit status 0]"


async def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = psutil.Process().num_fds()
    for _ in range(3):
        await shell(tmp_path, "echo on")
        with pytest.raises(ToolError, match="too long"):
            await shell(tmp_path, "x" * 300_000)
        with trio.move_on_after(0.2):
            await shell(tmp_path, "sleep 1000")
    assert psutil.Process().num_fds() == before


async def test_progress_that_nobody_takes_does_not_hold_it_up(tmp_path: Path) -> None:
    async def forever(progress: float, message: str) -> None:
        await trio.sleep_forever()

    plain = call(tmp_path, "execute_shell_command", command="echo one; sleep 0.3; echo two")
    made = Call(plain.id, plain.caller, plain.tool, plain.arguments, forever)
    with trio.fail_after(20):
        assert (await execute(made)).text == "one\ntwo\n[exit status 0]"
