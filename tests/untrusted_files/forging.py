"""Untrusted study files: the honest files that they are forged from, what is done to them, and whether they must be refused."""

import asyncio
import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.all_kinds import LIVE, STUDIES
from tidepool import run_batch
from tidepool.engine.config.loading import config_from
from tidepool.engine.run import create_batch
from tidepool.storage.file import settle

QUERIES = Path(__file__).with_name("queries.jsonl")
AGENTS = STUDIES["ordered"]["agents"][:2]
GAME: dict[str, Any] = STUDIES["ordered"] | {"service": LIVE, "providers": {}, "agents": AGENTS}
TALKS: dict[str, Any] = STUDIES["judged"]
MUTATION: dict[str, Any] = STUDIES["mutation"] | {
    "mutation": STUDIES["mutation"]["mutation"] | {"queries": str(QUERIES)}
}


def honest_files(folder: Path, names: Iterable[str] = ()) -> dict[str, Path]:
    """Honest files by name, or all of them; those that are there already are left as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.db" for name in names or MAKERS}
    for name, path in files.items():
        if not path.exists():
            MAKERS[name](path)
            settle(path)
    return files


def _run(*studies: dict[str, Any]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        for study in studies:
            asyncio.run(run_batch(config_from(study, source="an honest study"), path))

    return make


def _queued(path: Path) -> None:
    """As the API left it that took the batch in."""
    create_batch(config_from(TALKS, source="an honest study"), path)
    change(path, "UPDATE batch SET reason = 'queued'")


def _paused(path: Path) -> None:
    _run(GAME)(path)
    change(
        path, "UPDATE batch SET status = 'in_progress', paused = 1, finished_at = NULL; DELETE FROM call WHERE id > 6"
    )


def _ordered(path: Path) -> None:
    """With provider batches under way at OpenAI."""
    agents = [agent | {"model": "openai:gpt-4o-mini"} for agent in AGENTS]
    service = {"name": "openai", "batch_from": 0}
    create_batch(config_from(GAME | {"agents": agents, "service": service}, source="an honest study"), path)
    calls = json.dumps([[number, "t1", "00" * 16] for number in range(1, 5)])
    change(
        path,
        "UPDATE batch SET status = 'interrupted', reason = 'signal', host = 'elsewhere'; UPDATE progress SET units_total = 4;"
        "INSERT INTO unit (id, batch_number, sequence_number, game, round, interaction_type, participants, status, sealed, "
        "started_at) SELECT (1 << 32) + value, 1, value, 1, 1, 'dyadic', '[\"Ada\", \"Bob\"]', 'in_progress', 0, 1.8e9 "
        "FROM json_each('[1, 2, 3, 4]');"
        "INSERT INTO provider_batch (id, batch_number, provider, lot, upload_id, remote_id, unsure, state, remote_state, "
        "calls, count, wave, content_hash, reservation_usd, created_at) VALUES ('order-1', 1, 'openai', 'gpt-4o-mini', "
        f"'file-1', 'batch_1', 0, 'created', 'in_progress', '{calls}', 4, 1, 'x', 0.01, 1.8e9)",
    )


MAKERS: dict[str, Callable[[Path], None]] = {
    "game": _run(GAME),
    "simulation": _run(TALKS),
    "evolution": _run(STUDIES["evolution"]),
    "mutation": _run(MUTATION),
    "several": _run(TALKS, GAME),
    "ordered": _ordered,
    "queued": _queued,
    "paused": _paused,
}


def change(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(script)


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

    def made_in(self, folder: Path, honest: Mapping[str, Path], server: str, seed: int = SEED) -> Path:
        """The file, forged; the same for the same seed."""
        folder.mkdir(parents=True)
        path = Path(shutil.copy(honest[self.base], folder / "s.db"))
        self.forge(Forgery(path, random.Random(f"{seed}/{self.title}"), server))
        return path
