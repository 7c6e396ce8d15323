"""What must hold when everything is over. Reads what was observed; starts nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentd.adapter import squeeze
from agentd.cli.failures import OUTCOMES
from agentd.cli.turns import KEYS
from agentd.testing.chaos.observed import Record, Row, Stored
from agentd.testing.chaos.plan import FAULTS, Step
from agentd.testing.chaos.prompts import Prompt
from agentd.testing.chaos.world import Call, World

BY_SOMEBODY = ("interrupt", "stop", "caller", "person")
BY_CTRL_C = (130, -2)
"""The second one is of a Python that is about to end, or about to begin."""
LEFT_WHILE_AWAY = "interrupted while the daemon is away"
NOTICED_S = 5.0
"""A fault may be noticed this long after it happened."""
NAMED = "can't be written"
"""What a disk that refuses is called in the log."""
LOG = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


class Judge:
    """Holds what was seen and written down against the rules."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = Stored(world.daemon.state / "agentd.db").messages()
        folder = world.daemon.state / "agents"
        self.records = {name: Record(folder / name / "demo-record.jsonl") for name in world.plan.agents}

    def everything(self) -> Iterator[str]:
        """The rules that are broken, in words."""
        calls = {call.step.number: call for call in self.world.calls}
        for step in self.world.plan.steps:
            if not step.prompt:
                continue
            rows = [row for row in self.rows if step.prompt.mark in row.text]
            if len(rows) > 1:
                yield f"{step.prompt.mark}: stored {len(rows)} times"
            row, call = rows[0] if rows else None, calls.get(step.number)
            found = [*self._message(step, step.prompt, row), *(self._caller(call, row) if call else ())]
            shown = f"\n    sent: {step}\n    stored: {row}" if found else ""
            for number, rule in enumerate(found):
                yield f"{step.prompt.mark}: {rule}" + (shown if number == len(found) - 1 else "")
        for turn in Stored(self.world.daemon.state / "agentd.db").open_turns():
            yield f"turn {turn} has no end in the store"

    # What became of a message -----------------------------------------------------------------------

    def _message(self, step: Step, prompt: Prompt, row: Row | None) -> Iterator[str]:
        record = self.records[step.agent]
        taken = record.taken(prompt.mark)
        if taken.entered > 1 or len(taken.worked) > 1 or record.ran(prompt.mark) > (1 if prompt.raw else 0):
            yield f"taken in more than once: {taken}, run {record.ran(prompt.mark)} times"
        if row is None:
            if taken.entered or record.ran(prompt.mark):
                yield f"taken in, but never stored: {taken}"
            return
        if row.outcome is None:
            yield f"has no outcome ({row.receipt})"
            return
        worked = len(taken.worked) + record.ran(prompt.mark)
        if row.receipt in ("pending", "queued", "rejected") and (taken.entered or worked):
            yield f"{row.receipt} and {row.outcome}, but it was taken in: {taken}"
        if row.receipt == "accepted" and not worked and not prompt.raw:
            yield f"accepted, but never taken in: {taken}"
        if row.receipt == "steered" and not taken.entered and not prompt.raw:
            yield f"steered, but never typed in: {taken}"
        yield from self._outcome(prompt, row, record)

    def _outcome(self, prompt: Prompt, row: Row, record: Record) -> Iterator[str]:
        assert row.ended_at is not None
        code = (row.error or {}).get("code")
        since, until = row.created_at - NOTICED_S, row.ended_at
        turns = record.taken(prompt.mark).worked
        match row.outcome:
            case "completed" if prompt.raw:
                if not record.ran(prompt.mark) and not turns:
                    yield "completed, but the command was not run"
            case "completed":
                yield from self._answer(prompt, row, record)
            case "interrupted":
                if not self.world.cause(row.agent, since, until, BY_SOMEBODY):
                    yield "interrupted, but nobody interrupted it"
            case "timed_out":
                if row.receipt == "steered":
                    pass  # the deadline of the turn that it joined
                elif row.deadline_s is None:
                    yield "timed out without a deadline"
                elif row.ended_at < row.created_at + row.deadline_s:
                    yield f"timed out before its deadline: after {row.ended_at - row.created_at:.1f} s"
            case "failed" if code == "busy":
                if row.mode != "fail_if_busy":
                    yield "refused as busy, but it was to wait"
            case "failed" if code == "api_error":
                shared = any(turn.goes_on or prompt.mark not in turn.text for turn in turns)
                if prompt.kind not in ("error", "cut") and not shared:
                    yield "failed as if the provider had, which it was not told to"
            case "lost" | "failed":
                if not (self.world.cause(row.agent, since, until, (*FAULTS, "person")) or record.crashes):
                    yield f"{row.outcome} ({code}) without a cause"
                over = any(turn.end and not turn.goes_on for turn in turns)
                if row.outcome == "lost" and over and row.receipt != "unconfirmed":
                    yield f"lost, though the record tells of its end: {turns}"
            case _:
                yield f"has the outcome {row.outcome!r}"

    @staticmethod
    def _answer(prompt: Prompt, row: Row, record: Record) -> Iterator[str]:
        taken = record.taken(prompt.mark)
        if len(taken.worked) != 1:
            yield f"completed, but taken in {len(taken.worked)} times"
            return
        turn = taken.worked[0]
        whole = squeeze(prompt.text)
        if not taken.joined and squeeze(turn.text) != whole:
            yield f"taken in as another text: {turn.text[:200]!r}"
        answers = [turn.final, *turn.later]
        if (row.reply or "") not in [(answer or "").rstrip() for answer in answers] + [
            a or "" for a in answers
        ]:
            yield f"completed with another turn's answer: {row.reply!r}, not {answers!r}"
        elif prompt.mark not in (row.reply or "") and row.reply != "denied" and not turn.later:
            yield f"the answer {row.reply!r} isn't its own"

    # What its caller saw ----------------------------------------------------------------------------

    def _caller(self, call: Call, row: Row | None) -> Iterator[str]:
        done, told = call.done, call.told
        if done is None:
            return
        if "Traceback" in done.stderr and not (call.left == "SIGINT" and "KeyboardInterrupt" in done.stderr):
            yield f"its command failed with a traceback:\n{done.stderr[-1500:]}"
        if call.left and not done.stdout:
            return
        if not call.step.options["json"]:
            yield from self._printed(call, row)
            return
        if told is None or set(told) != set(KEYS):
            yield f"its command printed no such JSON: {done}"
            return
        outcome, error = told["outcome"], told["error"] or {}
        expected = OUTCOMES.get(outcome)
        if error.get("code") == "no_daemon":
            yield from self._no_daemon(call, row)
            return
        said = error.get("message") or ""
        if call.left and (said == "interrupted" or said.startswith(LEFT_WHILE_AWAY)):
            return  # it left at once, and knows no more
        if done.code != expected and not (call.left == "SIGINT" and done.code in BY_CTRL_C):
            yield f"exit code {done.code} for {outcome}"
        if row is None:
            full = self.world.cause(call.step.agent, call.began, call.ended, ("disk_full",))
            if not (full and error.get("code") == "store_unwritable"):
                yield f"answered {outcome} ({error}), but never stored"
            return
        same = outcome == row.outcome and (told["reply"] or "") == (row.reply or "")
        if outcome not in ("attention", "submitted") and not same:
            yield f"its caller was told {outcome} {told['reply']!r}, the store {row.outcome} {row.reply!r}"
        if outcome == "submitted" and not call.step.options["no_wait"]:
            yield "its caller waited, and was told `submitted`"

    def _no_daemon(self, call: Call, row: Row | None) -> Iterator[str]:
        """Only a command that began while none was there."""
        assert call.done
        if call.done.code != 6 and not (call.left == "SIGINT" and call.done.code in BY_CTRL_C):
            yield f"exit code {call.done.code} for no_daemon"
        if row:
            yield "no daemon answered, and yet it is stored"
        if not self.world.cause(call.step.agent, call.began, call.ended, ("restart",)):
            yield "no_daemon, while the daemon ran"

    @staticmethod
    def _printed(call: Call, row: Row | None) -> Iterator[str]:
        done = call.done
        assert done
        if done.code != 0 or call.step.options["no_wait"]:
            return
        if not row or row.outcome != "completed":
            yield f"exit code 0, and the store says {row and row.outcome}"
        elif done.stdout.rstrip("\n") != (row.reply or "").rstrip("\n"):
            yield f"printed {done.stdout!r}, and the reply is {row.reply!r}"


def log_is_clean(text: str) -> Iterator[str]:
    """No error in the daemon's log but those that have a name."""
    blocks: list[str] = []
    for line in text.splitlines():
        if LOG.match(line) or not blocks:
            blocks.append(line)
        else:
            blocks[-1] += f"\n{line}"
    for block in blocks:
        error = " ERROR " in block.split("\n", 1)[0] and NAMED not in block
        if error or "Traceback" in block:
            yield f"the daemon's log says: {block[:3000]}"
