"""Codex against the scripted model: the newest pin, and the last one without program states (OSC 7501)."""

from __future__ import annotations

import pytest

from agentd.testing.conformance import Conformance

from .codex import subject


@pytest.mark.xdist_group("codex")
class TestCodex(Conformance):
    subject = subject("codex")


@pytest.mark.xdist_group("codex-0.155.1")
class TestCodex0x155x1(Conformance):
    subject = subject("codex-0.155.1")
