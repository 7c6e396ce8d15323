"""An offline coding agent with a real terminal interface: `python -m agentd.demo`.

It needs no model, no account and no network: the prompt says what happens (see `script.py`). It is
the product's embedded default, and the tests' stand-in for any coding-agent CLI.

The program and its adapter share a package and nothing else: the program imports the standard library
alone, the adapter knows the program only by its record, its hooks and its screen, as with any CLI.
"""
