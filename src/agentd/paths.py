"""Where agentd keeps what: the public face's environment variables and the XDG folders.

Standard library only, since every command starts here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or Path.home())


def _xdg(environment: Mapping[str, str], variable: str, fallback: str) -> Path:
    # The XDG specification: a relative path is to be ignored.
    value = environment.get(variable, "")
    return Path(value) if value.startswith("/") else _home(environment) / fallback


def state_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """`AGENTD_STATE_DIR`, else `$XDG_STATE_HOME/agentd`."""
    if value := environment.get("AGENTD_STATE_DIR"):
        return Path(value).absolute()
    return _xdg(environment, "XDG_STATE_HOME", ".local/state") / "agentd"


def config_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CONFIG_HOME/agentd`."""
    return _xdg(environment, "XDG_CONFIG_HOME", ".config") / "agentd"


def config_file(environment: Mapping[str, str] = os.environ) -> Path:
    """`AGENTD_CONFIG`, else `$XDG_CONFIG_HOME/agentd/config.toml`."""
    if value := environment.get("AGENTD_CONFIG"):
        return Path(value).absolute()
    return config_dir(environment) / "config.toml"


def socket_path(environment: Mapping[str, str] = os.environ) -> Path:
    """`AGENTD_SOCKET`, else `$XDG_RUNTIME_DIR/agentd/agentd.sock`, else under the state directory."""
    if value := environment.get("AGENTD_SOCKET"):
        return Path(value).absolute()
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        return Path(runtime) / "agentd" / "agentd.sock"
    return state_dir(environment) / "agentd.sock"


def socket_path_limit() -> int:
    """The longest path a Unix socket may have here, in bytes: `sun_path` less its closing zero."""
    return 103 if sys.platform == "darwin" else 107
