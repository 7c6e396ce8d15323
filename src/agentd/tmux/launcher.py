"""Becomes the CLI: `python launcher.py FILE`, run by tmux as the pane's program.

FILE (0600) holds argv, environment and directory as JSON. So no secret shows in any argv, the CLI gets
exactly the environment that was meant for it, and nothing has to survive tmux's quoting. The process
that tmux started is the CLI afterwards.
"""

import json
import os
import sys


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double the start time
        launch = json.load(file)
    environment = launch["env"]
    environment.setdefault("TERM", os.environ.get("TERM", "screen-256color"))
    try:
        os.chdir(launch["cwd"])
        os.execvpe(launch["argv"][0], launch["argv"], environment)
    except OSError as error:
        print(f"agentd can't start {launch['argv'][0]} in {launch['cwd']}: {error.strerror}", flush=True)
        sys.exit(127)


if __name__ == "__main__":
    main()
