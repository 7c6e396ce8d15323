"""Plays `agentd.testing.scenario` for several providers side by side; see scripts/e2e."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import tomlkit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentd.paths import config_file
from agentd.testing import scenario
from agentd.testing.conformance import Subject
from agentd.testing.daemon import Daemon
from agentd.testing.model import ScriptedModel
from agentd.testing.scenario import NATURAL, SCRIPTED, NeedsPerson
from tests.real import claude_code, codex, pi

SUBJECTS: Mapping[str, Callable[[str], Subject]] = {
    "claude-code": claude_code.subject,
    "codex": codex.subject,
    "pi": pi.subject,
}
LIVE = ("claude-code", "codex", "cursor", "pi")
USERS_OWN = ("HOME", "PATH", "SHELL", "LANG", "XDG_CONFIG_HOME", "XDG_DATA_HOME")


@contextmanager
def scripted(provider: str) -> Iterator[Daemon]:
    """The pinned release with a home of its own and a scripted model."""
    subject = SUBJECTS[provider](provider)
    with ScriptedModel() as model:
        daemon = Daemon()
        daemon.configure(subject.setup(model.url, daemon.root) + scenario.CONFIG)
        if subject.allow:
            subject.allow(daemon.root, scenario.TOOL)
        with daemon:
            yield daemon


@contextmanager
def live(provider: str) -> Iterator[Daemon]:
    """The user's own CLI, login and settings of agentd, in a temporary workspace."""
    daemon = Daemon(env={name: os.environ[name] for name in USERS_OWN if name in os.environ})
    own = config_file(os.environ)
    config = tomlkit.parse(own.read_text() if own.exists() else "")
    config["bridge"] = {"tools": [scenario.TOOL]}
    config["trust"] = {"workspaces": [str(daemon.work)]}
    daemon.configure(tomlkit.dumps(config))
    with daemon:
        [adapter] = [a for a in daemon.get("/v1/adapters")["adapters"] if a["provider"] == provider]
        if adapter["problem"]:
            raise NeedsPerson(adapter["problem"])
        yield daemon


def play(provider: str, is_live: bool, seconds: int) -> tuple[bool | None, str]:
    """Whether it went well (None: it could not be played), and what to say of it."""
    try:
        with (live if is_live else scripted)(provider) as daemon:
            played = scenario.play(daemon, provider, NATURAL if is_live else SCRIPTED, seconds=seconds)
    except NeedsPerson as error:
        return None, f"skipped: {error}"
    except Exception as error:  # whatever it was, the others go on
        notes = "\n".join(getattr(error, "__notes__", ()))
        return False, f"FAILED: {type(error).__name__}: {error}\n{notes}"
    return True, (
        f"ok: the command ran {played.command_s:.1f} s of a turn of {played.turn_s:.1f} s; "
        f"the live input was {played.receipt}; nothing is left"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/e2e", description=scenario.__doc__)
    parser.add_argument("providers", nargs="*", metavar="PROVIDER", help="by default all")
    parser.add_argument("--live", action="store_true", help="this machine's CLIs and their real services")
    parser.add_argument(
        "--seconds", type=int, default=scenario.SILENT_S, metavar="N",
        help="how long the command is silent (default: %(default)s)",
    )  # fmt: skip
    asked = parser.parse_args()
    known = LIVE if asked.live else tuple(SUBJECTS)
    if unknown := [name for name in asked.providers if name not in known]:
        parser.error(f"can't be played {'live' if asked.live else 'scripted'}: {', '.join(unknown)}")
    providers = asked.providers or known
    with ThreadPoolExecutor(len(providers)) as pool:
        running = [pool.submit(play, provider, asked.live, asked.seconds) for provider in providers]
        results = []
        for provider, future in zip(providers, running, strict=True):
            well, text = future.result()
            results.append(well)
            print(f"{provider}: {text}", flush=True)
    return 0 if True in results and False not in results else 1


if __name__ == "__main__":
    sys.exit(main())
