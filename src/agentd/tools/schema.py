"""Arguments against a tool's JSON schema. jsonschema is imported with the first call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHOWN = 5


def wrong(schema: Mapping[str, Any], arguments: Any) -> str | None:
    """What is wrong with the arguments, in words; None where nothing is.

    A schema that refers to another document is not followed: nothing is fetched for an argument's sake.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema, registry=Registry())
        found = sorted(validator.iter_errors(arguments), key=lambda error: list(map(str, error.path)))
    except (SchemaError, Unresolvable) as problem:
        return f"the tool's own input schema can't be used: {str(problem).splitlines()[0]}"
    words = []
    for error in found[:SHOWN]:
        place = ".".join(map(str, error.path))
        text = error.message if len(error.message) <= 300 else error.message[:300] + "…"
        words.append(f"{place}: {text}" if place else text)
    if len(found) > SHOWN:
        words.append(f"and {len(found) - SHOWN} more")
    return "; ".join(words) or None
