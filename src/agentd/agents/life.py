"""An agent's life on disk: its row in the store, its folder, and what its records have said so far."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentd.adapter import Adapter, Reader
from agentd.agents.memory import Memory, from_json, to_json
from agentd.model import Event, Kind
from agentd.records.output import OutputTail
from agentd.records.tail import Tail
from agentd.records.watch import FileWatcher
from agentd.store import AgentRow, Store
from agentd.tmux.terminal import PaneRef

HOOK, OUTPUT = "hook", "output"


@dataclass
class Life:
    """Everything about one agent that a restarted daemon needs to go on with it."""

    row: AgentRow
    folder: Path
    memory: Memory = field(default_factory=Memory)
    pane: PaneRef | None = None
    reader_memory: dict[str, Any] = field(default_factory=dict)
    tails: dict[str, Tail | OutputTail] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    default: bool = True
    """It is its provider's agent for its directory, named by agentd."""
    run: int = 0
    """How many times its CLI was started: each start has a spool of its own, so that a late hook of a
    dead process can't speak for the living one."""
    search: bool = False
    """Its records must be searched among the files that its processes hold open."""
    await_bridge: bool = False
    """Its first prompt is to wait for the bridge. Counts while the CLI is started."""
    token: str | None = None
    """The digest of its bridge's token; None where its CLI has no bridge, or doesn't run."""

    @classmethod
    def load(cls, row: AgentRow, folder: Path) -> Life:
        """The life as the store has it."""
        life = row.life
        return cls(
            row,
            folder,
            from_json(life["memory"]) if "memory" in life else Memory(),
            PaneRef.from_json(life["pane"]) if life.get("pane") else None,
            life.get("reader", {}),
            {name: _tail(tail) for name, tail in life.get("tails", {}).items()},
            tuple(life.get("args", ())),
            life.get("default", True),
            life.get("run", 0),
            life.get("search", False),
            token=life.get("token"),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "memory": to_json(self.memory),
            "pane": self.pane.to_json() if self.pane else None,
            "reader": self.reader_memory,
            "tails": {name: tail.to_json() for name, tail in self.tails.items()},
            "args": list(self.args),
            "default": self.default,
            "run": self.run,
            "search": self.search,
            "token": self.token,
        }

    def save(self, store: Store) -> None:
        store.save_life(self.row.name, self.to_json())

    @property
    def output(self) -> Path:
        """The copy of the pane's raw output, where the CLI's adapter reads it."""
        return self.folder / f"output-{self.run}.raw"

    @property
    def spool(self) -> Path:
        return self.folder / f"spool-{self.run}.jsonl"

    def hook_argv(self) -> tuple[str, ...]:
        """The hook program for this agent's spool."""
        program = Path(__file__).parents[1] / "records" / "hook.py"
        return (sys.executable, "-I", "-S", str(program), str(self.spool))


def _tail(data: dict[str, Any]) -> Tail | OutputTail:
    if data.get("output"):
        return OutputTail(Path(data["path"]), int(data["offset"]))
    return Tail.from_json(data)


class Records:
    """The files of one CLI process, read as events. `woken` is called when one of them may have grown."""

    def __init__(self, life: Life, adapter: Adapter, watcher: FileWatcher, woken: Callable[[], None]) -> None:
        self._life = life
        self._watcher = watcher
        self._woken = woken
        self._adapter = adapter
        self._ends: list[Callable[[], None]] = []
        self._watched: set[Path] = set()
        self.reader: Reader = adapter.reader(life.reader_memory)

    def begin(self) -> None:
        """A new process of the CLI: nothing that an earlier one wrote counts any more."""
        self.close()
        self._life.spool.unlink(missing_ok=True)
        self._life.output.unlink(missing_ok=True)
        self._life.run += 1
        self._life.tails = {}
        self._life.reader_memory = {}
        self.reader = self._adapter.reader(self._life.reader_memory)
        self.follow(HOOK, self._life.spool)

    def follow(self, source: str, path: Path, *, from_end: bool = False) -> None:
        """Read this file too. A source's file that changed is read from its beginning (or its end)."""
        tail = self._life.tails.get(source)
        if tail is None or tail.path != path:
            # A new place of the source: what an older file still holds was read when it was written.
            tail = Tail.at_end(path) if from_end else Tail(path)
            self._life.tails[source] = tail
        self.watch()

    def follow_output(self) -> Path:
        """Read the pane's raw output too; returns the file that it must be copied to."""
        self._life.tails[OUTPUT] = OutputTail(self._life.output)
        self.watch()
        return self._life.output

    def watch(self) -> None:
        """Be woken for every file that is followed."""
        for tail in self._life.tails.values():
            if tail.path not in self._watched:
                self._watched.add(tail.path)
                self._ends.append(self._watcher.watch(tail.path, self._woken))

    def read(self) -> Iterator[Event]:
        """The events that the files hold by now. More files may be named on the way."""
        done: set[str] = set()
        while True:
            # What the terminal was told comes last: the records know what it is about.
            names = sorted(self._life.tails, key=lambda name: name == OUTPUT)
            source = next((name for name in names if name not in done), None)
            if source is None:
                return
            done.add(source)
            for row in self._life.tails[source].rows():
                if source == HOOK:
                    hook = row.get("hook")
                    row = {**hook, "time": row.get("time")} if isinstance(hook, dict) else {}
                for event in self.reader.feed(source, row):
                    if event.kind is Kind.SESSION_STARTED:
                        self._follow_named(event)
                    yield event

    def _follow_named(self, event: Event) -> None:
        named = event.get("follow")
        if isinstance(named, dict):
            for source, path in named.items():
                self.follow(str(source), Path(str(path)), from_end=bool(event.get("resumed")))

    def close(self) -> None:
        for end in self._ends:
            end()
        self._ends.clear()
        self._watched.clear()
