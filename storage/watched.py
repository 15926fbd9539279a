"""A connection to a file that may be a stranger's: nothing in it acts, and no query in it holds the user up.

SQLite works below Python, where Ctrl+C is not heard: a handler that it calls every so often hears it, and ends a query
that has worked for too long.
"""

import os
import sqlite3
import sys
import threading
import time
from typing import Any

LIMIT_VARIABLE = "TIDEPOOL_QUERY_SECONDS"
LIMIT_SECONDS = 60.0
"""that one query may work, unless the variable says otherwise: the longest of ours over a million calls takes a tenth of it"""
STEPS = 20_000
"""of SQLite's machine between two looks: a millisecond or two"""
LONGEST_LOOK = 0.1
"""More than this between two looks was not spent in SQLite: the rows were used, or the process was stopped."""
LONGEST_TEXT = 65 * 2**20
"""bytes of a text or a row: the largest config or reply, and the rest of its row"""

_PRAGMAS = ("trusted_schema = OFF", "cell_size_check = ON", "wal_autocheckpoint = 0", "fullfsync = ON")


class _Watch:
    """Called by SQLite while it works; a true answer ends the query."""

    __slots__ = ("last", "left", "limit")

    def __init__(self, limit: float) -> None:
        self.limit = self.left = limit
        self.last = time.monotonic()

    def __call__(self) -> bool:
        now = time.monotonic()
        self.left -= min(now - self.last, LONGEST_LOOK)
        self.last = now
        _ended.by_its_limit = self.left < 0
        return self.left < 0


class _Ended(threading.local):
    by_its_limit = False


_ended = _Ended()
"""why the last query of this thread ended that SQLite calls interrupted: it says no more itself"""


def interrupted_by_user(error: Exception) -> bool:
    """Whether Ctrl+C ended a query: it came while SQLite worked, and what it raised was lost there."""
    in_main = threading.current_thread() is threading.main_thread()
    return "interrupted" in str(error) and in_main and not _ended.by_its_limit


class WatchedConnection(sqlite3.Connection):
    """In autocommit, so that no forgotten snapshot holds the WAL back."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._watch = _Watch(_limit())
        self.set_progress_handler(self._watch, STEPS)
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_TEXT)
        if sys.version_info >= (3, 12):
            self.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            self.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
        for pragma in _PRAGMAS:
            self.execute(f"PRAGMA {pragma}")

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self._watch.left = self._watch.limit
        return super().execute(*arguments)

    def take_all_the_time(self) -> None:
        """For work as long as the file is: copies. It still hears Ctrl+C."""
        self._watch.limit = float("inf")


def _limit() -> float:
    try:
        return float(os.environ[LIMIT_VARIABLE])
    except (KeyError, ValueError):
        return LIMIT_SECONDS
