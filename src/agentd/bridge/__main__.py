"""`python -m agentd.bridge`: how the CLIs start it."""

import os
import sys

from agentd.bridge.settings import Settings, SettingsError
from agentd.bridge.start import start


def main() -> int:
    try:
        settings = Settings.read(os.environ)
    except SettingsError as error:
        print(f"agentd bridge: {error}", file=sys.stderr)
        return 2
    return start(settings)


if __name__ == "__main__":
    sys.exit(main())
