"""Turns the clock of every Python program that finds this on its path: by as many seconds as the file CLOCK_TURNED says.

SQLite's own clock and that of the kernel stay right, so a study is run at a turned clock first, and at the right one then.
"""

import os
import time

_real, _file = time.time, os.environ.get("CLOCK_TURNED", "")


def _turned() -> float:
    try:
        with open(_file) as said:  # noqa: PTH123 (every call asks: no Path)
            return _real() + float(said.read() or 0)
    except (OSError, ValueError):
        return _real()


if _file:
    time.time = _turned
