"""Codex's `notify` program: hands its last argument to the hook program, then to the user's own `notify`.

`python notify.py HOOK... JSON`. Codex passes the JSON as the last argument, not as standard input, and
the `notify` on its command line takes the place of the one in the user's config.toml, which is run
here afterwards. It prints nothing and never fails.

The JSON holds every prompt of the conversation, and Linux takes no argument above 128 KiB: in a long
conversation Codex can't start any `notify` any more. So nothing may depend on it.
"""

import contextlib
import os
import subprocess
import sys
import tomllib


def main() -> None:
    *hook, text = sys.argv[1:]
    with contextlib.suppress(Exception):
        subprocess.run(hook, input=text.encode("utf-8", "surrogateescape"), check=False)
    with contextlib.suppress(Exception):
        own = users_own()
        if own:
            os.execvp(own[0], [*own, text])


def users_own() -> list[str]:
    """The `notify` of the user's configuration."""
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")  # noqa: PTH111 - starts quicker
    with open(os.path.join(home, "config.toml"), "rb") as file:  # noqa: PTH118, PTH123
        own = tomllib.load(file).get("notify")
    return [str(word) for word in own] if isinstance(own, list) else []


if __name__ == "__main__":
    main()
