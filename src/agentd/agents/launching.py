"""Starting a CLI: its program, its environment, its files, its pane."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import trio

from agentd.adapter import Adapter, LaunchRequest, Tenant, Unsupported
from agentd.agents import bridging
from agentd.agents.life import Life, Records
from agentd.agents.services import LaunchError
from agentd.config import Config
from agentd.contract import Policy
from agentd.environment import Programs
from agentd.model import Failure
from agentd.tmux.terminal import PaneRef, Terminal, write_private


class CliLauncher:
    """`config` and `policy` are asked at each start, so that a change counts from the next start on.
    `tools` are the names of those that an agent may call; one with any gets a bridge."""

    def __init__(
        self,
        adapters: Mapping[str, Adapter],
        terminal: Terminal,
        programs: Programs,
        config: Callable[[], Config],
        policy: Callable[[], Policy],
        socket: Path,
        tools: Callable[[str], tuple[str, ...]] = lambda agent: (),
    ) -> None:
        self._adapters = adapters
        self._terminal = terminal
        self._programs = programs
        self._config = config
        self._policy = policy
        self._socket = socket
        self._tools = tools

    def environment(self, adapter: Adapter) -> dict[str, str]:
        """What this provider's CLI is started with, before what the adapter adds."""
        own = {k: v for k, v in self._programs.environment.items() if k not in adapter.variables}
        return {**own, **self._config().adapter(adapter.provider).env}

    def command(self, adapter: Adapter) -> tuple[str, ...]:
        return self._config().adapter(adapter.provider).command or adapter.command

    async def launch(self, life: Life, records: Records, resume: str | None) -> tuple[PaneRef, str | None]:
        adapter = self._adapters[life.row.provider]
        cwd = Path(life.row.cwd)
        if not cwd.is_dir():
            raise self._error(life, "no_directory", f"{cwd} is no directory any more")
        env = self.environment(adapter)
        try:
            program = await self._programs.examine(adapter, self.command(adapter), env)
        except Unsupported as error:
            raise self._error(life, "unsupported", str(error)) from error
        life.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        records.begin()
        life.tools = self._tools(life.row.name)
        bridge = bridging.bridge(life, self._socket) if life.tools else None
        policy = self._policy()
        life.mcp_timeout_s = policy.mcp.value_s if program.documented(adapter.native_timeout) else None
        request = LaunchRequest(
            agent=life.row.name,
            program=program,
            cwd=cwd,
            folder=life.folder,
            hook=life.hook_argv(),
            spool=life.spool,
            policy=policy,
            home=Path(env.get("HOME") or Path.home()),
            environment=env,
            model=life.row.model,
            resume=resume,
            new_session=str(uuid.uuid4()),
            args=(*self._config().adapter(adapter.provider).args, *life.args),
            bridge=bridge,
        )
        if isinstance(adapter, Tenant):
            try:
                await trio.to_thread.run_sync(adapter.prepare, request)
            except Unsupported as error:
                raise self._error(life, "workspace", str(error)) from error
        launch = adapter.launch(request)
        for path, text in launch.files.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path, text)
        for source, path in launch.follow.items():
            # What stands there already is of an earlier process.
            records.follow(source, path, from_end=True)
        life.search = launch.search
        life.await_bridge = launch.await_bridge and bridge is not None
        output = records.follow_output() if launch.output else None
        pane = await self._terminal.start(
            life.row.name,
            life.row.id,
            launch.argv,
            {**env, "AGENTD_AGENT": life.row.name, "AGENTD_SOCKET": str(self._socket), **launch.env},
            cwd,
            life.folder,
            output,
        )
        return pane, launch.session_id

    @staticmethod
    def _error(life: Life, code: str, text: str) -> LaunchError:
        return LaunchError(Failure(code, text, session=life.row.name))
