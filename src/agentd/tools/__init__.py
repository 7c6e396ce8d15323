"""Server-side tools behind the bridge: what an agent's model may call, and how each one runs and ends."""
