"""Installs the real CLIs that the tests drive, as pinned in the `package.json` beside this file.

    python tests/real/install.py [NAME...]

prints `name version path` for each pin. Each has a folder of its own in the cache
(`$AGENTD_TEST_CACHE`, else `$XDG_CACHE_HOME/agentd-tests`, else `~/.cache/agentd-tests`), so that no
pin disturbs another. A folder that exists is complete: a second call costs nothing.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PINS = Path(__file__).with_name("package.json")
_SPECIFIER = re.compile(r"(?:npm:(?P<package>@?[^@]+)@)?(?P<version>\d+\.\d+\.\d+[\w.+-]*)")


class InstallError(Exception):
    """A CLI couldn't be installed. The text says which, and what npm said."""


@dataclass(frozen=True)
class Pin:
    """One line of `package.json`. `name` is the tests' word for it, `package` npm's."""

    name: str
    package: str
    version: str

    @property
    def folder(self) -> str:
        return f"{self.package.lstrip('@').replace('/', '-')}-{self.version}"


@dataclass(frozen=True)
class Installed:
    """A pin on disk. `path` is its program; what a PATH needs is `path.parent`."""

    pin: Pin
    path: Path


def pins(source: Path = _PINS) -> dict[str, Pin]:
    """All pins by name, in the file's order. Raises ValueError for a version that isn't exact."""
    return {name: _pin(name, given) for name, given in json.loads(source.read_text())["dependencies"].items()}


def install(name: str, cache: Path | None = None) -> Installed:
    """The pinned CLI, installed if need be. Raises InstallError, and KeyError for an unknown name.

    Safe to call from several processes at once: one installs, the others wait for it.
    """
    pin, cache = pins()[name], cache or cache_dir()
    folder = cache / pin.folder
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / f"{pin.folder}.lock"):
            if not folder.exists():
                _install(pin, folder)
    return Installed(pin, _program(pin, folder))


def cache_dir(environment: Mapping[str, str] = os.environ) -> Path:
    if chosen := environment.get("AGENTD_TEST_CACHE"):
        return Path(chosen).absolute()
    xdg = environment.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if xdg.startswith("/") else Path.home() / ".cache") / "agentd-tests"


def _pin(name: str, given: str) -> Pin:
    if not (match := _SPECIFIER.fullmatch(given)):
        raise ValueError(f"{name}: {given!r} is no exact version, nor npm:PACKAGE@VERSION")
    return Pin(name, match["package"] or name, match["version"])


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # closing the file gives it back, and so does a killed process
        yield


def _install(pin: Pin, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"{pin.name}: npm isn't installed; the real CLIs come from there")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # what a killed install left; the lock is ours
    partial.mkdir()
    # A package of this kind fetches or links its native program when it is installed. npm is about to
    # run such scripts only for packages that are named here, and a user's settings may forbid them all.
    wanted = {
        "private": True,
        "dependencies": {pin.package: pin.version},
        "allowScripts": {pin.package: True},
    }
    (partial / "package.json").write_text(json.dumps(wanted))
    command = [npm, "install", "--ignore-scripts=false", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(
        command, cwd=partial, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InstallError(f"{pin.name}: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    _program(pin, partial)
    partial.rename(folder)


def _program(pin: Pin, folder: Path) -> Path:
    """The program that the package names; the one called like the package if it names several."""
    modules = folder / "node_modules"
    declared = json.loads((modules / pin.package / "package.json").read_text()).get("bin") or {}
    short = pin.package.rpartition("/")[2]
    names = [short] if isinstance(declared, str) else list(declared)
    name = short if short in names else next(iter(names), short)
    path = modules / ".bin" / name
    if not path.exists():
        raise InstallError(f"{pin.name}: {pin.package}@{pin.version} brought no program {path}")
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="the pins to install; none: all")
    known = pins()
    names = parser.parse_args(arguments).names or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no such pin: {', '.join(unknown)} (pinned: {', '.join(known)})")
    for name in names:
        try:
            installed = install(name)
        except InstallError as error:
            raise SystemExit(str(error)) from None
        print(name, installed.pin.version, installed.path, flush=True)


if __name__ == "__main__":
    main()
