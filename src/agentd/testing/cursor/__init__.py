"""A stand-in for Cursor's CLI, which no test can install: `python -m agentd.testing.cursor --build DAY`.

A program of its own: a TUI in raw mode, the hooks of `.cursor/hooks.json` as the real one runs them, its
transcript and chat files, its dialogs, and the traps that others met. What it answers is scripted by the
prompt (see `script`). Built from the vendor's documents, and from notes, payloads and panes of others; where
those are silent or disagree, an option says which way it goes. It proves that the adapter fits what is known,
not that what is known is right.
"""
