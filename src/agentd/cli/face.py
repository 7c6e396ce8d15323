"""What all verbs share: the options `--json` and `--socket`, the target, and how to speak to the caller.

Standard output is for the answer, standard error for everything else.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from agentd.cli.failures import CommandError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from agentd.api.client import Client

F = TypeVar("F", bound=Callable[..., Any])


TARGET = re.compile(r"[a-z0-9][a-z0-9_-]*\Z")
UNWRITTEN = (
    "the answer can't be written on standard output: {}; what was asked for is done all the same "
    "(`agentd wait TARGET` prints the last reply again)"
)


class Face:
    """The caller's side of one command. `ctx.obj` is one of these."""

    def __init__(self) -> None:
        self.json = False
        self.socket: Path | None = None
        self.frame: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda error: {"error": error}
        """How `--json` shows an error; a verb with an object of its own puts its maker here."""

    @property
    def socket_path(self) -> Path:
        from agentd import paths

        return self.socket or paths.socket_path()

    def client(self, *, timeout: float | None = None) -> Client:
        from agentd.api.client import Client

        return Client(self.socket_path, timeout=timeout)

    def ask(
        self, method: str, path: str, body: Any = None, query: Mapping[str, str | None] | None = None
    ) -> Any:
        """One request; the data of its answer."""
        return self.client().request(method, path, body, query)[1]

    def emit(self, data: Any) -> None:
        """`--json`: the data on one line, or spread out for a person's eyes."""
        import json

        out(json.dumps(data, ensure_ascii=False, indent=2 if sys.stdout and sys.stdout.isatty() else None))


def out(text: str) -> None:
    """The answer, on standard output: UTF-8 whatever the locale, with one final newline."""
    data = text.encode("utf-8", "replace")
    if sys.stdout is None:
        raise CommandError("unwritten", UNWRITTEN.format("it is closed"))
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data if data.endswith(b"\n") else data + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer would be tried again at the end, and fail again.
        nowhere()
        raise CommandError("unwritten", UNWRITTEN.format(error.strerror)) from error


def nowhere(*streams: TextIO) -> None:
    """From now on what is written there (by default on standard output) goes nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in streams or (sys.stdout,):
        os.dup2(null, stream.fileno())


def note(text: str) -> None:
    """A line for a person, on standard error, where it can be said."""
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise
    except OSError:
        pass  # a full disk, say: the answer matters more


def complain(text: str) -> None:
    """An error, on standard error: its first line begins with `agentd: `."""
    note("agentd: " + "\n  ".join(plain(line) for line in text.splitlines() or [""]))


def plain(text: object) -> str:
    """Text from elsewhere on one line, its control characters defused: a terminal shall not obey it."""
    return "".join(
        c if c.isprintable() else " " if c in "\t\r\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )


def common(command: F) -> F:
    """The options of every command."""
    command = click.option(
        "--socket", type=click.Path(path_type=Path), metavar="PATH", expose_value=False, callback=_set_socket,
        help="The daemon's socket.  [default: $AGENTD_SOCKET, else the user's own]",
    )(command)  # fmt: skip
    return click.option(
        "--json", is_flag=True, expose_value=False, callback=_set_json,
        help="Print JSON on standard output, also when it fails.",
    )(command)  # fmt: skip


def _set_socket(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    if value is not None:
        context.ensure_object(Face).socket = value.absolute()


def _set_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Face).json = True


def target(command: F) -> F:
    """TARGET and `--cwd`, which says which of a provider's agents is meant."""
    command = click.option(
        "--cwd", type=click.Path(path_type=Path), metavar="DIR",
        help="The workspace, when TARGET is a provider.  [default: here]",
    )(command)  # fmt: skip
    return click.argument("target", metavar="TARGET", callback=can_be_target, shell_complete=complete_target)(
        command
    )


def can_be_target(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    targets = [value] if isinstance(value, str) else value or ()
    if not all(targets):
        raise click.BadParameter("is empty; give an agent's name or a provider", context, parameter)
    for target in targets:
        if not TARGET.match(target):
            text = f"{target!r} can be no agent's name and no provider: these have a-z, 0-9, _ and -"
            raise click.BadParameter(text, context, parameter)
    return value


def at(target: str, verb: str = "") -> str:
    """The path of an agent, or of a verb on it."""
    from urllib.parse import quote

    return f"/v1/agents/{quote(os.fsencode(target), safe='')}" + (f"/{verb}" if verb else "")


def where(cwd: Path | None) -> str | None:
    """The workspace, absolute and resolved; None where even "here" doesn't exist any more."""
    try:
        return str((cwd or Path.cwd()).resolve())
    except OSError:
        return None


def complete_target(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Agents' names and providers; nothing, quietly, where no daemon answers in time."""
    from click.shell_completion import CompletionItem

    from agentd.api.client import ClientError

    client = context.ensure_object(Face).client(timeout=1.0)
    found: dict[str, str] = {}
    try:
        for agent in client.request("GET", "/v1/agents")[1]:
            found[agent["name"]] = f"{agent['provider']}, {agent['state']}"
        for adapter in client.request("GET", "/v1/adapters")[1]["adapters"]:
            for name in (adapter["provider"], *adapter["aliases"]):
                found.setdefault(name, "provider")
    except (ClientError, LookupError, TypeError):
        pass  # What is known so far is better than noise in somebody's prompt.
    return [CompletionItem(name, help=about) for name, about in found.items() if name.startswith(incomplete)]
