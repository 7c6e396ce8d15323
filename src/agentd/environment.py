"""The clean environment that CLIs get, and the programs found in it.

A CLI gets the daemon's HOME, the login shell's PATH, locale, terminal and proxies, and what the config
adds. Nothing that an outer agent left behind reaches it: its variables switch transcripts off or make
an inner CLI believe that it is a child.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import trio

from agentd import __version__
from agentd.adapter import Adapter, Program, Unsupported

KEPT = (
    "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SSH_AUTH_SOCK",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
)  # fmt: skip
LOGIN_SHELL_S = 5.0
PROBE_S = 20.0
"""`--help` takes 0.1-1 s on an idle machine; a loaded one needs more."""


def clean(environment: Mapping[str, str], path: str) -> dict[str, str]:
    """What every CLI is started with, before its own additions."""
    kept = {name: value for name, value in environment.items() if name in KEPT or name.startswith("LC_")}
    kept.setdefault("LANG", "C.UTF-8")
    kept["PATH"] = path
    kept["TERM"] = "screen-256color"
    kept["COLORTERM"] = "truecolor"
    return kept


async def login_path(environment: Mapping[str, str]) -> str:
    """The login shell's PATH, then what only the daemon's has: a service's PATH lacks `~/.local/bin`,
    and a login shell's may lack what a virtual environment added."""
    own = environment.get("PATH", os.defpath)
    shell = environment.get("SHELL") or "/bin/sh"
    mark = "agentd-path:"
    found = ""
    with trio.move_on_after(LOGIN_SHELL_S):
        try:
            done = await trio.run_process(
                [shell, "-lc", f'printf "\\n{mark}%s\\n" "$PATH"'],
                capture_stdout=True,
                stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL,
                check=False,
                env={k: v for k, v in environment.items() if k not in ("TMUX", "TMUX_PANE")},
                start_new_session=True,
            )
            for line in done.stdout.decode(errors="replace").splitlines():
                if line.startswith(mark):
                    found = line[len(mark) :]
        except OSError:
            # No such shell: the daemon's own PATH must do.
            pass
    return ":".join(dict.fromkeys([*filter(None, found.split(":")), *filter(None, own.split(":"))]))


class Programs:
    """Finds a provider's program and asks it what it knows, once per executable (path, size, time)."""

    def __init__(self, cache: Path, environment: Mapping[str, str]) -> None:
        self._cache = cache
        self.environment = environment

    def find(self, command: Sequence[str]) -> list[str] | None:
        """The command with its program as an absolute path, or None if it isn't there."""
        path = shutil.which(command[0], path=self.environment.get("PATH"))
        return [str(Path(path).absolute()), *command[1:]] if path else None

    async def examine(self, adapter: Adapter, command: Sequence[str], env: Mapping[str, str]) -> Program:
        """What the program told about itself.

        Raises:
            Unsupported: it isn't installed, doesn't answer, or is a release that can't be driven.
        """
        argv = self.find(command)
        if argv is None:
            raise Unsupported(
                f"{adapter.provider}: {command[0]!r} isn't on the PATH of your login shell; "
                "install it, or name it in the config: "
                f'[adapters.{adapter.provider}] command = ["/path/to/{Path(command[0]).name}"]'
            )
        key = self._key(argv)
        if (known := self._load().get(key)) is not None:
            return Program(tuple(known["argv"]), known["version"], known["help"], known["facts"])
        version, failed = await self._ask(argv, "--version", env)
        if failed:
            # The adapter may know what the program's last words mean, and what would help.
            await trio.to_thread.run_sync(adapter.examine, Program(tuple(argv), version, ""))
            raise Unsupported(f"`{' '.join(argv)} --version` ended with status {failed}: {version[-300:]}")
        text, failed = await self._ask(argv, "--help", env)
        if failed:
            raise Unsupported(f"`{' '.join(argv)} --help` ended with status {failed}: {text[-300:]}")
        program = Program(tuple(argv), version, text)
        facts = await trio.to_thread.run_sync(adapter.examine, program)
        program = replace(program, facts=dict(facts))
        self._save(key, program)
        return program

    async def _ask(self, argv: Sequence[str], flag: str, env: Mapping[str, str]) -> tuple[str, int]:
        """What the program says, and its exit status."""
        with trio.move_on_after(PROBE_S) as scope:
            try:
                done = await trio.run_process(
                    [*argv, flag],
                    capture_stdout=True,
                    capture_stderr=True,
                    stdin=subprocess.DEVNULL,
                    check=False,
                    env=dict(env),
                    start_new_session=True,
                )
            except OSError as error:
                raise Unsupported(f"{argv[0]} can't be run: {error}") from error
        if scope.cancelled_caught:
            raise Unsupported(f"`{argv[0]} {flag}` didn't answer within {PROBE_S:g}s")
        text = done.stdout.decode(errors="replace").strip() or done.stderr.decode(errors="replace").strip()
        return text, done.returncode

    @staticmethod
    def _key(argv: Sequence[str]) -> str:
        """Every file of the argv counts: for `node cli.js` the second one is the program. So does the release
        of agentd, whose adapters decide what is read from it."""
        parts = [__version__]
        for word in argv:
            path = Path(word)
            if path.is_absolute() and path.is_file():
                real = path.resolve()
                status = real.stat()
                parts.append(f"{real}:{status.st_size}:{status.st_mtime_ns}")
            else:
                parts.append(word)
        return "\n".join(parts)

    def _load(self) -> dict[str, Any]:
        try:
            data = json.loads(self._cache.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def _save(self, key: str, program: Program) -> None:
        known = self._load()
        known[key] = asdict(program)
        new = self._cache.with_suffix(".new")
        try:
            new.write_text(json.dumps(dict(list(known.items())[-20:])), encoding="utf-8")
            new.replace(self._cache)
        except OSError:
            # A cache that can't be written is asked again next time.
            pass
