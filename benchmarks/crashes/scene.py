"""A place of its own for an act that will be broken off: a study file, a folder for exports, and what a user has besides.

What lies in it before and after is compared by name, so nothing that a crash leaves behind goes unseen: not in the
study's folder, not where an export was to go, not among the system's temporary files, not in the user's state folder.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.emulator.books import Books, Purchase
from tests.emulator.server import environment
from tidepool.engine.simulated.provider import FOLDER_VARIABLE as SELLER
from tidepool.storage.file import FOLDER_VARIABLE as STATE

ROOT = Path(__file__).parent.parent.parent
SECONDS = 120.0
WATCHED = ("study", "out", "tmp", "state")
"""folders in which nothing may be left over"""


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def traceback(self) -> bool:
        return any(sign in self.out + self.err for sign in ("Traceback (most recent", "something unexpected"))


class Scene:
    def __init__(self, folder: Path, more: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        for name in (*WATCHED, "home", "seller"):
            (folder / name).mkdir(parents=True)
        self.database = folder / "study" / "study.db"
        self.out = folder / "out"
        self.more = dict(more or {})
        """of the environment"""

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        own = {"HOME": "home", "TMPDIR": "tmp", SELLER: "seller", STATE: "state", "XDG_STATE_HOME": "home"}
        places = {name: str(self.folder / place) for name, place in own.items()}
        return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1", **places, **self.more}

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.out,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "tidepool", "--db", str(self.database), *arguments]

    def run(self, *arguments: str) -> Said:
        with self.start(*arguments) as process:
            return ended(process)

    def killed(self, after: float, *arguments: str) -> Said:
        """Starts the command and kills it (-9) after so many seconds; it may have ended by then."""
        with self.start(*arguments) as process:
            time.sleep(after)
            process.send_signal(signal.SIGKILL)
            return ended(process)

    def names(self) -> frozenset[str]:
        """Every file and folder where nothing may be left over. Logs of runs are meant to stay."""
        found = (path.relative_to(self.folder) for place in WATCHED for path in (self.folder / place).rglob("*"))
        return frozenset(str(path) for path in found if path.parts[:2] != ("state", "log"))

    def batches(self, column: str) -> list[tuple[Any, ...]]:
        """None in a file that was killed before its tables were made."""
        tables = self.query("SELECT name FROM sqlite_master WHERE name = 'batch'") if self.database.exists() else []
        return self.query(f"SELECT {column} FROM batch") if tables else []

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.database, timeout=30)) as connection:
            return connection.execute(sql, values).fetchall()

    def sound(self) -> str:
        """Empty where the file is; else what SQLite says."""
        words = self.query("PRAGMA integrity_check")[0][0]
        return "" if words == "ok" else f"integrity_check: {words}"

    def sold(self, batch_id: str) -> Counter[int]:
        """How often each call of a batch was sold live, by the simulated seller's own record."""
        sales = self.folder / "seller" / f"{batch_id}.sales"
        return Counter(int(line, 16) for line in sales.read_text().split()) if sales.exists() else Counter()

    def leave(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def ended(process: "subprocess.Popen[str]", seconds: float = SECONDS) -> Said:
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Said(-999, out, err)
    return Said(process.returncode, out, err)


@contextmanager
def emulator(folder: Path, **faults: object) -> Iterator[tuple[dict[str, str], Path]]:
    """A provider in a process of its own: the environment that leads to it, and its books."""
    options = ["--port", "0", "--state", str(folder), "--faults", json.dumps({"openai": faults} if faults else {})]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.emulator", *options], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield environment(json.loads(process.stdout.readline())["url"]), folder / "purchases.jsonl"
        finally:
            process.terminate()
            process.communicate()


def bought(books: Path) -> list[Purchase]:
    kept = Books(books)
    kept.close()
    return kept.purchases
