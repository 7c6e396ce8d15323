"""Pi against the scripted model: the newest pin on a newer Node.js, and two old releases."""

from __future__ import annotations

import pytest

from agentd.testing.conformance import Conformance

from .pi import subject


@pytest.mark.xdist_group("pi")
class TestPi(Conformance):
    subject = subject("pi")


@pytest.mark.xdist_group("pi-0.87.1")
class TestPi0x87x1(Conformance):
    subject = subject("pi-0.87.1")


@pytest.mark.xdist_group("pi-0.73.1")
class TestPi0x73x1(Conformance):
    subject = subject("pi-0.73.1")
