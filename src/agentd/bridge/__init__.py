"""`agentd bridge`: the stdio MCP server `api-bridge` that each CLI starts. A process of its own: neither the
daemon nor another command imports this package."""
