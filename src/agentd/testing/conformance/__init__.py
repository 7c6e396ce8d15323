"""The conformance suite: what every adapter must do with its real CLI (or a simulator), told as tests.

    class TestMyCli(Conformance):
        subject = Subject(provider="my-cli", ...)

`ToolConformance` holds a CLI with MCP to what the bridge promises.

Each class gets a daemon and a scripted model of its own and drives the CLI through the command line, as
a user does. A test that a CLI can't do is answered by data on the subject, never by a name.
"""

from agentd.testing.conformance.bench import PATIENCE, Bench, events
from agentd.testing.conformance.subject import Backstop, Subject
from agentd.testing.conformance.tools import ToolConformance
from agentd.testing.conformance.turns import Conformance

__all__ = ["PATIENCE", "Backstop", "Bench", "Conformance", "Subject", "ToolConformance", "events"]
