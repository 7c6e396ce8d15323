"""Following files that grow: JSON lines, the hook spool, and what wakes their readers."""
