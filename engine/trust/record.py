"""What this user trusts, stored outside every study file: a file's own words never grant anything.

A batch counts by its id together with the hash of its frozen config, since a copy that comes back may be changed. The record also holds
what `tidepool api` was asked to run, which drafts were written here, in which folder the code of a batch lies, and the secret behind the
seals of replies. No key is ever written. If the record cannot be written, or others could have written it, that is reported once, and
what is trusted holds for this process.

Seals protect batches that run code. A reply is given to the user's scorer, and a reply from a file
could be anything. So each reply is stored with a keyed hash, made with a secret that no study file holds. A reply runs only if it came
from a provider in this process, or if its seal fits.
"""

import hashlib
import hmac
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from tidepool.engine.errors import FileError, NotTrusted
from tidepool.storage.folders import refuse_what_others_wrote, state_folder

FILE_NAME = "trust.db"
BUSY_SECONDS = 10
OTHERS_ANY = 0o077
MOST_DRAFTS = 3
"""last texts of each draft that are remembered: the file may have the one before"""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS batch (id TEXT, config_hash TEXT, at REAL, PRIMARY KEY (id, config_hash))",
    "CREATE TABLE IF NOT EXISTS queue (id TEXT, config_hash TEXT, at REAL, PRIMARY KEY (id, config_hash))",
    "CREATE TABLE IF NOT EXISTS folder (id TEXT PRIMARY KEY, path TEXT, at REAL)",
    "CREATE TABLE IF NOT EXISTS draft (id TEXT, config_hash TEXT, at REAL, PRIMARY KEY (id, config_hash))",
    "CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY, value BLOB)",
)


@dataclass(frozen=True, slots=True, order=True)
class TrustedBatch:
    id: str
    config_hash: str


def config_hash(config: str) -> str:
    """Of the frozen config, letter for letter as the file keeps it."""
    return hashlib.sha256(config.encode("utf-8", "surrogatepass")).hexdigest()


def report_problems_to(report: Callable[[str], None] | None) -> None:
    """Who has a screen tells there that the record cannot be used; else, and from then on, it is told on stderr."""
    global _report
    _report = report or _on_stderr


def _on_stderr(words: str) -> None:
    print(f"warning: {words}", file=sys.stderr)


_report: Callable[[str], None] = _on_stderr


def trust_record() -> "TrustRecord":
    """The record of this user, one for the whole process."""
    folder = state_folder()
    with _opening:
        return _records.setdefault(folder, TrustRecord(folder))


class TrustRecord:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._lock = threading.Lock()
        self._warned = False
        self._unsaved: sqlite3.Connection | None = None
        """what could not be written, for as long as this process lives"""

    def mark_trusted(self, configs: Mapping[str, str]) -> None:
        """These batches, by id, are the user's own with these configs."""
        self._write(lambda record: sum(_add(record, "batch", batch_id, config) for batch_id, config in configs.items()))

    @contextmanager
    def renewing(self, changes: Mapping[str, tuple[str, str]]) -> Iterator[None]:
        """Around our own rewrite of configs, by batch: before and after. Both are known until the file has the new one, so
        that a kill in between leaves the user's own batch the user's own."""
        self.mark_trusted({batch_id: after for batch_id, (_, after) in changes.items()})
        yield
        outdated = [(key, config_hash(before)) for key, (before, after) in changes.items() if before != after]
        query = "DELETE FROM batch WHERE id = ? AND config_hash = ?"
        self._write(lambda record: record.executemany(query, outdated).rowcount)

    def knows(self, batch_id: str, config: str) -> bool:
        return bool(self._rows("SELECT 1 FROM batch WHERE id = ? AND config_hash = ?", (batch_id, config_hash(config))))

    def batches(self) -> list[TrustedBatch]:
        return [TrustedBatch(*pair) for pair in self._pairs("batch")]

    def forget_batch(self, batch_id: str) -> int:
        """With every config of it; returns how many those were. Raises where they cannot be forgotten."""
        query = "DELETE FROM batch WHERE id = ?"
        return self._write(lambda record: record.execute(query, (batch_id,)).rowcount, must_persist=True)

    def store_folder(self, batch_id: str, folder: Path) -> None:
        """Where the config of a batch lay that runs code from its folder: no study file says such a thing."""
        row = (batch_id, str(folder.resolve()), time.time())
        self._write(lambda record: record.execute("INSERT OR REPLACE INTO folder VALUES (?, ?, ?)", row).rowcount)

    def folders_of(self, batch_id: str) -> list[Path]:
        rows = self._rows("SELECT CAST(id AS TEXT), CAST(path AS TEXT) FROM folder")
        return [Path(path) for stored_id, path in rows if stored_id == batch_id]

    def secret(self) -> bytes:
        """Created when it is first needed. Without it, stored replies have to be trusted again."""
        new = os.urandom(32)
        self._write(lambda record: record.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (new,)).rowcount)
        return next((bytes(value) for (value,) in self._rows("SELECT value FROM secret WHERE id = 1")), new)

    def queue(self, batch_id: str, config: str) -> None:
        self._write(lambda record: _add(record, "queue", batch_id, config))

    def unqueue(self, batch_id: str) -> None:
        self._write(lambda record: record.execute("DELETE FROM queue WHERE id = ?", (batch_id,)).rowcount)

    def queued(self) -> set[tuple[str, str]]:
        """Ids with the hashes of their configs, of whatever file."""
        return set(self._pairs("queue"))

    def store_draft(self, location: Path, text: str) -> None:
        """This text of a draft was typed here, or taken from what was. The place only says which texts it replaces."""
        draft = config_hash(str(location.absolute()))
        older = f"SELECT rowid FROM draft WHERE id = ? ORDER BY at DESC LIMIT -1 OFFSET {MOST_DRAFTS}"

        def store(record: sqlite3.Connection) -> int:
            changed = _add(record, "draft", draft, text)
            record.execute(f"DELETE FROM draft WHERE rowid IN ({older})", (draft,))
            return changed

        self._write(store)

    def knows_draft(self, text: str) -> bool:
        """Wherever it lies now."""
        return config_hash(text) in {draft_hash for _, draft_hash in self._pairs("draft")}

    def _pairs(self, table: str) -> list[tuple[str, str]]:
        query = f"SELECT CAST(id AS TEXT), CAST(config_hash AS TEXT) FROM {table} ORDER BY at, id"
        return [(row[0], row[1]) for row in self._rows(query)]

    def _rows(self, query: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        """Of the record, which looking does not make, and of what could not be written to it."""
        with self._lock:
            rows = self._unsaved.execute(query, values).fetchall() if self._unsaved else []
            try:
                self._refuse_no_home()
                if os.path.lexists(self.path):
                    self._refuse_what_others_wrote()
                    address = f"{self.path.resolve().as_uri()}?mode=ro"
                    with closing(sqlite3.connect(address, timeout=BUSY_SECONDS, uri=True)) as record:
                        rows += record.execute(query, values).fetchall()
            except (OSError, sqlite3.Error) as error:
                if "no such table" not in str(
                    error
                ):  # a record of an earlier version has it as soon as it is written to
                    self._warn(error)
            return rows

    def _write(self, work: Callable[[sqlite3.Connection], int], *, must_persist: bool = False) -> int:
        """Returns how many rows it was about. `must_persist`: where it cannot be written down, it must not seem done."""
        with self._lock:
            try:
                with self._opened() as record:
                    return work(record)
            except (OSError, sqlite3.Error) as error:
                if must_persist:
                    raise FileError(f"The trust record {self.path} cannot be changed ({_why(error)}).") from None
                self._warn(error)
            if self._unsaved is None:
                self._unsaved = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                for table in _TABLES:
                    self._unsaved.execute(table)
            return work(self._unsaved)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the record, which is made when missing, for its owner alone."""
        self._refuse_no_home()
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

    def _refuse_no_home(self) -> None:
        """Without a home the folder's name stays as it is written, and would lie wherever one stands."""
        if not self.path.is_absolute():
            raise FileNotFoundError(0, "this user has no home folder")

    def _refuse_what_others_wrote(self) -> None:
        if self.path.is_symlink():
            raise PermissionError("it is a link, which may lead to an old record")
        refuse_what_others_wrote(self.path)
        if self.path.stat().st_mode & OTHERS_ANY:
            self.path.chmod(0o600)

    def _warn(self, error: Exception) -> None:
        if self._warned:
            return
        self._warned = True
        _report(
            f"the trust record {self.path} cannot be used ({_why(error)}). What is trusted now is trusted for this "
            "process only; TIDEPOOL_STATE names another folder for it."
        )


_records: dict[Path, TrustRecord] = {}
_opening = threading.Lock()


def _why(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _add(record: sqlite3.Connection, table: str, batch_id: str, config: str) -> int:
    row = (batch_id, config_hash(config), time.time())
    return record.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", row).rowcount


class ReplySeals:
    def __init__(self) -> None:
        self._secret = trust_record().secret()
        self._texts: set[bytes] = set()
        """hashes of replies that may be run"""

    def received(self, key: bytes, text: str) -> bytes:
        """The seal to store with a reply that a provider gave just now to the request of this key."""
        self._texts.add(_hash(text))
        return self._seal(key, text)

    def admits(self, key: bytes, text: str, seal: bytes | None) -> bool:
        """Whether a stored reply is one that this user received, to this very request."""
        fits = isinstance(seal, bytes) and hmac.compare_digest(seal, self._seal(key, text))
        if fits:
            self._texts.add(_hash(text))
        return fits

    def refuse_unknown(self, text: str) -> None:
        """Called before the text is run, or given to a scorer."""
        if _hash(text) not in self._texts:
            raise NotTrusted(
                "A stored reply was changed, or was received on another machine: it was not run as code. If you know where "
                "it comes from, stop the batch, trust it as it is now (tidepool trust add BATCH) and resume it."
            )

    def broken(self, replies: Iterable[tuple[bytes, str, bytes | None]]) -> int:
        """How many of these stored replies (key, text, seal) do not carry this user's seal."""
        return sum(not self.admits(*reply) for reply in replies)

    def _seal(self, key: bytes, text: str) -> bytes:
        return hmac.digest(self._secret, _hash(text) + key, "sha256")


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
