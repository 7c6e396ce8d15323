"""The measuring of `scripts/bench`: prints a table of numbers and asserts nothing."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentd.api.client import Client
from agentd.testing.daemon import Daemon
from agentd.testing.until import until

Row = tuple[str, str, str, str]


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--times", type=int, default=40, help="repetitions of what a median is taken of")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the idle agents are looked at")
    parser.add_argument("--turns", type=int, default=1000, help="after which the memory is looked at again")
    given = parser.parse_args()
    with Daemon(demo=()) as daemon:
        rows = list(measure(daemon, given.agents, given.times, given.seconds))
    with Daemon(demo=("--tick", "0.01")) as daemon:
        rows += growth(daemon, given.turns)
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def measure(daemon: Daemon, agents: int, times: int, seconds: float) -> Iterator[Row]:
    yield ("WHAT", "MEASURED", "RATIO", "TARGET")
    yield from commands(daemon, times)
    client = Client(daemon.socket, timeout=300)
    yield from round_trip(daemon, client, times)
    yield from many(daemon, client, agents, seconds)


def commands(daemon: Daemon, times: int) -> Iterator[Row]:
    """The command line over a bare Python start; both take turns, so that both meet the same machine."""
    python = [sys.executable, "-c", "pass"]
    program = [str(Path(sys.executable).with_name("agentd"))]
    send(daemon, program)
    bare, listing, sending = [], [], []
    for _ in range(times):
        bare.append(timed(lambda: run(daemon, python)))
        listing.append(timed(lambda: run(daemon, [*program, "list", "--json"])))
        began = time.perf_counter()
        turn = send(daemon, program)
        sending.append(time.perf_counter() - began - turn)
    base = statistics.median(bare)
    yield ("python -c pass", milliseconds(base), "1.0", "")
    for name, values in (("agentd list", listing), ("agentd send, less the turn itself", sending)):
        value = statistics.median(values)
        yield (name, milliseconds(value), f"{value / base:.1f}", "")
        target = "<= 80 ms" if values is sending else ""
        yield ("  over a bare Python", milliseconds(value - base), "", target)


def send(daemon: Daemon, program: list[str]) -> float:
    """One prompt; how long the daemon says that its turn took."""
    done = run(daemon, [*program, "send", "demo", "hi", "--json", "--quiet"])
    return float(json.loads(done)["duration_s"])


def run(daemon: Daemon, command: list[str]) -> bytes:
    done = subprocess.run(
        command, env=daemon.env, cwd=daemon.work, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    return done.stdout


def round_trip(daemon: Daemon, client: Client, times: int) -> Iterator[Row]:
    """A prompt from the request to its answer, without any process of ours."""
    whole, turns = [], []
    for number in range(times):
        body = {"text": f"round trip {number}", "cwd": str(daemon.work)}
        began = time.perf_counter()
        told = client.request("POST", "/v1/agents/demo/messages", body)[1]
        whole.append(time.perf_counter() - began)
        turns.append(told["duration_s"])
    value, turn = statistics.median(whole), statistics.median(turns)
    yield ("prompt round trip over HTTP", milliseconds(value), "", "")
    yield ("  of it the turn in the CLI", milliseconds(turn), f"{turn / value:.2f}", "")


def many(daemon: Daemon, client: Client, agents: int, seconds: float) -> Iterator[Row]:
    def start(number: int) -> None:
        body = {"text": "hello", "cwd": str(daemon.work), "name": f"many-{number}"}
        Client(daemon.socket, timeout=300).request("POST", "/v1/agents/demo/messages", body)

    def all_of_them() -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(start, range(agents)))

    yield (f"{agents} agents started and asked", f"{timed(all_of_them):.1f} s", "", "")

    def ready() -> int:
        return sum(agent["state"] == "ready" for agent in client.request("GET", "/v1/agents")[1])

    until("all are ready", lambda: ready() > agents, 120)
    time.sleep(8)  # the late hooks of the last turns, and the daemon's first slow look at every file
    ours = {"daemon": [psutil.Process(daemon.pid)], "tmux": [psutil.Process(daemon.tmux.pid)]}
    before = {name: used(processes) for name, processes in ours.items()}
    began = time.perf_counter()
    time.sleep(seconds)
    passed = time.perf_counter() - began
    shares = {name: (used(processes) - before[name]) / passed for name, processes in ours.items()}
    for name, share in shares.items():
        yield (f"{name}, {agents} agents idle", f"{100 * share:.2f} % of a core", "", "")
    yield ("  both", f"{100 * sum(shares.values()):.2f} % of a core", "", "< 1 %")
    memory = psutil.Process(daemon.pid).memory_info().rss / 2**20
    yield ("  the daemon's memory", f"{memory:.0f} MiB", "", "")

    daemon.end()
    empty = timed(lambda: subprocess.run([sys.executable, "-c", "import agentd.daemon"], check=True))
    adopted = timed(daemon.start)
    assert ready() > agents, "not all were adopted"
    yield (f"a daemon that adopts {agents} agents is ready", milliseconds(adopted), "", "")
    yield ("  of it the imports", milliseconds(empty), f"{empty / adopted:.2f}", "")


def growth(daemon: Daemon, turns: int) -> Iterator[Row]:
    """What turns leave behind in the daemon and on the disk: the first half of them against the second."""
    several = 4

    def ask(number: int) -> None:
        client = Client(daemon.socket, timeout=300)
        for turn in range(turns // 2 // several):
            body = {"text": f"@say {turn} {'x' * 500}", "cwd": str(daemon.work), "name": f"turns-{number}"}
            client.request("POST", "/v1/agents/demo/messages", body)

    def half() -> tuple[float, float]:
        with ThreadPoolExecutor(several) as pool:
            list(pool.map(ask, range(several)))
        files = sum(file.stat().st_blocks * 512 for file in daemon.state.rglob("*") if file.is_file())
        return psutil.Process(daemon.pid).memory_info().rss / 2**20, files / 2**20

    began = psutil.Process(daemon.pid).memory_info().rss / 2**20
    (memory, disk), (memory_later, disk_later) = half(), half()
    for name, values in (("memory", (began, memory, memory_later)), ("disk", (0.0, disk, disk_later))):
        start, middle, end = values
        ratio = (end - middle) / (middle - start) if middle > start else 0.0
        yield (f"{name}, after {turns // 2} and {turns} turns", f"{middle:.1f}, {end:.1f} MiB", "", "")
        yield ("  the second half's share over the first's", f"{end - middle:.1f} MiB", f"{ratio:.2f}", "")


def used(processes: list[psutil.Process]) -> float:
    """Seconds of CPU time, children that have ended included."""
    return sum(sum(process.cpu_times()[:4]) for process in processes)


def timed(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    main()
