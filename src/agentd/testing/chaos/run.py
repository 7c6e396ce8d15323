"""A run: let the plan happen, wait until everything is quiet, and judge."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from agentd.testing import processes
from agentd.testing.chaos import callers, disk, faults
from agentd.testing.chaos.observed import Record, Stored
from agentd.testing.chaos.plan import FAULTS, Plan, Step
from agentd.testing.chaos.rules import Judge, log_is_clean
from agentd.testing.chaos.watch import Watch
from agentd.testing.chaos.world import ChaosDaemon, World
from agentd.testing.until import until

QUIET_S = 150.0
"""How long it may take after the last fault until nothing is open any more: a message that neither the record
nor the screen shows is given up after 30 s, and may have waited for another one."""
CALM = ("ready", "retired", "stopped", "lost", "failed")
PROBE_S = 60.0
ENDED_S = 20.0
SHOWN = 160
"""How many lines of the history a report shows."""


@dataclass
class Report:
    """What a run came to."""

    plan: Plan
    broken: list[str]
    history: list[str]
    log: str
    counts: str

    def __str__(self) -> str:
        if not self.broken:
            return f"ok: {self.plan}\n    {self.counts}"
        parts = [f"BROKEN: {self.plan}", f"    {self.counts}", *(f"  - {rule}" for rule in self.broken)]
        parts += ["the history:", *self.history[-SHOWN:], "the daemon's log:", self.log[-6000:]]
        parts += [f"again: scripts/chaos --seed {self.plan.seed} --seconds {self.plan.seconds:g}"]
        parts[-1] += f" --agents {len(self.plan.agents)}"
        return "\n".join(parts)


def run(plan: Plan, keep: Path | None = None) -> Report:
    """Run a plan. The daemon's whole folder is copied to `keep` if a rule is broken."""
    config = f'[adapters.demo]\nargs = {list(plan.demo)!r}\n[bridge]\ntools = ["{callers.SHELL}"]\n'.replace(
        "'", '"'
    )
    daemon = ChaosDaemon(config + f'[retention]\nidle = "{plan.retention}"\n')
    daemon.env[disk.VARIABLE] = str(daemon.root)
    world = World(plan, daemon)
    log = ""
    try:
        with daemon:
            world.start = time.time()
            before = _files(daemon.work), _files(daemon.home)
            try:
                _happen(world)
            except AssertionError as error:
                world.breaks(str(error))
            if (_files(daemon.work), _files(daemon.home)) != before:
                world.breaks(f"the user's files were changed: {before} {_files(daemon.work)}")
            log = daemon.log.read_text()
            for rule in log_is_clean(log):
                world.breaks(rule)
            if world.broken and keep:
                shutil.copytree(daemon.root, keep / f"seed-{plan.seed}", dirs_exist_ok=True, ignore=_sockets)
    except AssertionError as error:
        world.breaks(f"at the end: {error}")
    return Report(plan, world.broken, [str(line) for line in world.lines], log, _counts(world))


def _happen(world: World) -> None:
    with Watch(world):
        threads = []
        for step in world.plan.steps:
            time.sleep(max(0.0, world.start + step.at - time.time()))
            if world.broken:
                break
            thread = threading.Thread(target=_step, args=(world, step), name=str(step))
            thread.start()
            threads.append(thread)
        end = time.monotonic() + callers.LONGEST_S + 30
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                world.breaks(f"the step never ended: {thread.name}")
        until("everything is quiet", lambda: all(_quiet(world) for _ in range(3)), QUIET_S)
        for rule in Judge(world).everything():
            world.breaks(rule)
    _afterwards(world)


def _step(world: World, step: Step) -> None:
    world.say(str(step), step)
    try:
        if step.deed in FAULTS:
            faults.happen(world, step)
        else:
            {"send": callers.send, "tool": callers.tool, "bridge": callers.bridge, "person": callers.person,
             "window": callers.window}.get(step.deed, callers.command)(world, step)  # fmt: skip
    except Exception:
        world.breaks(f"the step {step} failed:\n{traceback.format_exc()}")


def _quiet(world: World) -> bool:
    """Whether nothing is open, and nothing runs."""
    time.sleep(0.4)
    for agent in world.agents():
        if agent["state"] == "working" and _silent(world, agent["name"]):
            # It was told to work for ever, by a message that nobody waits for.
            world.daemon.run("interrupt", agent["name"])
        if agent["state"] not in CALM or agent["turn"] or agent["queued"]:
            return False
    return all(row.outcome for row in Stored(world.daemon.state / "agentd.db").messages())


def _silent(world: World, name: str) -> bool:
    turns = list(Record(world.daemon.state / "agents" / name / "demo-record.jsonl").turns.values())
    rows = Stored(world.daemon.state / "agentd.db").messages()
    return bool(turns and "@silence" in turns[-1].text) and all(
        row.outcome for row in rows if row.agent == name
    )


def _afterwards(world: World) -> None:
    """An agent that is there takes the next prompt; a stop leaves nothing but what a person opened."""
    daemon = world.daemon
    agents = {agent["name"]: agent for agent in world.agents()}
    for name, agent in agents.items():
        done = daemon.run("send", "demo", "--name", name, f"@say PROBE {name}", timeout=PROBE_S)
        if done.stdout != f"PROBE {name}\n":
            world.breaks(f"{name}, which was {agent['state']}, doesn't answer: {done} {daemon.has(name)}")
    stopped = daemon.run("stop", "--all", "--json", timeout=PROBE_S)
    if stopped.code:
        world.breaks(f"`stop --all` of {sorted(agents)}: {stopped}")
    if any(agent["state"] != "stopped" or agent["pid"] for agent in world.agents()):
        world.breaks(f"after `stop --all`: {world.agents()}")
    for window in world.windows:
        taken = world.cause(window.agent, window.opened, time.time(), ("kill_session", "kill_tmux"))
        if not taken and not processes.alive(window.pid):
            world.breaks(f"a person's window beside {window.agent} is gone")
    for session in daemon.tmux("list-sessions", "-F", "#{session_name}").split() if daemon.tmux.runs else ():
        if not (world.windows and "-left-" in session):
            world.breaks(f"after `stop --all`: the tmux session {session} is left")
        daemon.tmux("kill-session", "-t", f"={session}")
    until(
        "nothing but the daemon is left",
        lambda: [process.pid for process in processes.belonging_to(daemon.root)] == [daemon.pid],
        ENDED_S,
    )


def _files(folder: Path) -> dict[str, str]:
    """The files of the user's, by their contents."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [
        name for name in names if not (Path(folder) / name).is_file() and not (Path(folder) / name).is_dir()
    ]


def _counts(world: World) -> str:
    """How much happened: outcomes as the callers were told, and faults."""
    found: dict[str, int] = {}
    for call in world.calls:
        what = str((call.told or {}).get("outcome") or (f"exit {call.done.code}" if call.done else "killed"))
        found[what] = found.get(what, 0) + 1
    for trouble in world.troubles:
        found[trouble.what] = found.get(trouble.what, 0) + 1
    return ", ".join(f"{count} {what}" for what, count in sorted(found.items()))
