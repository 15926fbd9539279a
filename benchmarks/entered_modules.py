"""Counts the modules entered from the command to the first stored row: `python -m benchmarks.entered_modules`.

A module counts where one of its functions runs; importing it does not. The run has one conversation; counting ends when its first
message can be read from the file.
"""

import os
import sqlite3
import sys
import tempfile
import threading
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

from tests.support.studies import written

ROOT = Path(__file__).parent.parent
PRODUCT = ("engine", "storage", "tui")


def entered_modules(study: Path, database: Path) -> Counter[str]:
    """Function calls by module of the product, until the command has stored the first message."""
    calls: Counter[str] = Counter()
    stored = False

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal stored
        if stored:
            return
        code = frame.f_code
        if event == "call" and "tidepool" in code.co_filename and not _while_importing(frame):
            calls[code.co_filename] += 1
        elif event == "return" and "storage" in code.co_filename:
            stored = _has_message(database)

    from tidepool.tui.command.main import main

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            code = main(["--db", str(database), "--run", str(study), "--json"])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if code or not stored:
        raise SystemExit(f"the run ended with {code}; its first message was {'' if stored else 'not '}seen")
    named = ((_module(Path(name)), number) for name, number in calls.items())
    return Counter({name: number for name, number in named if name})


def _has_message(database: Path) -> bool:
    if not database.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT 1 FROM messages LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return False  # the file is being made


def _while_importing(frame: FrameType | None) -> bool:
    """Whether a module body of the product is on the stack: decorators and class bodies are part of its import."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("tidepool."):
            return True
        frame = frame.f_back
    return False


def _module(path: Path) -> str | None:
    """`engine/runtime/run.py`, of the product only."""
    try:
        inside = path.resolve().relative_to(ROOT)
    except ValueError:
        return None
    return str(inside) if inside.parts[0] in PRODUCT else None


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["TIDEPOOL_STATE"] = os.environ["TIDEPOOL_SELLER"] = str(place / "state")
        modules = entered_modules(written(place, 1, 2, more='[service]\nname = "live"'), place / "study.db")
    for name, calls in sorted(modules.items()):
        print(f"{calls:>8,}  {name}")
    print(f"{len(modules)} modules entered")


if __name__ == "__main__":
    main()
