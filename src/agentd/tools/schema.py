"""Arguments against a tool's JSON schema, and a program that does it.

The program imports little: it is started for one check (`agentd.tools.checking`).
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any

SHOWN = 5
LIMIT_S = 10.0
"""The longest that the program may take. It takes about 0.15 s, most of it for its start."""


def wrong(schema: Mapping[str, Any], arguments: Any) -> str | None:
    """What is wrong with the arguments, in words; None where nothing is. jsonschema is imported with the
    first call.

    A schema that refers to another document is not followed: nothing is fetched for an argument's sake.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema, registry=Registry())
        found = list(islice(validator.iter_errors(arguments), SHOWN + 1))
    except (SchemaError, Unresolvable) as problem:
        return f"the tool's own input schema can't be used: {str(problem).splitlines()[0]}"
    except RecursionError:
        return (
            "the tool's own input schema refers to itself without end, or the arguments are nested too deep"
        )
    words = []
    for error in sorted(found[:SHOWN], key=lambda error: list(map(str, error.path))):
        place = _short(".".join(map(str, error.path)))
        text = _short(error.message)
        words.append(f"{place}: {text}" if place else text)
    if len(found) > SHOWN:
        words.append("and more")
    return "; ".join(words) or None


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:300] + "…"


def main() -> None:
    """`python -m agentd.tools.schema`: one question on standard input, its answer on standard output."""
    # Whatever becomes of the daemon: this ends the process in the middle of anything.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(LIMIT_S) + 1)
    schema, arguments = json.load(sys.stdin)
    json.dump(wrong(schema, arguments), sys.stdout)


if __name__ == "__main__":
    main()
