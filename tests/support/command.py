"""Runs the real command in a process of its own.

Loading the SDKs and numpy takes a second, and hundreds of commands are run: those that only run to their end are
forked from a process that has loaded them (`tests.support.warm`). What is watched or killed starts from nothing.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support import warm

ROOT = Path(__file__).parent.parent.parent
SECONDS = 60


class Tidepool:
    def __init__(self, folder: Path, database: Path) -> None:
        self.folder = folder
        self.database = database

    def __call__(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Runs the command to its end."""
        return warm.run(["--db", str(self.database), *arguments], self.folder, self._environment(environment), SECONDS)

    def cold(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """The same from nothing: where it matters what is loaded, and when."""
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate(timeout=SECONDS)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *arguments: str) -> Any:
        """Runs the command with --json; stdout must be one JSON value and nothing else."""
        done = self(*arguments, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        """Starts the command and leaves it running: use it in a `with`, and end it yourself."""
        return subprocess.Popen(
            self._command(arguments),
            cwd=self.folder,
            env=self._environment(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "tidepool", "--db", str(self.database), *arguments]

    @staticmethod
    def _environment(more: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **more}


def until(condition: Callable[[], object], process: "subprocess.Popen[str] | None" = None) -> None:
    """Waits for the thing, not for a time."""
    deadline = time.monotonic() + 60
    while True:
        try:
            if condition():
                return
        except (sqlite3.OperationalError, IndexError):
            pass
        assert process is None or process.poll() is None, "it ended before that"
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)
