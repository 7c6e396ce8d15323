"""Run the scripted model by hand: `python -m agentd.testing.model --port 0`."""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import threading
from collections.abc import Sequence
from functools import partial

from agentd.testing.model import Request, ScriptedModel


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m agentd.testing.model", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="the loopback port; 0 takes a free one")
    parser.add_argument("--tick", type=float, default=1.0, help="how long a script's second takes")
    options = parser.parse_args(arguments)
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with ScriptedModel(options.tick, options.port) as model:
        print(model.url, flush=True)
        threading.Thread(target=_log, args=(model,), daemon=True).start()
        signal.sigwait(ends)


def _log(model: ScriptedModel) -> None:
    for number in itertools.count(1):
        request = model.wait_for(partial(_is_over, number), threading.TIMEOUT_MAX)
        print(_line(request), flush=True)


def _is_over(number: int, request: Request) -> bool:
    return request.number == number and request.outcome != "open"


def _line(request: Request) -> str:
    shown = {
        "number": request.number,
        "request": f"{request.method} {request.path}",
        "step": request.step,
        "directive": str(request.directive or ""),
        "tools": len(request.tools),
        "outcome": request.outcome,
    }
    return json.dumps(shown)


if __name__ == "__main__":
    main()
