"""What this user has vouched for, kept outside every study file: a file's own words never grant anything.

A batch counts by its id together with the hash of its frozen config (a copy that comes back may be changed), a server
by scheme, host and port together with the name of the key's variable. No key is ever written. Beside them stands what
`tidepool api` was asked to run: to wait for a run is no word about servers.

Where the record cannot be written, or could have been written by others, that is said once, and what is vouched for
holds for this process.
"""

import hashlib
import os
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.trust.state_folder import state_folder

FILE_NAME = "trust.db"
BUSY_SECONDS = 10
OTHERS_WRITE = 0o022
OTHERS_ANY = 0o077

_TABLES = (
    "CREATE TABLE IF NOT EXISTS server (scheme TEXT, host TEXT, port INTEGER, key_variable TEXT, at REAL, "
    "PRIMARY KEY (scheme, host, port, key_variable))",
    "CREATE TABLE IF NOT EXISTS batch (id TEXT, config_hash TEXT, at REAL, PRIMARY KEY (id, config_hash))",
    "CREATE TABLE IF NOT EXISTS queue (id TEXT, config_hash TEXT, at REAL, PRIMARY KEY (id, config_hash))",
)
_ADDRESS = re.compile(
    r"(?:(https?)://)?([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(?:/[^\s\\@]*)?", re.ASCII | re.IGNORECASE
)
_PORTS = {"http": 80, "https": 443}
_OLLAMA_PORT = 11434
"""an address without a scheme is Ollama's way of writing"""


@dataclass(frozen=True, slots=True, order=True)
class ServerOrigin:
    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, order=True)
class TrustedServer:
    origin: ServerOrigin
    key_variable: str
    """which key may go there; empty: none"""


@dataclass(frozen=True, slots=True, order=True)
class TrustedBatch:
    id: str
    config_hash: str


def origin_of(address: str) -> ServerOrigin | None:
    """None where programs might disagree about the host: such an address is nobody's."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return None
    scheme, host, port = found.groups()
    usual = _PORTS[scheme.lower()] if scheme else _OLLAMA_PORT
    return ServerOrigin((scheme or "http").lower(), host.lower(), int(port) if port else usual)


def config_hash(config: str) -> str:
    """Of the frozen config, letter for letter as the file keeps it."""
    return hashlib.sha256(config.encode("utf-8", "surrogatepass")).hexdigest()


def trust_record() -> "TrustRecord":
    """The record of this user, one for the whole process."""
    folder = state_folder()
    with _opening:
        return _records.setdefault(folder, TrustRecord(folder))


class TrustRecord:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._lock = threading.Lock()
        self._complained = False
        self._passing: sqlite3.Connection | None = None
        """what could not be written, for as long as this process lives"""

    # -- batches -----------------------------------------------------------------------------------------

    def vouch(self, batch_id: str, config: str) -> None:
        """This batch with this config is the user's own."""
        self._write(lambda record: _add(record, "batch", batch_id, config))

    def renew(self, batch_id: str, before: str, after: str) -> None:
        """Our own rewrite of a config: what held for the old one holds for the new one alone."""

        def rewrite(record: sqlite3.Connection) -> int:
            query = "DELETE FROM batch WHERE id = ? AND config_hash = ?"
            record.execute(query, (batch_id, config_hash(before)))
            return _add(record, "batch", batch_id, after)

        self._write(rewrite)

    def knows(self, batch_id: str, config: str) -> bool:
        return (batch_id, config_hash(config)) in self._pairs("batch")

    def batches(self) -> list[TrustedBatch]:
        return [TrustedBatch(*pair) for pair in self._pairs("batch")]

    def forget_batch(self, prefix: str) -> int:
        """Every config of the batches whose id begins so; returns how many."""
        query = "DELETE FROM batch WHERE substr(id, 1, length(?)) = ?"
        return self._write(lambda record: record.execute(query, (prefix, prefix)).rowcount)

    # -- servers -----------------------------------------------------------------------------------------

    def add_server(self, server: TrustedServer) -> None:
        row = (server.origin.scheme, server.origin.host, server.origin.port, server.key_variable, time.time())
        query = "INSERT OR REPLACE INTO server VALUES (?, ?, ?, ?, ?)"
        self._write(lambda record: record.execute(query, row).rowcount)

    def servers(self) -> list[TrustedServer]:
        query = "SELECT scheme, host, port, key_variable FROM server ORDER BY 1, 2, 3, 4"
        return [TrustedServer(ServerOrigin(*place), variable) for *place, variable in self._rows(query)]

    def forget_server(self, origin: ServerOrigin, key_variable: str | None = None) -> int:
        """With every key, or one; returns how many rows that were."""
        query = "DELETE FROM server WHERE (scheme, host, port) = (?, ?, ?) AND key_variable = coalesce(?, key_variable)"
        row = (origin.scheme, origin.host, origin.port, key_variable)
        return self._write(lambda record: record.execute(query, row).rowcount)

    # -- what the API was asked to run -------------------------------------------------------------------

    def queue(self, batch_id: str, config: str) -> None:
        self._write(lambda record: _add(record, "queue", batch_id, config))

    def unqueue(self, batch_id: str) -> None:
        self._write(lambda record: record.execute("DELETE FROM queue WHERE id = ?", (batch_id,)).rowcount)

    def queued(self) -> set[tuple[str, str]]:
        """Ids with the hashes of their configs, of whatever file."""
        return set(self._pairs("queue"))

    # -- the file ----------------------------------------------------------------------------------------

    def _pairs(self, table: str) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self._rows(f"SELECT id, config_hash FROM {table} ORDER BY at, id")]

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        """Of the record, which looking does not make, and of what could not be written to it."""
        with self._lock:
            rows = self._passing.execute(query).fetchall() if self._passing else []
            try:
                if self.path.exists():
                    self._refuse_what_others_wrote()
                    with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)) as record:
                        rows += record.execute(query).fetchall()
            except (OSError, sqlite3.Error) as error:
                self._complain(error)
            return rows

    def _write(self, work: Callable[[sqlite3.Connection], int]) -> int:
        """Returns how many rows it was about."""
        with self._lock:
            try:
                with self._opened() as record:
                    return work(record)
            except (OSError, sqlite3.Error) as error:
                self._complain(error)
            if self._passing is None:
                self._passing = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                for table in _TABLES:
                    self._passing.execute(table)
            return work(self._passing)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the record, which is made when missing, for its owner alone."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            self._refuse_what_others_wrote()
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)) as record:
            record.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                record.execute(table)
            yield record
            record.execute("COMMIT")

    def _refuse_what_others_wrote(self) -> None:
        status = self.path.stat()
        if status.st_uid != os.geteuid() or status.st_mode & OTHERS_WRITE:
            raise PermissionError(0, "others may have written it")
        if status.st_mode & OTHERS_ANY:
            self.path.chmod(0o600)

    def _complain(self, error: Exception) -> None:
        if self._complained:
            return
        self._complained = True
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        print(
            f"warning: the trust record {self.path} cannot be used ({why}). What is trusted now is trusted for this "
            "process only; TIDEPOOL_STATE names another folder for it.",
            file=sys.stderr,
        )


_records: dict[Path, TrustRecord] = {}
_opening = threading.Lock()


def _add(record: sqlite3.Connection, table: str, batch_id: str, config: str) -> int:
    row = (batch_id, config_hash(config), time.time())
    return record.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", row).rowcount
