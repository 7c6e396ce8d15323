"""Whatever comes, in whatever order: the story's own checks hold after every input."""

from __future__ import annotations

import random

import pytest

from agentd.agents import effects as fx
from agentd.model import Failure, Mode, State
from agentd.screen import Look
from tests.unit.story import APPROVAL, BUSY, EMPTY, TRUST, UNKNOWN, Story, asks, draft

TEXTS = ("continue", "do it", "/compact")
KEYS = ("k1", "k2", "k3", None)
SCREENS = (None, EMPTY, EMPTY, BUSY, UNKNOWN, draft("do it"), draft("mine"), asks(APPROVAL), asks(TRUST))


def anything(story: Story, dice: random.Random, number: int) -> None:
    """One thing that may happen."""
    source = dice.choice((story.hook, story.record))
    text, key = dice.choice(TEXTS), dice.choice(KEYS)
    settle = dice.choice((0.0, 1.0, 60.0))
    message = f"m{dice.randrange(max(1, number))}"
    match dice.randrange(26):
        case 0 | 1 | 2:
            mode, raw = dice.choice(list(Mode)), dice.random() < 0.2
            story.send(f"m{number}", text, mode=mode, raw=raw, deadline_s=dice.choice((None, 5.0, 90.0)))
        case 3 | 4 | 5:
            source.taken(text, key, dice.choice(("human", "human", "system")))
        case 6 | 7:
            source.done(f"reply {number}", key, settle=settle, background=dice.random() < 0.2)
        case 8:
            source.failed("error", key, settle=settle)
        case 9:
            source.interrupted(key)
        case 10:
            source.blocked("no", key)
        case 11:
            source.text("text")
        case 12:
            source.tool()
        case 13:
            source.tool_ended()
        case 14:
            source.asks()
        case 15:
            dice.choice((source.steer_waits, source.steer_joined, source.steer_runs))(text)
        case 16:
            story.may_paste_again.update(s.message for s in story.machine.memory.steers)
            source.steer_dropped(text)
        case 17 | 18:
            screen: Look | None = dice.choice(SCREENS)
            story.screen, story.attached = screen, dice.random() < 0.2
            story.streams = dice.random() < 0.2
        case 19 | 20:
            story.after(dice.choice((0.3, 1.0, 6.0, 40.0, 400.0)))
        case 21:
            story.withdraw(message)
        case 22:
            story.interrupt()
        case 23 if dice.random() < 0.4:
            story.stop()
        case 24 if dice.random() < 0.6 and story.state.alive:
            story.die(dice.choice((0, 1, None)))
        case 25 if story.state is State.STARTING:
            if dice.random() < 0.8:
                source.started()
            else:
                story.tell(fx.StartFailed(Failure("start_failed", "no")))
        case _:
            story.machine.adopt(story.now)


@pytest.mark.parametrize("seed", range(20))
def test_anything(seed: int) -> None:
    dice = random.Random(seed)
    story = Story(steer=dice.choice(("joins", "")), retention_s=900.0, trusted=dice.random() < 0.5)
    sent = []
    for number in range(120):
        anything(story, dice, number)
        sent += [id for id in story.machine.messages if id not in sent]
    story.stop()
    assert repr(story) == "<Machine a stopped>"
    assert set(sent) <= set(story.results), "everybody was told what became of their message"
    assert story.machine.next_deadline() is None
