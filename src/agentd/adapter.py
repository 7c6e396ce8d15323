"""What an adapter is, and how adapters are found.

An adapter is the code that knows one provider's CLI. It is asked for data and does no input or
output of its own, with one exception: `examine` may read the program it is handed. The daemon runs
the CLI, follows its records, reads its screen and presses its keys.

Adapters are found through the entry points `agentd.adapters`; a third party's registers like ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from agentd.contract import Policy
from agentd.contract.policy import NativeSetting
from agentd.model import Event
from agentd.screen import Look, Screen

GROUP = "agentd.adapters"


class Unsupported(Exception):
    """The installed CLI can't be driven; the text says why and what would help."""


@dataclass(frozen=True)
class Capabilities:
    """How this CLI differs from others, as data: nothing in the core asks for a provider's name."""

    steer: str
    """What a prompt typed into a running turn does, in a few words; empty where it can't be done."""
    interrupt_evidence: str
    """`record` where the CLI writes down an interruption, else `screen`."""
    resume: bool
    """Whether a conversation can be taken up again by its session id."""
    ready_by_screen_s: float
    """How long the composer must stand on the screen, without a word from the record, to count as ready."""
    approvals: str
    """Where an approval is seen: `hook`, `record`, `output`, `screen`, or `none`."""
    tested: str
    """The releases it was tested with, and how."""
    enter_after_s: float = 0.0
    """How long a paste must stand before Enter is pressed."""
    ready_needs_screen_s: float | None = None
    """Where the CLI's word that its session started comes before it hears keys: how long the composer must
    stand on the screen after that word."""
    unverified: tuple[str, ...] = ()
    """What nobody could check."""


@dataclass(frozen=True)
class Program:
    """An executable, and what it told about itself. `facts` is what `examine` added; `facts["mcp"] = False`
    says that this release documents no MCP limit, whatever the adapter's `native_timeout` is."""

    argv: tuple[str, ...]
    version: str
    help: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def knows(self, flag: str) -> bool:
        """Whether `--help` names the flag: the only reason to pass an optional one."""
        return bool(re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", self.help))

    def documented(self, native: NativeSetting | None) -> NativeSetting | None:
        """An adapter's `native_timeout`, where this release has it."""
        return None if self.facts.get("mcp") is False else native


@dataclass(frozen=True)
class BridgeCommand:
    """How a CLI starts the MCP server `api-bridge`: argv and environment (no secret in either)."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class LaunchRequest:
    """What the daemon wants: everything an adapter needs to say how the CLI is started."""

    agent: str
    program: Program
    cwd: Path
    folder: Path
    """The agent's own 0700 folder, for files handed to the CLI."""
    hook: tuple[str, ...]
    """An argv that appends its standard input as one line to the agent's spool (source `hook`)."""
    spool: Path
    """That file, for what appends to it by itself: each line a JSON object with `time` and `hook`."""
    policy: Policy
    home: Path
    environment: Mapping[str, str]
    """The environment the CLI gets, before what the adapter adds."""
    model: str | None = None
    resume: str | None = None
    """The session id of the conversation to take up again."""
    new_session: str | None = None
    """A fresh UUID for CLIs that take their session id at birth."""
    args: tuple[str, ...] = ()
    bridge: BridgeCommand | None = None


@dataclass(frozen=True)
class Launch:
    """How to start the CLI. `files` are written (0600) below the agent's folder before; `follow` are the
    record files to read from birth, source name to path."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[Path, str] = field(default_factory=dict)
    follow: Mapping[str, Path] = field(default_factory=dict)
    session_id: str | None = None
    output: bool = False
    """Read the pane's raw output too: source `output`, one row for each operating system command (OSC) in
    it, `{"osc": 7501, "text": "state=idle:app=codex"}`. tmux drops these before they reach the screen."""
    search: bool = False
    """The record isn't known at birth: ask `Adapter.records` which of the open files it is."""
    await_bridge: bool = False
    """The CLI takes a first prompt before its MCP servers are there: agentd holds it back until the bridge
    was asked for its tools. For a CLI that starts them at once, not for one that waits for a prompt."""


@dataclass(frozen=True)
class Keys:
    """Keys by tmux's names (`Enter`, `Escape`, `C-u`, `Down`, or a character)."""

    names: tuple[str, ...]


class Reader(Protocol):
    """Turns one CLI's facts into events. It may remember; what it remembers is in `memory`, which is
    JSON and outlives the daemon."""

    memory: dict[str, Any]

    def feed(self, source: str, row: Mapping[str, Any]) -> Sequence[Event]:
        """One row of the source (`hook`, or a name of `Launch.follow` or of a `session_started` event).
        An unknown kind of row is no error: it says nothing. Never raises on odd data."""
        ...


@runtime_checkable
class Adapter(Protocol):
    """One provider's CLI."""

    provider: str
    aliases: tuple[str, ...]
    command: tuple[str, ...]
    """The argv prefix that is looked up on the login shell's PATH by default."""
    capabilities: Capabilities
    native_timeout: NativeSetting | None
    """The MCP limit that the CLI documents; None: it documents none, nothing is written."""
    variables: tuple[str, ...]
    """Environment variables of an outer agent that must not reach the CLI."""
    interrupt: Keys
    clear: Keys
    """Empties the composer."""
    leave: str | None
    """A command typed to end the CLI politely, or None to send SIGTERM."""

    def examine(self, program: Program) -> Mapping[str, Any]:
        """More facts about the program, read from it. Runs in a thread, once per executable.

        Raises:
            Unsupported: this release can't be driven.
        """
        ...

    def launch(self, request: LaunchRequest) -> Launch:
        """How to start it."""
        ...

    def reader(self, memory: dict[str, Any]) -> Reader:
        """A reader that goes on from what an earlier one remembered (empty at birth)."""
        ...

    def records(self, open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
        """Which of the files that the CLI's processes hold open are its records, by source name. Asked only
        where `Launch.search` is set: after each prompt until there is an answer. May read the files."""
        ...

    def look(self, screen: Screen) -> Look:
        """What the screen says: a dialog first, then the composer; unknown is neither."""
        ...

    def guard(self, text: str, *, raw: bool) -> str:
        """The text to paste, so that it arrives as text whatever its first character; `raw` lifts that."""
        ...

    def same_prompt(self, sent: str, taken: str) -> bool:
        """Whether the prompt that the record shows is the one that was sent."""
        ...


@runtime_checkable
class Tenant(Protocol):
    """An adapter whose CLI reads files of the workspace: they are there only while an agent needs them. Both
    methods do input and output; they are run in a thread and may wait for a lock."""

    def prepare(self, request: LaunchRequest) -> None:
        """Put there what this agent's CLI needs, right before it is started. Done twice it is no error.

        Raises:
            Unsupported: it can't be done; the text names the file, and nothing was changed.
        """
        ...

    def release(self, agent: str, folder: Path) -> None:
        """Take away what only this agent needed: its CLI has ended. An agent that has nothing is no error.

        Raises:
            Unsupported: it can't be done now; the next release of any agent tries it again.
        """
        ...


_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)


def squeeze(text: str) -> str:
    """A text without white space and invisible characters: what is left of a prompt after wrapping,
    trimming, tab expansion, and a CLI's own care against hidden text."""
    return _INVISIBLE.sub("", "".join(text.split()))


def shows_draft(draft: str, sent: str) -> bool:
    """Whether the composer's text is the beginning or the end of what was sent."""
    seen = squeeze(draft)
    if not seen:
        return False
    whole = squeeze(sent)
    return whole.startswith(seen) or seen.startswith(whole[:200]) or whole.endswith(seen)


def shows_waiting(shown: str, sent: str) -> bool:
    """Whether a text that waits inside the CLI is what was sent; the CLI cuts a long one with a `…`."""
    seen, whole = squeeze(shown), squeeze(sent)
    return whole.startswith(seen[:-1]) if seen.endswith("…") else seen == whole


def load_adapters(warn: Callable[[str], None] = lambda _: None) -> dict[str, Adapter]:
    """Every adapter that is installed, by provider. One that can't be loaded is named to `warn`."""
    found: dict[str, Adapter] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        try:
            adapter = entry.load()()
        except Exception as error:  # a stranger's code: whatever it raises must not end the daemon
            warn(f"adapter {entry.name} ({entry.value}) can't be loaded: {error!r}")
            continue
        if not isinstance(adapter, Adapter):
            warn(f"adapter {entry.name} ({entry.value}) lacks a part of agentd.adapter.Adapter")
            continue
        found[adapter.provider] = adapter
    return found
