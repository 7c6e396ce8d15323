"""The MCP server on standard input and output, with the official SDK on trio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
import trio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from agentd import __version__
from agentd.bridge import unreadable
from agentd.bridge.forward import LIMITS, Forwarder
from agentd.bridge.settings import Settings

NAME = "api-bridge"
Context = ServerRequestContext[Any]


def tool_use(meta: Mapping[str, Any]) -> str | None:
    """The CLI's own id of this use of the tool, which its record will name again. Claude Code tells it as
    `claudecode/toolUseId`."""
    for key, value in meta.items():
        if key.rpartition("/")[2] == "toolUseId" and isinstance(value, str):
            return value if value.isascii() and value.isprintable() else None
    return None


def serve(settings: Settings, limits: Mapping[str, float] = LIMITS) -> None:
    """Serve until standard input ends; calls that still run are cancelled then."""
    trio.run(_serve, Forwarder(settings, limits))


async def _serve(forwarder: Forwarder) -> None:
    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools = [
            types.Tool(name=t.name, description=t.description, input_schema=dict(t.input_schema))
            for t in await forwarder.tools()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        say = context.session.report_progress
        use = tool_use(dict(params.meta or {}))
        result = await forwarder.call(params.name, params.arguments or {}, say, use)
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=result.text)]
        return types.CallToolResult(content=content, is_error=result.is_error)

    server: Server[Any] = Server(NAME, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing), trio.open_nursery() as nursery:
        passing, readable = trio.open_memory_channel[SessionMessage | Exception](0)

        async def relay() -> None:
            async with passing:
                async for message in reading:
                    refusal = unreadable.answer(message) if isinstance(message, Exception) else None
                    if refusal:
                        await writing.send(SessionMessage(refusal))
                    else:
                        await passing.send(message)

        nursery.start_soon(relay)
        await server.run(readable, writing, server.create_initialization_options())
        nursery.cancel_scope.cancel(reason="the server has ended")
