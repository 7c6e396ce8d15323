"""An agent's life on disk: its row in the store, its folder, and what its records have said so far."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agentd.adapter import Adapter, Reader
from agentd.agents.clock import Anchor
from agentd.agents.memory import Memory, from_json, to_json
from agentd.ledger import Book
from agentd.model import Event, Kind, Source
from agentd.records.holes import punch
from agentd.records.output import OutputTail
from agentd.records.tail import Tail
from agentd.records.watch import FileWatcher
from agentd.store import AgentRow, Store
from agentd.tmux.terminal import PaneRef

HOOK, OUTPUT = "hook", "output"
SPOOL, RAW = "spool-", "output-"
EARLIER = 16
"""The records of so many conversations that earlier processes had are remembered, the latest ones."""
GIVE_BACK_ABOVE = 1 << 20
"""How much of a spool or an output may have been read until it is given back, in bytes."""


@dataclass
class Life:
    """Everything about one agent that a restarted daemon needs to go on with it."""

    row: AgentRow
    folder: Path
    memory: Memory = field(default_factory=Memory)
    pane: PaneRef | None = None
    reader_memory: dict[str, Any] = field(default_factory=dict)
    tails: dict[str, Tail | OutputTail] = field(default_factory=dict)
    earlier: dict[Path, Tail] = field(default_factory=dict)
    """The records of earlier processes, each at its end when the present one was started: what a process
    that takes up its conversation again writes comes after that, however late its record is found."""
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
    clock: Anchor = ("", 0.0)
    """Of the daemon's clock, by which the times here are meant."""
    token: str | None = None
    """The digest of its bridge's token; None where its CLI has no bridge, or doesn't run."""
    unheard: deque[Event] = field(default_factory=deque)
    """Events of a row that was read, and of which the first ones were heard only."""
    tools: tuple[str, ...] | None = None
    """What its CLI was offered when it was started; None where that isn't known."""
    mcp_timeout_s: float | None = None
    """The limit for a call that its CLI was given when it was started; None where it documents none."""

    @classmethod
    def load(cls, row: AgentRow, folder: Path) -> Life:
        """The life as the store has it."""
        life = row.life
        clock = life.get("clock") or ("", 0.0)
        return cls(
            row,
            folder,
            from_json(life["memory"]) if "memory" in life else Memory(),
            PaneRef.from_json(life["pane"]) if life.get("pane") else None,
            life.get("reader", {}),
            {name: _tail(tail) for name, tail in life.get("tails", {}).items()},
            {Path(tail["path"]): Tail.from_json(tail) for tail in life.get("earlier", ())},
            tuple(life.get("args", ())),
            life.get("default", True),
            life.get("run", 0),
            life.get("search", False),
            clock=(str(clock[0]), float(clock[1])),
            token=life.get("token"),
            unheard=deque(map(_event, life.get("unheard", ()))),
            tools=tuple(life["tools"]) if life.get("tools") is not None else None,
            mcp_timeout_s=life.get("mcp_timeout_s"),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "memory": to_json(self.memory),
            "pane": self.pane.to_json() if self.pane else None,
            "reader": self.reader_memory,
            "tails": {name: tail.to_json() for name, tail in self.tails.items()},
            "earlier": [tail.to_json() for tail in self.earlier.values()],
            "args": list(self.args),
            "default": self.default,
            "run": self.run,
            "search": self.search,
            "clock": list(self.clock),
            "token": self.token,
            "unheard": [asdict(event) for event in self.unheard],
            "tools": self.tools,
            "mcp_timeout_s": self.mcp_timeout_s,
        }

    def save(self, book: Book) -> None:
        book.save_life(self.row.name, self.to_json())

    def save_whole(self, store: Store) -> None:
        """The agent's row too: it is new, or was changed."""
        store.save_agent(replace(self.row, life=self.to_json()))

    @property
    def records(self) -> list[Path]:
        """The CLI's own records that are followed, the newest last."""
        return [tail.path for name, tail in self.tails.items() if name not in (HOOK, OUTPUT)]

    @property
    def output(self) -> Path:
        """The copy of the pane's raw output, where the CLI's adapter reads it."""
        return self.folder / f"{RAW}{self.run}.raw"

    @property
    def spool(self) -> Path:
        return self.folder / f"{SPOOL}{self.run}.jsonl"

    def hook_argv(self) -> tuple[str, ...]:
        """The hook program for this agent's spool."""
        program = Path(__file__).parents[1] / "records" / "hook.py"
        return (sys.executable, "-I", "-S", str(program), str(self.spool))


def _event(data: dict[str, Any]) -> Event:
    return Event(Kind(data["kind"]), Source(data["source"]), data["time"], data["data"])


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
        self._watched: dict[Path, Callable[[], None]] = {}
        self._given_back: dict[Path, int] = {}
        self.reader: Reader = adapter.reader(life.reader_memory)

    def begin(self) -> None:
        """A new process of the CLI: nothing that an earlier one wrote counts any more."""
        self.close()
        # All of them: a late hook may have made an old one anew, and a killed daemon may have counted less.
        for pattern in (f"{SPOOL}*.jsonl", f"{RAW}*.raw"):
            for old in self._life.folder.glob(pattern):
                old.unlink(missing_ok=True)
        self._given_back.clear()
        self._life.run += 1
        known = [*dict.fromkeys([*self._life.earlier, *self._life.records])][-EARLIER:]
        ends = map(Tail.at_end, known)
        self._life.earlier = {end.path: end for end in ends if end.inode is not None}  # it could be read
        self._life.tails = {}
        self._life.unheard.clear()
        self._life.reader_memory = {}
        self.reader = self._adapter.reader(self._life.reader_memory)
        self.follow(HOOK, self._life.spool)

    def follow(self, source: str, path: Path, *, from_end: bool = False) -> None:
        """Read this file too. A source's file that changed is read from its beginning (or its end); one of an
        earlier process from where that left it."""
        tail = self._life.tails.get(source)
        if tail is None or tail.path != path:
            # A new place of the source: what an older file still holds was read when it was written.
            earlier = self._life.earlier.pop(path, None)
            self._life.tails[source] = earlier or (Tail.at_end(path) if from_end else Tail(path))
        self.watch()

    def follow_output(self) -> Path:
        """Read the pane's raw output too; returns the file that it must be copied to."""
        self._life.tails[OUTPUT] = OutputTail(self._life.output)
        self.watch()
        return self._life.output

    def watch(self) -> None:
        """Be woken for every file that is followed."""
        paths = {tail.path for tail in self._life.tails.values()}
        for path in self._watched.keys() - paths:
            self._watched.pop(path)()
        for path in paths - self._watched.keys():
            self._watched[path] = self._watcher.watch(path, self._woken)

    def read(self) -> Iterator[Event]:
        """The events that the files hold by now. More files may be named on the way.

        A reading that is broken off, or cut short by the daemon's end, goes on with the next event.
        """
        unheard = self._life.unheard
        while unheard:
            yield unheard.popleft()
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
                    unheard.append(event)
                while unheard:
                    yield unheard.popleft()
            yield from self._problems(source)

    def _problems(self, source: str) -> Iterator[Event]:
        """What was wrong with the file, as warnings."""
        tail = self._life.tails.get(source)
        if isinstance(tail, Tail):
            problems, tail.problems = tail.problems, []
            for problem in problems:
                yield Event(Kind.WARNING, Source.AGENTD, time.time(), {"text": f"the record {problem}"})

    def _follow_named(self, event: Event) -> None:
        named = event.get("follow")
        if isinstance(named, dict):
            for source, path in named.items():
                self.follow(str(source), Path(str(path)), from_end=bool(event.get("resumed")))

    def close(self) -> None:
        for end in self._watched.values():
            end()
        self._watched.clear()

    # What grows ----------------------------------------------------------------------------------

    def heavy(self) -> bool:
        """Whether enough was read of our own files to give it back: once the positions in them are saved."""
        return any(self._read_of(tail) > GIVE_BACK_ABOVE for tail in self._own())

    def give_back(self) -> None:
        """Give back what was read of our own files, and saved as read. The CLI's records are the CLI's."""
        for tail in self._own():
            if not punch(tail.path, tail.offset) and isinstance(tail, OutputTail):
                # A piece that is written at this very moment may go with it: a title is told again. The
                # spool, where every line counts, stays whole until the next start.
                tail.empty()
            self._given_back[tail.path] = tail.offset

    def _own(self) -> list[Tail | OutputTail]:
        return [tail for name, tail in self._life.tails.items() if name in (HOOK, OUTPUT)]

    def _read_of(self, tail: Tail | OutputTail) -> int:
        return tail.offset - min(self._given_back.get(tail.path, 0), tail.offset)
