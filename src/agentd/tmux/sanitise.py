"""What may be pasted: text that arrives as text, whatever somebody put into it. Pure."""

from __future__ import annotations

import re

# C0 but newline and tab, DEL, and C1: an embedded `ESC [ 201 ~` would end the bracketed paste and let
# the rest run as keys (tmux before 3.7), and a CLI may take any other control character for a key.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NEWLINES = re.compile("\r\n?|\u2028|\u2029")


def sanitise(text: str) -> str:
    """Valid UTF-8, line ends as `\\n`, no control character but newline and tab."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub("", _NEWLINES.sub("\n", text))
