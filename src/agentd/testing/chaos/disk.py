"""`agentd serve` on a disk that is full or slow whenever a file says so.

The faults are put under the store, where SQLite meets the disk: that needs neither root nor a mount, works
the same on every system, and can't fill anybody's real disk. `database or disk is full` is SQLite's own
error for it; as SQLite does, a commit that fails with it takes the transaction back.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

VARIABLE = "AGENTD_CHAOS_DISK"
"""The folder where a file named `full` or `slow` makes the disk so."""
SLOW_S = 0.15
WRITES = ("INSERT", "UPDATE", "DELETE", "COMMIT")


class Disk(sqlite3.Connection):
    """A connection to a store on such a disk."""

    folder = Path()

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        word = sql.split(None, 1)[0].upper()
        if word in WRITES:
            if (self.folder / "full").exists():
                if word == "COMMIT":
                    super().execute("ROLLBACK")
                raise sqlite3.OperationalError("database or disk is full")
            if (word == "COMMIT" or not self.in_transaction) and (self.folder / "slow").exists():
                time.sleep(SLOW_S)
        return super().execute(sql, *parameters)


def main() -> None:
    """As `agentd` does, on the faulty disk."""
    Disk.folder = Path(os.environ[VARIABLE])
    sqlite3.connect = partial(sqlite3.connect, factory=Disk)  # type: ignore[assignment]
    from agentd.cli import main as agentd

    sys.exit(agentd())


if __name__ == "__main__":
    main()
