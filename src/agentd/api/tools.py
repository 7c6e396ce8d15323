"""The tools' routes: each agent calls its own, with the token of its bridge."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path_

from agentd.agents import effects as fx
from agentd.agents.owner import Owner
from agentd.agents.supervisor import Supervisor
from agentd.api.refusals import Refused
from agentd.api.stream import EventStream, SendEvent, wants_events
from agentd.contract import Layer, Policy
from agentd.tools import checking
from agentd.tools.execution import Execution
from agentd.tools.registry import Caller, Registry, Result, Route, Tool

AGENT = "agentd-agent"
"""A header that says whose bridge asks: a token that is another agent's is refused."""
CALL = "agentd-call"
"""A header that names the call, so that its client can say why it ends it."""
USE = "agentd-tool-use"
"""A header with the CLI's own id of this use of the tool."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
LARGEST = 4 * 1024 * 1024
"""The most that the arguments of a call may take, in bytes."""
CANCELLING = {
    Layer.PROVIDER_MCP: "by the CLI, which took the call back or gave it up",
    Layer.MCPBRIDGE_HTTP: "by agentd bridge, whose own limit passed",
}


class ToolRoutes:
    """What the routes need. `environment` is what the commands of tools are started with."""

    def __init__(
        self,
        supervisor: Supervisor,
        registry: Registry,
        execution: Execution,
        policy: Callable[[], Policy],
        environment: Mapping[str, str],
        socket: Path,
    ) -> None:
        self._supervisor = supervisor
        self._registry = registry
        self._execution = execution
        self._policy = policy
        self._environment = environment
        self._socket = socket

    def routes(self) -> list[Path_]:
        return [
            Path_("/v1/tools", self.list, methods=["GET"]),
            Path_("/v1/tools/calls/{call}", self.cancel, methods=["DELETE"]),
            *(Path_(f"/v1/tools/{route}/{{tool}}", self._calls(route), methods=["POST"]) for route in Route),
        ]

    async def list(self, request: Request) -> Response:
        agent = self._agent(request)
        policy = self._policy()
        tools = [tool.public(policy) for tool in self._registry.offered(agent.name)]
        answer = JSONResponse({"agent": agent.name, "tools": tools})
        agent.tell(fx.BridgeReady())  # not before there is an answer: a prompt would go in without tools
        return answer

    async def cancel(self, request: Request) -> Response:
        """The client says why it is about to close a call's request: which layer it was."""
        agent = self._agent(request)
        layer = request.query_params.get("layer")
        if layer not in list(CANCELLING):
            raise Refused(400, "usage", f"`layer` must be one of {', '.join(CANCELLING)}")
        by = CANCELLING[Layer(layer)]
        count = self._execution.calls.cancel(
            agent.name, by, layer=Layer(layer), call=request.path_params["call"]
        )
        return JSONResponse({"cancelled": count})

    def _calls(self, route: Route) -> Callable[[Request], Any]:
        async def call(request: Request) -> Response:
            return await self._call(request, route)

        return call

    async def _call(self, request: Request, route: Route) -> Response:
        agent = self._agent(request)
        name = request.path_params["tool"]
        tool = self._registry.find(name, route)
        if tool is None:
            raise Refused(404, "unknown", f"there is no {route} tool {name!r}")
        id = request.headers.get(CALL, uuid.uuid4().hex)
        self._admit(request, agent, tool, id)
        arguments = await self._arguments(request, tool)

        async def work(send: SendEvent) -> Result:
            async def say(progress: float, message: str) -> None:
                await send("progress", {"progress": progress, "total": None, "message": message})

            # Again, and up to the call's registration nothing is awaited: whoever ends an agent finds the
            # call, or the call finds that it ended.
            self._admit(request, agent, tool, id)
            return await self._execution.run(
                tool,
                self._caller(agent),
                arguments,
                say,
                id=id,
                use=request.headers.get(USE),
                provider_mcp_s=agent.life.mcp_timeout_s,
            )

        if wants_events(request):

            async def produce(send: SendEvent) -> None:
                try:
                    result = await work(send)
                except Refused as error:  # the answer has begun
                    result = Result(f"{error}; nothing was run", is_error=True)
                await send("result", vars(result))

            return EventStream(produce)

        async def silent(name: str, data: Any, *, id: int | None = None) -> None:
            pass

        return JSONResponse(vars(await work(silent)))

    # Who asks, and for what -----------------------------------------------------------------------

    def _agent(self, request: Request) -> Owner:
        """The agent whose token this is."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        owner = self._supervisor.holder(token.strip()) if scheme.lower() == "bearer" else None
        if owner is None:
            raise Refused(
                401,
                "unauthorized",
                "the tools are an agent's own: its bridge's token is missing or of no agent that runs",
            )
        named = request.headers.get(AGENT)
        if named is not None and named != owner.name:
            raise Refused(403, "forbidden", f"this token is not {named}'s")
        return owner

    def _caller(self, owner: Owner) -> Caller:
        mine = {"AGENTD_AGENT": owner.name, "AGENTD_SOCKET": str(self._socket)}
        environment = {**self._environment, **mine}
        return Caller(owner.name, Path(owner.life.row.cwd), owner.life.folder, environment)

    def _admit(self, request: Request, agent: Owner, tool: Tool, id: str) -> None:
        """Refuse a call that may not run, as things are now. It was asked before its body was read, and a
        body may take as long as its client likes."""
        self._agent(request)  # the token is still good
        if not self._registry.enabled(tool, agent.name):
            raise Refused(
                403,
                "forbidden",
                f"{tool.name} isn't enabled for {agent.name}; "
                "the config's [bridge] tools names those that are",
            )
        if self._supervisor.closing:
            raise Refused(503, "closing", "the daemon is about to end")
        if not _ID.match(id) or any(call.id == id for call in self._execution.calls.of()):
            raise Refused(400, "usage", f"`{CALL}` must be a new name of a-z, A-Z, 0-9, _ and -")

    async def _arguments(self, request: Request, tool: Tool) -> Mapping[str, Any]:
        raw = bytearray()
        async for piece in request.stream():
            raw += piece
            if len(raw) > LARGEST:
                raise Refused(413, "usage", f"the arguments take more than {LARGEST} bytes")
        try:
            arguments = json.loads(bytes(raw) or b"{}", parse_constant=_not_json)
            # 1e999 is infinite as well, and half a character (a lone surrogate) is no text.
            json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise Refused(400, "usage", f"the arguments are no JSON: {_said(error)}") from error
        if problem := await checking.problem(tool, arguments, len(raw)):
            raise Refused(422, "arguments", f"bad arguments of {tool.name}, nothing was run: {problem}")
        if not isinstance(arguments, dict):
            raise Refused(422, "arguments", f"the arguments of {tool.name} must be a JSON object")
        return arguments


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number (NaN and infinity are none)")


def _said(error: Exception) -> str:
    """What is wrong, without the half character itself, which no answer could hold."""
    if isinstance(error, UnicodeEncodeError):
        return f"a lone surrogate (\\u{ord(error.object[error.start]):04x}) is half a character"
    return str(error)
