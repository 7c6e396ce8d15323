"""How the bridge starts: the SDK is imported only when it is sure that it will serve."""

from __future__ import annotations

import signal

from agentd.bridge.settings import Settings


def start(settings: Settings) -> int:
    """Serve until standard input ends; the exit code."""
    # The thread that reads standard input can't be interrupted: a signal ends the process, which closes
    # its requests, and so ends their tools.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from agentd.bridge.server import serve

    serve(settings)
    return 0
