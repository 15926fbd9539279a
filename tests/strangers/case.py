"""A stranger's file: what it is forged from, what was done to it, and whether it must be refused."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEED = 13


@dataclass(frozen=True, slots=True)
class Forgery:
    """A copy of an honest file in a folder of its own, and who changes it."""

    path: Path
    chance: random.Random
    server: str
    """where a server listens that must never be called"""

    def sql(self, script: str) -> None:
        with self.opened() as connection:
            connection.executescript(script)

    def run(self, statement: str, *values: object) -> None:
        with self.opened() as connection:
            connection.execute(statement, values)

    def value(self, query: str) -> Any:
        with self.opened() as connection:
            return connection.execute(query).fetchone()[0]

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            yield connection

    def rewrite_schema(self, name: str, old: str, new: str) -> None:
        """Changes the text of a statement behind SQLite's back: what is stored stays as it was."""
        with self.opened() as connection:
            version = connection.execute("PRAGMA schema_version").fetchone()[0]
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?", (old, new, name))
            connection.execute(f"PRAGMA schema_version = {version + 1}")

    def without_rules(self, table: str, statement: str, *values: object) -> None:
        """A statement as if no column of the table had to hold something; afterwards the schema reads as before."""
        text = self.value(f"SELECT sql FROM sqlite_schema WHERE name = '{table}'")
        self.rewrite_schema(table, " NOT NULL", "")
        self.run(statement, *values)
        self.rewrite_schema(table, self.value(f"SELECT sql FROM sqlite_schema WHERE name = '{table}'"), text)

    def configured(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Every batch's frozen config with a change made to it."""
        with self.opened() as connection:
            for number, text in connection.execute("SELECT number, config FROM batch").fetchall():
                config = json.loads(text)
                change(config)
                connection.execute("UPDATE batch SET config = ? WHERE number = ?", (json.dumps(config), number))


Forge = Callable[[Forgery], object]


@dataclass(frozen=True, slots=True)
class Case:
    family: str
    name: str
    base: str
    """the honest file it is made from"""
    forge: Forge
    refused: bool = False
    """no command may take it; else it may be read, or refused in words"""
    large: bool = False
    """it holds so much that an export or an import of all of it takes its time, as it may; Ctrl+C must be heard"""
    settles: bool = False
    """SQLite itself puts such a file in order when it is opened"""

    @property
    def title(self) -> str:
        return f"{self.family}: {self.name}"

    @property
    def held_back(self) -> bool:
        """Half of the cases, by lot, were not looked at while the program was made to stand them."""
        return random.Random(f"{SEED}/half/{self.title}").random() < 0.5

    def made_in(self, folder: Path, honest: Mapping[str, Path], server: str, seed: int = SEED) -> Path:
        """The file, forged; the same for the same seed."""
        folder.mkdir(parents=True)
        path = Path(shutil.copy(honest[self.base], folder / "s.db"))
        self.forge(Forgery(path, random.Random(f"{seed}/{self.title}"), server))
        return path
