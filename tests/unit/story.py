"""A machine, and around it what the owner, a CLI and a person would do: tests read as stories.

After every input the memory goes through JSON, as if the daemon had restarted, and what must always
hold is checked: no turn is lost or doubled, nothing is pasted twice, no deadline is left in the past.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentd.adapter import Capabilities, Keys, Launch, LaunchRequest, Program, squeeze
from agentd.agents import effects as fx
from agentd.agents.machine import Machine
from agentd.agents.memory import Memory, from_json, to_json
from agentd.contract import Readiness
from agentd.contract.policy import NativeSetting
from agentd.model import Event, Failure, Kind, Message, Mode, Outcome, Reason, Receipt, Source, State
from agentd.screen import Dialog, Look, Option, Screen

EMPTY = Look(composer=True, draft="")
READINESS = Readiness(inactivity=300.0)
BUSY = Look(composer=True, draft="", busy=True)
UNKNOWN = Look()
APPROVAL = Dialog(Reason.APPROVAL, "Run `ls`?", (Option("Yes"), Option("No")), 0, approve=0, deny=1)
TRUST = Dialog(Reason.TRUST, "Do you trust this folder?", (Option("No"), Option("Yes")), 0, approve=1, deny=0)


def draft(text: str) -> Look:
    return Look(composer=True, draft=text)


def asks(dialog: Dialog) -> Look:
    return Look(dialog=dialog)


class TinyReader:
    """A row is an event already: `{"kind": ..., **data}`; or several: `{"all": [...]}`."""

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory

    def feed(self, source: str, row: Mapping[str, Any]) -> Sequence[Event]:
        if "all" in row:
            return [event for each in row["all"] for event in self.feed(source, each)]
        if "kind" not in row:
            return []
        data = {name: value for name, value in row.items() if name not in ("kind", "time")}
        origin = Source.HOOK if source == "hook" else Source.RECORD
        return [Event(Kind(row["kind"]), origin, float(row.get("time") or 0), data)]


class Tiny:
    """The smallest adapter. Its screen's first line is what the composer holds after `> `, or `? ` and a
    question, or `! ` and one of trust; a `*` in the second line means work."""

    provider = "tiny"
    aliases: tuple[str, ...] = ("t",)
    command: tuple[str, ...] = ("tiny",)
    native_timeout: NativeSetting | None = None
    variables: tuple[str, ...] = ()
    interrupt = Keys(("Escape",))
    clear = Keys(("C-u",))
    leave: str | None = "/exit"

    def __init__(self, steer: str = "joins the running turn", *, resume: bool = True) -> None:
        self.capabilities = Capabilities(
            steer=steer,
            interrupt_evidence="record",
            resume=resume,
            ready_by_screen_s=1.0,
            approvals="hook",
            tested="never",
        )

    def examine(self, program: Program) -> Mapping[str, Any]:
        return {}

    def launch(self, request: LaunchRequest) -> Launch:
        return Launch(argv=("tiny",), session_id=request.resume or request.new_session)

    def reader(self, memory: dict[str, Any]) -> TinyReader:
        return TinyReader(memory)

    def records(self, open_files: Sequence[Path], memory: Mapping[str, Any]) -> Mapping[str, Path]:
        return {}

    def look(self, screen: Screen) -> Look:
        first, second = [*screen.lines, "", ""][:2]
        if first.startswith("? "):
            return asks(APPROVAL)
        if first.startswith("! "):
            return asks(TRUST)
        if not first.startswith(">"):
            return UNKNOWN
        return Look(composer=True, draft=first[1:].strip(), busy="*" in second)

    def guard(self, text: str, *, raw: bool) -> str:
        return f" {text}" if text.startswith(("/", "!")) and not raw else text

    def same_prompt(self, sent: str, taken: str) -> bool:
        return squeeze(sent) == squeeze(taken)


class Voice:
    """What one source says: `story.hook.taken("do it", key="k1")`."""

    def __init__(self, story: Story, source: Source) -> None:
        self._story = story
        self._source = source

    def __call__(self, kind: Kind, **data: Any) -> None:
        self._story.tell(Event(kind, self._source, self._story.now, data))

    def started(self, session: str = "s1") -> None:
        self(Kind.SESSION_STARTED, session_id=session)

    def taken(self, text: str, key: str | None = None, origin: str = "human") -> None:
        self(Kind.PROMPT_TAKEN, text=text, key=key, origin=origin)

    def done(self, reply: str | None = None, key: str | None = None, **data: Any) -> None:
        self(Kind.TURN_DONE, reply=reply, key=key, **data)

    def failed(self, error: str, key: str | None = None, **data: Any) -> None:
        self(Kind.TURN_FAILED, error=error, code="api_error", key=key, **data)

    def interrupted(self, key: str | None = None) -> None:
        self(Kind.TURN_INTERRUPTED, key=key)

    def blocked(self, error: str, key: str | None = None) -> None:
        self(Kind.TURN_BLOCKED, error=error, key=key)

    def text(self, text: str) -> None:
        self(Kind.TEXT, text=text)

    def tool(self, tool: str = "Bash", id: str = "t1") -> None:
        self(Kind.TOOL_STARTED, tool=tool, id=id)

    def tool_ended(self, tool: str = "Bash", id: str = "t1") -> None:
        self(Kind.TOOL_ENDED, tool=tool, id=id)

    def asks(self, tool: str = "Bash") -> None:
        self(Kind.APPROVAL_WANTED, tool=tool, text=f"Run {tool}?", reason="approval")

    def steer_waits(self, text: str) -> None:
        self(Kind.STEER_WAITING, text=text)

    def steer_joined(self, text: str) -> None:
        self(Kind.STEER_JOINED, text=text)

    def steer_runs(self, text: str) -> None:
        self(Kind.STEER_OWN_TURN, text=text)

    def steer_dropped(self, text: str) -> None:
        self(Kind.STEER_DROPPED, text=text)


class Story:
    """One agent called `a`. `screen` is what a look shows; None: the terminal refuses to show it.
    `log` has what was done to the CLI, `results` what the senders were told (the first word counts)."""

    def __init__(
        self,
        *,
        steer: str = "joins the running turn",
        resume: bool = True,
        readiness: Readiness = READINESS,
        retention_s: float = 10_800.0,
        trusted: bool = False,
    ) -> None:
        self.now = 1000.0
        self.screen: Look | None = UNKNOWN
        self.streams = False
        """Every look shows another screen."""
        self.digest = "screen"
        self.attached = False
        self.log: list[str] = []
        self.results: dict[str, fx.Settle] = {}
        self.receipts: dict[str, list[Receipt]] = {}
        self.states: list[State] = []
        self.warnings: list[str] = []
        self.turns: dict[str, fx.EndTurn | None] = {}
        self.pasted: Counter[str] = Counter()
        self.may_paste_again: set[str] = set()
        ids = itertools.count(1)
        self.machine = Machine(
            "a",
            Tiny(steer, resume=resume),
            readiness=readiness,
            retention_s=retention_s,
            new_id=lambda: f"t{next(ids)}",
            trusted=lambda: trusted,
        )
        self.hook = Voice(self, Source.HOOK)
        self.record = Voice(self, Source.RECORD)
        self._looks = itertools.count()
        self._at_once = 0

    def __repr__(self) -> str:
        return repr(self.machine)

    # The owner's part -----------------------------------------------------------------------------

    def tell(self, what: fx.Input) -> None:
        """Hand an input over, and run its effects."""
        was_busy = _busy(self.machine.memory)
        effects = self.machine.handle(what, self.now)
        for effect in effects:
            self._write(effect)
        self._check(what)
        _check_told(effects, at_rest=was_busy and not _busy(self.machine.memory))
        for effect in effects:
            self._act(effect)

    def _act(self, effect: fx.Effect) -> None:
        match effect:
            case fx.ReadScreen():
                if self.screen is not None:
                    self.look()
            case fx.StartCli(resume):
                self.log.append(f"start {resume}" if resume else "start")
                self.tell(fx.Started(None))
            case fx.EndCli(polite):
                self.log.append("leave" if polite else "kill")
                self.tell(fx.Gone(None, what="ended by agentd"))
            case fx.Paste(message):
                self.pasted[message] += 1
                assert self.pasted[message] == 1 or message in self.may_paste_again, "pasted twice"
                self.log.append(f"paste {message}")
            case fx.PressEnter():
                self.log.append("enter")
            case fx.ClearDraft():
                self.log.append("clear")
            case fx.PressInterrupt():
                self.log.append("escape")
            case fx.AnswerDialog(choice):
                self.log.append(f"answer {choice}")

    def _write(self, effect: fx.Effect) -> None:
        match effect:
            case fx.SetReceipt(message, receipt):
                self.receipts.setdefault(message, []).append(receipt)
            case fx.BeginTurn(turn):
                assert turn not in self.turns
                self.turns[turn] = None
            case fx.EndTurn(turn):
                assert self.turns[turn] is None, "a turn ends once"
                self.turns[turn] = effect
            case fx.Settle(message=message):
                self.results.setdefault(message, effect)
            case fx.Emit(kind, data):
                if kind is Kind.STATE:
                    self.states.append(data["state"])
                elif kind is Kind.WARNING:
                    self.warnings.append(data["text"])

    def _check(self, what: fx.Input) -> None:
        machine = self.machine
        memory = machine.memory
        again = from_json(json.loads(json.dumps(to_json(memory))))
        assert again == memory
        machine.memory = again
        running = {turn for turn, end in self.turns.items() if end is None}
        assert running == ({memory.turn.id} if memory.turn else set()), "every turn that began runs or ended"
        assert memory.state is not State.WORKING or memory.turn or memory.ending_since is not None
        assert memory.state is not State.READY or not memory.turn
        assert (memory.state is State.ATTENTION) == (memory.attention is not None)
        assert memory.state.alive or not (memory.turn or memory.delivery or memory.steers)
        assert not [m for m in machine.unclaimed() if m.id not in self.results], "a message was lost"
        due = machine.next_deadline()
        self._at_once = self._at_once + 1 if due is not None and due <= self.now else 0
        assert not isinstance(what, fx.Tick) or self._at_once < 4, "a deadline that fires without end"

    def look(self) -> None:
        """The screen is read."""
        assert self.screen is not None
        digest = f"{self.digest} {next(self._looks)}" if self.streams else f"{self.digest} {self.screen}"
        self.tell(fx.Seen(self.screen, digest, "the tail", self.attached))

    def after(self, seconds: float) -> None:
        """Time passes; every deadline on the way fires."""
        end = self.now + seconds
        while (due := self.machine.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.tell(fx.Tick())
        self.now = end

    # What people do -------------------------------------------------------------------------------

    def send(
        self, id: str, text: str | None = None, *, mode: Mode = Mode.QUEUE, raw: bool = False, **more: Any
    ) -> None:
        """A message; its text is its id unless given."""
        text = id if text is None else text
        self.tell(fx.Submit(Message(id, "a", text, mode, raw, created_at=self.now, **more)))

    def steer(self, id: str, text: str | None = None) -> None:
        self.send(id, text, mode=Mode.STEER)

    def withdraw(self, id: str) -> None:
        self.tell(fx.Withdraw(id, "its caller"))

    def interrupt(self) -> None:
        self.tell(fx.Interrupt("a person"))

    def stop(self) -> None:
        self.tell(fx.Stop("a person"))

    def die(self, status: int | None = 1) -> None:
        self.screen = UNKNOWN
        self.tell(fx.Gone(status, "last words"))

    # Beginnings -----------------------------------------------------------------------------------

    @classmethod
    def ready(cls, **options: Any) -> Story:
        """An agent that is up and waits: its first message (`first`) is answered."""
        story = cls(**options)
        story.send("first")
        story.screen = EMPTY
        story.hook.started()
        story.hook.taken("first", key="k0")
        story.record.taken("first", key="k0")
        story.hook.done("hello", key="k0")
        story.record.done("hello", key="k0")
        story.after(6)
        story.log.clear()
        story.states.clear()
        return story

    @classmethod
    def working(cls, key: str | None = "k1", **options: Any) -> Story:
        """An agent that works on the message `work`; both sources told of its beginning."""
        story = cls.ready(**options)
        story.send("work")
        story.hook.taken("work", key=key)
        story.record.taken("work", key=key)
        story.screen = BUSY
        story.log.clear()
        story.states.clear()
        return story

    # What is known --------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.machine.memory.state

    def outcome(self, id: str) -> tuple[Outcome, str | None] | None:
        """A message's outcome and reply; None while it is open."""
        result = self.results.get(id)
        return (result.outcome, result.reply) if result else None

    def error(self, id: str) -> Failure:
        error = self.results[id].error
        assert error is not None
        return error


def folder() -> Path:
    """The captures."""
    return Path(__file__).with_name("captures")


def _busy(memory: Memory) -> bool:
    return bool(memory.turn or memory.delivery or memory.queue or memory.steer_queue)


def _check_told(effects: Sequence[fx.Effect], *, at_rest: bool) -> None:
    """Whoever waits for a message, or for nothing more to run, listens to events: without one it would wait
    for ever."""
    told = [effect for effect in effects if isinstance(effect, fx.Emit)]
    assert told or not at_rest, effects
    ends = {emit.data["message"] for emit in told if emit.data.get("outcome") and "message" in emit.data}
    for effect in effects:
        # One that has a turn is told of by the turn's end.
        if isinstance(effect, fx.Settle) and effect.turn is None:
            assert effect.message in ends, effects
