"""The daemon: puts the parts together, and nothing else does."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import trio

from agentd import config as configuration
from agentd import environment as env
from agentd import logs
from agentd.adapter import Adapter, Unsupported, load_adapters
from agentd.agents.calls import Calls
from agentd.agents.clock import Clock
from agentd.agents.hub import Hub
from agentd.agents.launching import CliLauncher
from agentd.agents.services import Services
from agentd.agents.supervisor import Supervisor
from agentd.api.app import Api
from agentd.api.server import Listener, SocketError, serve
from agentd.api.tools import ToolRoutes
from agentd.api.views import Views
from agentd.config import Config, ConfigError
from agentd.contract import Policy
from agentd.formats import NewerFormat
from agentd.history import keep_small
from agentd.ledger import Ledger
from agentd.lock import Held, Lock
from agentd.model import Event, Kind, Source
from agentd.records.watch import FileWatcher
from agentd.tmux.server import TmuxError, TmuxServer
from agentd.tmux.terminal import TmuxTerminal
from agentd.tools import custom, leftovers, shell
from agentd.tools.execution import Execution
from agentd.tools.registry import Registry

log = logging.getLogger("agentd")

TOOLS_END_S = 3.0
"""How long the daemon waits for the tools that it ends when it ends itself; they take 1.2 s at most."""
CONFIG_SETTLES_S = 0.2
"""How long the config file must stand still before it is read again."""


class StateError(Exception):
    """The state directory can't be had; the text says why and what to do."""


def run(
    *, socket: Path, state_dir: Path, config: Path, log_level: str, log_format: str, log_file: Path | None
) -> int:
    """Run the daemon until SIGTERM or SIGINT; the exit code."""
    try:
        logs.begin(log_level, log_format, log_file)
        return trio.run(_main, socket, state_dir, config)
    except (SocketError, StateError, NewerFormat, ConfigError, TmuxError, OSError) as error:
        print(f"agentd: {error}", file=sys.stderr)
        return 1


async def _main(socket: Path, state_dir: Path, config_path: Path) -> int:
    with ExitStack() as held:
        listener = held.enter_context(closing(Listener(socket)))
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            about = f"process {os.getpid()}, on {socket}"
            held.enter_context(closing(Lock(state_dir / "agentd.lock", about)))
        except OSError as error:
            raise StateError(f"{state_dir / 'agentd.lock'} can't be written: {error}") from error
        except Held as error:
            raise StateError(
                f"another agentd ({error}) keeps its state in {state_dir}; end it, or use another --state-dir"
            ) from error
        store = held.enter_context(closing(_open_store(state_dir / "agentd.db")))
        await _Daemon(listener, store, state_dir, config_path).run()
    return 0


def _open_store(path: Path) -> Ledger:
    try:
        return Ledger(path)
    except (sqlite3.Error, OSError) as error:
        # Nothing is lost by that: agents live on in their panes, and are found by the daemon that can start.
        raise StateError(
            f"the store {path} can't be opened: {error}. Free room on that disk, make the file writable, "
            "or put a damaged one aside; agents go on meanwhile"
        ) from error


class _Daemon:
    def __init__(self, listener: Listener, store: Ledger, state_dir: Path, config_path: Path) -> None:
        self.listener = listener
        self.store = store
        self.state_dir = state_dir
        self.config_path = config_path
        self.config_error: str | None = None
        self.warnings: list[str] = []
        self.adapters = load_adapters(self._warn)
        self.config: Config = configuration.load(config_path, self.adapters)
        self.asked_to_end = trio.Event()
        self.config_changed = trio.Event()
        self.supervisor: Supervisor | None = None

    def _warn(self, text: str) -> None:
        self.warnings.append(text)
        log.warning("%s", text)

    async def run(self) -> None:
        environment = dict(os.environ)
        clean = env.clean(environment, await env.login_path(environment))
        tmux = TmuxServer(self.listener.path.with_suffix(".tmux.sock"), clean)
        terminal = TmuxTerminal(tmux)
        programs = env.Programs(self.state_dir / "programs.json", clean)
        watcher = FileWatcher()
        registry = Registry(lambda: self.config, (shell.TOOL,), custom.tools)

        def offered(agent: str) -> tuple[str, ...]:
            return tuple(tool.name for tool in registry.offered(agent))

        launcher = CliLauncher(
            self.adapters,
            terminal,
            programs,
            lambda: self.config,
            self.policy,
            self.listener.path,
            offered,
        )
        services = Services(self.store, Hub(), terminal, watcher, Clock.of_this_machine(), launcher, Calls())
        home = Path(clean.get("HOME") or Path.home())
        supervisor = Supervisor(
            self.adapters,
            services,
            self.state_dir / "agents",
            lambda: self.config,
            self.policy,
            home,
            offered,
        )
        self.supervisor = supervisor
        views = Views(supervisor, tmux)

        async def describe(adapter: Adapter) -> Mapping[str, Any]:
            return await _describe(adapter, launcher, programs)

        def tell(agent: str, data: Mapping[str, Any]) -> None:
            services.publish(agent, Event(Kind.TOOL, Source.AGENTD, services.clock.now(), data))

        execution = Execution(services.calls, self.policy, tell)
        tools = ToolRoutes(supervisor, registry, execution, self.policy, clean, self.listener.path)
        api = Api(supervisor, views, self.health, self.policy, describe, tools.routes())
        for warning in self.policy().warnings:
            self._warn(warning)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            nursery.start_soon(self.store.run)
            nursery.start_soon(self._signals)
            nursery.start_soon(keep_small, self.store, lambda: self.config.history, services.clock.now)
            await leftovers.end_all(self.state_dir / "agents")
            terminal.forget_pastes()
            await nursery.start(supervisor.run)
            nursery.start_soon(self._follow_config)
            watcher.watch(self.config_path, lambda: self.config_changed.set())
            print(f"agentd: ready on {self.listener.path}", flush=True)

            async def until() -> None:
                await self.asked_to_end.wait()
                supervisor.closing = True
                services.calls.cancel(None, "by the daemon, which was asked to end")
                with trio.move_on_after(TOOLS_END_S):
                    await services.calls.gone()

            await serve(api.app(), self.listener, until)
            nursery.cancel_scope.cancel(reason="the daemon was asked to end")
        log.info(
            "ended; %d agents live on in their panes", sum(o.state.alive for o in supervisor.owners.values())
        )

    def policy(self) -> Policy:
        source = f"config {self.config_path}"
        return Policy.from_environment(
            os.environ,
            retention=(self.config.retention_s, source if self.config.retention_set else "default"),
            readiness={
                name: (adapter.readiness, source)
                for name, adapter in self.config.adapters.items()
                if adapter.readiness
            },
        )

    def health(self) -> Mapping[str, Any]:
        return {
            "socket": str(self.listener.path),
            "config": str(self.config_path),
            "config_error": self.config_error,
            "store_error": self.store.problem,
            "warnings": self.warnings,
        }

    def reload(self) -> None:
        """Read the config again; a bad one changes nothing but what `health` says."""
        try:
            self.config = configuration.load(self.config_path, self.adapters)
            self.config_error = None
            log.info("config read again")
            if self.supervisor:
                self.supervisor.reconfigure()
        except ConfigError as error:
            self.config_error = str(error)
            log.error("%s; the last good config stays in force", error)

    async def _follow_config(self) -> None:
        """An editor empties a file before it writes it: what is in between is nobody's wish."""
        while True:
            await self.config_changed.wait()
            while self.config_changed.is_set():
                self.config_changed = trio.Event()
                await trio.sleep(CONFIG_SETTLES_S)
            self.reload()

    async def _signals(self) -> None:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as received:
            async for number in received:
                if number == signal.SIGHUP:
                    self.reload()
                    continue
                log.info("asked to end by %s", signal.Signals(number).name)
                self.asked_to_end.set()


async def _describe(adapter: Adapter, launcher: CliLauncher, programs: env.Programs) -> Mapping[str, Any]:
    """One adapter, as `agentd adapters` shows it."""
    command = launcher.command(adapter)
    version, problem, found = None, None, programs.find(command)
    native = adapter.native_timeout
    try:
        program = await programs.examine(adapter, command, launcher.environment(adapter))
    except Unsupported as error:
        problem = str(error)
    else:
        version = program.version
        native = program.documented(native)
    return {
        "provider": adapter.provider,
        "aliases": list(adapter.aliases),
        "command": list(command),
        "found": found[0] if found else None,
        "version": version,
        "problem": problem,
        "capabilities": vars(adapter.capabilities),
        "tested": adapter.capabilities.tested,
        "unverified": list(adapter.capabilities.unverified),
        "mcp_timeout": {"setting": native.name, "unit": native.unit} if native else None,
    }
