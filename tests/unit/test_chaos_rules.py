"""The chaos run's own parts: the same seed is the same plan, and each broken rule is seen."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agentd.cli.turns import KEYS
from agentd.model import Ending, Failure, Message, Mode, Outcome, Receipt
from agentd.store import Store
from agentd.testing.chaos.observed import Record
from agentd.testing.chaos.plan import Plan, Step, make
from agentd.testing.chaos.prompts import KINDS, Prompt
from agentd.testing.chaos.rules import Judge, log_is_clean
from agentd.testing.chaos.world import Call, ChaosDaemon, World
from agentd.testing.daemon import Completed

MARK = "MARK-00001"
OPTIONS = {"mode": "queue", "no_wait": False, "deadline": None, "json": True, "ends": None}


def test_a_seed_is_a_plan() -> None:
    assert make(7, 60, 3) == make(7, 60, 3)
    assert make(7, 60, 3) != make(8, 60, 3)
    assert {step.deed for seed in range(40) for step in make(seed, 60, 3).steps} > {"send", "restart", "stop"}


def test_what_is_left_out_changes_nothing_else() -> None:
    whole = make(3, 60, 3)
    part = make(3, 60, 3, without=frozenset(["send", whole.steps[0].deed]))
    assert part.steps == tuple(s for s in whole.steps if s.deed not in ("send", whole.steps[0].deed))


def test_every_kind_of_prompt_carries_its_mark() -> None:
    prompts = [step.prompt for seed in range(40) for step in make(seed, 60, 3).steps if step.prompt]
    assert {prompt.kind for prompt in prompts} == set(KINDS)
    assert all(prompt.mark in prompt.text for prompt in prompts)


class Run:
    """One message to agent `a1`, and what everybody wrote down about it."""

    def __init__(self, root: Path, kind: str = "say") -> None:
        self.prompt = Prompt(MARK, kind, f"@say {MARK}")
        self.step = Step(1, 0.0, "send", "a1", OPTIONS, self.prompt)
        plan = Plan(1, 1.0, ("a1",), (self.step,), (), "3h", ())
        daemon = cast(ChaosDaemon, SimpleNamespace(state=root))
        self.world = World(plan, daemon, time.time())
        self.now = time.time()
        self.store = Store(root / "agentd.db")
        self.record = root / "agents" / "a1" / "demo-record.jsonl"
        self.record.parent.mkdir(parents=True)

    def rows(self, *rows: dict[str, Any]) -> None:
        with self.record.open("a") as file:
            for row in rows:
                file.write(json.dumps({"time": 1.0, **row}) + "\n")

    def taken(self, reply: str = MARK, key: str = "k1", text: str | None = None) -> None:
        """The demo agent's record of a whole turn."""
        self.rows(
            {"type": "user", "text": text or self.prompt.text, "prompt_id": key, "origin": "human"},
            {"type": "assistant", "text": reply, "prompt_id": key, "final": True},
            {"type": "turn_end", "prompt_id": key, "background": []},
        )

    def stored(
        self,
        outcome: Outcome | None = Outcome.COMPLETED,
        receipt: Receipt = Receipt.ACCEPTED,
        reply: str | None = MARK,
        code: str | None = None,
        **more: Any,
    ) -> None:
        self.store.add_message(Message("m1", "a1", self.prompt.text, Mode.QUEUE, False, self.now, **more))
        self.store.set_receipt("m1", receipt, None)
        if outcome:
            error = Failure(code, "why") if code else None
            self.store.settle(Ending("m1", outcome, reply=reply, error=error, ended_at=self.now + 1))

    def told(self, status: int, outcome: str, reply: str | None = MARK, **error: Any) -> None:
        data = {**dict.fromkeys(KEYS), "outcome": outcome, "reply": reply, "error": error or None}
        done = Completed(json.dumps(data), "", status)
        self.world.calls.append(Call(self.step, self.now, self.now + 1, done, data, None))

    def broken(self) -> str:
        self.store.close()
        return "\n".join(Judge(self.world).everything())


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_good_end_breaks_nothing(run: Run) -> None:
    run.taken()
    run.stored()
    run.told(0, "completed")
    assert run.broken() == ""


def test_a_prompt_that_went_in_twice(run: Run) -> None:
    run.taken()
    run.taken(key="k2")
    run.stored()
    assert "more than once" in run.broken()


def test_an_answer_to_another_prompt(run: Run) -> None:
    run.taken()
    run.taken(reply="MARK-00002", key="k2", text="@say MARK-00002")
    run.stored(reply="MARK-00002")
    assert "another turn's answer" in run.broken()


def test_completed_without_a_turn(run: Run) -> None:
    run.stored()
    broken = run.broken()
    assert "accepted, but never taken in" in broken and "completed, but taken in 0 times" in broken


def test_a_message_without_an_end(run: Run) -> None:
    run.stored(None)
    assert "has no outcome" in run.broken()


@pytest.mark.parametrize("receipt", [Receipt.QUEUED, Receipt.REJECTED])
def test_given_back_and_taken_in_all_the_same(run: Run, receipt: Receipt) -> None:
    run.taken()
    run.stored(Outcome.FAILED, receipt, None, "busy")
    broken = run.broken()
    assert "but it was taken in" in broken and "it was to wait" in broken


@pytest.mark.parametrize("entered", [True, False])
def test_unconfirmed_may_go_either_way(run: Run, entered: bool) -> None:
    if entered:
        run.taken()
    run.stored(Outcome.LOST, Receipt.UNCONFIRMED, None, "unconfirmed")
    with run.world.trouble("kill_cli", "a1"):
        pass
    assert run.broken() == ""


@pytest.mark.parametrize(
    ("outcome", "rule"),
    [
        (Outcome.LOST, "without a cause"),
        (Outcome.INTERRUPTED, "nobody interrupted"),
        (Outcome.TIMED_OUT, "without a deadline"),
    ],
)
def test_an_end_without_a_cause(run: Run, outcome: Outcome, rule: str) -> None:
    run.taken()
    run.stored(outcome, reply=None)
    assert rule in run.broken()


def test_lost_though_the_record_has_its_end(run: Run) -> None:
    run.taken()
    run.stored(Outcome.LOST, reply=None)
    with run.world.trouble("kill_cli", "a1"):
        pass
    assert "though the record tells" in run.broken()


def test_the_caller_and_the_store_disagree(run: Run) -> None:
    run.taken()
    run.stored()
    run.told(5, "lost", None)
    assert "its caller was told lost" in run.broken()


def test_a_wrong_exit_code(run: Run) -> None:
    run.taken()
    run.stored()
    run.told(1, "completed")
    assert "exit code 1 for completed" in run.broken()


def test_a_daemon_that_is_gone_has_a_cause(run: Run) -> None:
    run.taken()
    run.stored()
    run.told(6, "failed", None, code="no_daemon")
    broken = run.broken()
    assert "while the daemon ran" in broken and "yet it is stored" in broken


def test_a_caller_that_lost_its_daemon(run: Run) -> None:
    """It was to wait for the next one."""
    run.taken()
    run.stored()
    run.told(6, "lost", None, code="daemon_gone")
    assert "its caller was told lost" in run.broken()


def test_half_a_line_hides_nothing_from_the_judge(run: Run) -> None:
    run.rows({"type": "session"})
    with run.record.open("a") as file:
        file.write('{"time": 1, "hook": {"hook_event_na')
    run.taken()
    assert len(Record(run.record).taken(MARK).worked) == 1
    run.store.close()


def test_a_prompt_that_waited_and_ran_went_in_once(run: Run) -> None:
    for operation in ("enqueue", "own_turn"):
        run.rows({"type": "steer", "operation": operation, "text": run.prompt.text, "steer_id": "s"})
    run.taken()
    taken = Record(run.record).taken(MARK)
    assert (taken.entered, len(taken.worked)) == (1, 1)
    run.store.close()


def test_the_log() -> None:
    clean = "2026-01-01 00:00:00,000 WARNING agentd: x\n  more\n2026-01-01 00:00:01,000 INFO agentd: y\n"
    assert list(log_is_clean(clean)) == []
    bad = clean + "2026-01-01 00:00:02,000 ERROR agentd: z\nTraceback (most recent call last):\nKeyError: 1\n"
    assert len(list(log_is_clean(bad))) == 1
