"""Questions to a person: what they say, and which keys answer them. Pure.

The words are those that others read on their screens; the drawing is `view`'s.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentd.testing.cursor.builds import Build

YES, NO, ALLOW, ALL = "yes", "no", "allow", "all"


@dataclass(frozen=True)
class Row:
    """One choice: its label, the hint at its keys, and what it means."""

    label: str
    hint: str
    means: str

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.hint.split(" or "))


@dataclass(frozen=True)
class Question:
    """`what` is the thing in one line, `detail` the lines above the headline, `permission` what the allowlist
    would have to hold."""

    what: str
    detail: tuple[str, ...]
    headline: str
    note: str
    rows: tuple[Row, ...]
    permission: str = ""
    boxed: bool = False

    def shown_rows(self, build: Build) -> tuple[Row, ...]:
        """The rows as this build words them."""
        return tuple(
            Row(build.skip, row.hint, row.means) if row.label == "Skip" else row for row in self.rows
        )

    def means(self, key: str) -> str | None:
        """What a key means here; Enter takes the marked row, which is the first one."""
        if key == "enter":
            return self.rows[0].means
        return next((row.means for row in self.rows if key in row.keys), None)


_SKIP = Row("Skip", "esc or n", NO)


def shell(command: str, program: str) -> Question:
    permission = f"Shell({program})"
    rows = (
        Row("Run (once)", "y", YES),
        Row(f"Add {permission} to allowlist?", "tab", ALLOW),
        Row("Run Everything", "shift+tab", ALL),
        _SKIP,
    )
    detail = (f"$  {command} in .",)
    return Question(
        f"$ {command}", detail, "Run this command?", f"Not in allowlist: {program}", rows, permission
    )


def write(path: str) -> Question:
    permission = f"Write({path})"
    rows = (
        Row("Proceed", "y", YES),
        Row("Reject & propose changes", "esc or n or p", NO),
        Row(f"Add {permission} to allowlist?", "tab", ALLOW),
        Row("Run Everything", "shift+tab", ALL),
    )
    return Question(f"Write {path}", (), "Write to this file?", f"in {path}", rows, permission, boxed=True)


def delete(path: str) -> Question:
    rows = (Row("Delete", "y", YES), Row("Keep", "n", NO))
    return Question(f"Delete {path}", (f"Delete  {path}",), "Delete this file?", "", rows, f"Delete({path})")


def mcp_tool(server: str, tool: str, text: str) -> Question:
    detail = (f"{server}: {tool}", f'  {{ "text": "{text}" }}')
    rows = (Row("Run (once)", "y", YES), Row("Allowlist MCP Tool", "tab", ALLOW), _SKIP)
    return Question(
        f"{server} {tool}", detail, "Run this MCP tool?", "", rows, f"Mcp({server}:{tool})", boxed=True
    )


def fetch(url: str) -> Question:
    place = url.split("/")[2] if url.count("/") > 1 else url
    rows = (Row("Fetch", "y", YES), Row(f"Always allow {place}", "tab", ALLOW), _SKIP)
    return Question(
        f"Fetch {url}", (f"Web Fetch: {url}",), "Allow this web fetch?", "", rows, f"WebFetch({place})"
    )


def mode(why: str) -> Question:
    rows = (Row("Approve mode switch", "y", YES), Row("Reject", "n or esc", NO))
    return Question("Mode switch", (), "Switch to Agent mode?", why, rows, boxed=True)
