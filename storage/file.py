"""Opens a study file. Creates a missing file, upgrades an old one, and refuses foreign or newer files.

The file uses WAL while it is open. After a clean close it is a single plain file that can be copied and mailed.
"""

import errno
import os
import re
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from tidepool.storage.errors import FileError
from tidepool.storage.schema import CURRENT, Schema, refuse_odd_schema, refuse_triggers, version_of

LIMIT_VARIABLE = "TIDEPOOL_QUERY_SECONDS"
LIMIT_SECONDS = 60.0
"""time limit of one query, unless the variable sets another; our longest query over a million calls takes a tenth of it"""
STEPS = 20_000
"""steps of SQLite's virtual machine between two checks of the limit: a millisecond or two"""
LONGEST_LOOK = 0.1
"""seconds between two checks that count against the limit, at most; the rest was not spent in SQLite"""
LONGEST_TEXT = 65 * 2**20
"""bytes of a text or a row: the largest config or reply, with the rest of its row"""

_PRAGMAS = ("trusted_schema = OFF", "cell_size_check = ON", "wal_autocheckpoint = 0", "fullfsync = ON")


class _Watch:
    """SQLite calls this while it works. Returning True ends the query."""

    __slots__ = ("last", "left", "limit")

    def __init__(self, limit: float) -> None:
        self.limit = self.left = limit
        self.last = time.monotonic()

    def __call__(self) -> bool:
        now = time.monotonic()
        self.left -= min(now - self.last, LONGEST_LOOK)
        self.last = now
        _query_end.by_its_limit = self.left < 0
        return self.left < 0


class _QueryEnd(threading.local):
    by_its_limit = False


_query_end = _QueryEnd()
"""why the last interrupted query of this thread ended, because SQLite itself does not say whether the limit or Ctrl+C ended it"""


def interrupted_by_user(error: Exception) -> bool:
    """Whether Ctrl+C ended a query. Its exception is lost if it arrives while SQLite works."""
    in_main = threading.current_thread() is threading.main_thread()
    return "interrupted" in str(error) and in_main and not _query_end.by_its_limit


class LimitedConnection(sqlite3.Connection):
    """A connection in autocommit, so that no forgotten snapshot keeps the WAL from being checkpointed."""

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

    def lift_time_limit(self) -> None:
        """For work that grows with the file, such as copies. Ctrl+C still ends it."""
        self._watch.limit = float("inf")


def _limit() -> float:
    try:
        return float(os.environ[LIMIT_VARIABLE])
    except (KeyError, ValueError):
        return LIMIT_SECONDS


APPLICATION_ID = 0x5469_6470
"""Marks a SQLite file as ours in its header ("Tidp")."""

BUSY_SECONDS = 30
CHANGING_SECONDS = 1.0
"""longest time that a change of the journal mode may take"""
SMALLEST_PAGE = 512
"""no SQLite file is shorter"""


def prepare(path: Path, *, create: bool = True, schema: Schema = CURRENT) -> None:
    """Ensures that `path` is a study file of the newest version."""
    with explained(path), closing(_checked(path, create=create, schema=schema)):
        pass


def connect(path: Path, *, read_only: bool = False) -> LimitedConnection:
    """Opens a plain connection in autocommit to a file that is known to be a study file."""
    # As a URI, so that files attached later may be named by a URI too.
    address = path.absolute().as_uri() + ("?mode=ro" if read_only else "")
    connection = sqlite3.connect(
        address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, factory=LimitedConnection
    )
    connection.row_factory = sqlite3.Row
    return connection


@contextmanager
def reading(path: Path) -> Iterator[LimitedConnection]:
    """Opens a short-lived connection for queries, which does not change the file."""
    with explained(path), closing(_checked(path, create=False)) as connection:
        connection.execute("PRAGMA query_only = ON")
        yield connection


@contextmanager
def writing(path: Path) -> Iterator[LimitedConnection]:
    """Opens a short atomic transaction that survives a loss of power. For small writes while a batch runs."""
    with explained(path), closing(_checked(path)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        with transaction(connection):
            yield connection


def _checked(path: Path, *, create: bool = True, schema: Schema = CURRENT) -> LimitedConnection:
    """Opens the file. Creates it if it is missing, upgrades it if it is old, and refuses an unknown schema."""
    if not path.exists() or path.stat().st_size == 0:
        if not create:
            problem = f"The file {path} is empty" if path.exists() else f"There is no file {path}"
            raise FileError(f"{problem}. Run a study first, or name another file with --db.")
        _create(path, schema)
        _known.add(_identity(path))
    _refuse_by_header(path, schema.version)
    connection = connect(path)
    try:
        if refuse_foreign_file(path, connection, schema.version) < schema.version:
            _upgrade(path, connection, schema)
        else:
            refuse_odd_schema(path, connection, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def value_of(connection: sqlite3.Connection, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> Any:
    """Returns the first column of the first row; None without a row."""
    row = connection.execute(query, values).fetchone()
    return None if row is None else row[0]


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """An atomic transaction. Other writers wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_ONE_AT_A_TIME = Lock()


def settle(path: Path) -> None:
    """Makes the study a single plain file again. Does nothing while others have it open."""
    with (
        _ONE_AT_A_TIME,  # two batches of one process may end together and must not block each other
        suppress(sqlite3.Error),
        closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = TRUNCATE")  # this step also removes an empty journal
        connection.execute("PRAGMA journal_mode = DELETE")


def tidy_journal(path: Path) -> None:
    """Removes the journal of a writer that was killed before it wrote. SQLite leaves it to the next writer."""
    if Path(f"{os.path.realpath(path)}-journal").exists():
        settle(path)


def _create(path: Path, schema: Schema) -> None:
    if not path.parent.is_dir():
        raise FileError(f"Cannot create {path}: the folder {path.parent} does not exist. Create the folder first.")
    existed = path.exists()
    try:
        with explained(path), closing(connect(path)) as connection, transaction(connection):
            if version_of(connection) == 0:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                schema.create(connection)
    except FileError:
        if not existed and path.exists() and path.stat().st_size == 0:
            path.unlink()
        raise


def _refuse_by_header(path: Path, newest: int) -> None:
    """Recognizes a foreign file by its first bytes, because SQLite may change a file merely by opening it.

    Reads the file only before this process knows it. Closing a file drops the locks of every connection that this process
    has to it (POSIX), and another process could then remove the WAL.
    """
    if _identity(path) in _known and path.stat().st_size >= SMALLEST_PAGE:
        return
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    if len(header) < 100 or header[:16] != b"SQLite format 3\0":
        raise FileError(explain(path, sqlite3.DatabaseError("file is not a database")))
    _refuse(path, int.from_bytes(header[68:72]), int.from_bytes(header[60:64], signed=True), newest)
    _known.add(_identity(path))


_known: set[tuple[int, int]] = set()
"""files that this process created or checked; from then on only SQLite opens them"""


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def refuse_foreign_file(path: Path, connection: sqlite3.Connection, newest: int = CURRENT.version) -> int:
    """Raises if the file is not a study file or is newer than this program. Returns its version."""
    application_id = _application_id(connection)
    version = version_of(connection)
    _refuse(path, application_id, version, newest)
    return version


def _application_id(connection: sqlite3.Connection) -> int:
    """Reads the id again for a second, because SQLite reports a lock without waiting while another connection changes the journal mode."""
    began = time.monotonic()
    while True:
        try:
            return int(connection.execute("PRAGMA application_id").fetchone()[0])
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() - began > CHANGING_SECONDS:
                raise
            time.sleep(0.02)


def _refuse(path: Path, application_id: int, version: int, newest: int) -> None:
    if application_id != APPLICATION_ID:
        raise FileError(
            f"{path} is a SQLite file, but not a Tidepool study. It was not changed. Choose another file with --db."
        )
    if version < 1:
        raise FileError(
            f"{path} has the unknown file version {version}. It was not changed. Choose another file with --db."
        )
    if version > newest:
        raise FileError(
            f"{path} was written by a newer Tidepool (file version {version}; this Tidepool reads up to {newest}). "
            "It was not changed. Upgrade Tidepool to open it."
        )


def _upgrade(path: Path, connection: LimitedConnection, schema: Schema) -> None:
    """Upgrades an older file in one transaction, after saving a backup next to it. Refuses while a batch runs in it.

    If several processes open an old file at once, the first one upgrades it and the others find it upgraded. A failed
    upgrade leaves the file unchanged and removes the backup.
    """
    refuse_triggers(path, connection)
    connection.lift_time_limit()
    with transaction(connection):
        version = version_of(connection)
        if version >= schema.version:
            return
        for (held,) in connection.execute(
            "SELECT DISTINCT coalesce(study_id, id) FROM batch WHERE status = 'in_progress'"
        ):
            if is_held(path, str(held)):
                raise FileError(
                    f"{path} has an older file version and batch {held} is running in it. Wait for the batch, or stop it with "
                    "the Tidepool that started it. Then open the file again to upgrade it."
                )
        with _back_up(path, version):
            schema.upgrade(connection)
            refuse_odd_schema(path, connection, schema)


@contextmanager
def _back_up(path: Path, version: int) -> Iterator[None]:
    """Saves a complete copy under a free name. Uses its own connection, because the writer is in a transaction."""
    unfinished = path.with_name(f"{path.name}.v{version}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        with closing(connect(path, read_only=True)) as reader:
            reader.lift_time_limit()
            reader.execute("VACUUM INTO ?", (str(unfinished),))
        with unfinished.open("rb") as copy:
            os.fsync(copy.fileno())
        yield
        numbers = ("", *(f".{number}" for number in range(2, 1000)))
        names = (path.with_name(f"{path.name}.v{version}{number}.bak") for number in numbers)
        unfinished.replace(next(name for name in names if not name.exists()))
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns errors of SQLite into a `FileError` that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        if interrupted_by_user(error):
            raise KeyboardInterrupt from None
        raise FileError(explain(path, error)) from error


_UNWRITABLE = "{path} cannot be written ({words}). Check the permissions of the file and its folder."
_EXPLAINED = {
    "not a database": "{path} is not a SQLite database. It was not changed. Choose another file with --db.",
    "malformed": "{path} is damaged ({words}). It was not changed. Restore a copy, or try the .recover command of SQLite.",
    "full": "The disk that holds {path} is full. Everything committed so far is safe. Free some space, then resume.",
    "readonly": _UNWRITABLE,
    "unable to open": _UNWRITABLE,
    "locked": "{path} is locked by another program ({words}). Close it there, then try again.",
    "interrupted": "A query of {path} took too long and was stopped. Set {variable} to allow more seconds.",
    "too big": "{path} contains a text or a row of more than {most} MiB, which Tidepool neither writes nor reads. Another "
    "program changed the file. Restore a copy.",
    "I/O": "The disk that holds {path} failed ({words}). Everything committed so far is safe. Check the disk.",
    "": "{path} cannot be used: {words}.",
}
"""part of SQLite's message → message for the user; the first match counts"""


def explain(path: Path, error: Exception) -> str:
    """Returns the message for the user who opened `path`."""
    words = str(error)
    meaning = next(meaning for part, meaning in _EXPLAINED.items() if part in words)
    return meaning.format(path=path, words=words, variable=LIMIT_VARIABLE, most=LONGEST_TEXT >> 20)


# -- Lock files --------------------------------------------------------------------------------------------------------


BATCH_ID = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")
"""an id becomes part of a file name"""


def lock_path(path: Path, batch_id: str) -> Path:
    """Returns the lock file of the batch."""
    if not BATCH_ID.match(batch_id):
        raise FileError("A batch in this file has an invalid id. Another program changed the file, so do not trust it.")
    real = Path(os.path.realpath(path))  # one lock per file, whatever name it is opened by
    lock_file = real.with_name(f"{real.name}-{batch_id}.lock")
    with suppress(OSError):  # it may disappear at any moment
        if not stat.S_ISREG(lock_file.lstat().st_mode):
            complaint = (
                "should be the lock file of a batch, but it is not a regular file. Check what it is, then remove it."
            )
            raise FileError(f"{lock_file} {complaint}")
    return lock_file


def is_held(path: Path, batch_id: str) -> bool:
    """Whether a process on this host runs the batch. Removes the lock file of a killed process."""
    if not BATCH_ID.match(batch_id) or not (lock_file := lock_path(path, batch_id)).exists():
        return False
    from filelock import FileLock, Timeout  # loaded only when needed, because it imports asyncio

    probe = FileLock(lock_file, blocking=False)
    try:
        probe.acquire()
    except Timeout:
        return True
    lock_file.unlink(missing_ok=True)
    probe.release()
    return False


def tidy_locks(path: Path) -> None:
    """Removes the lock files that killed processes left behind."""
    real = Path(os.path.realpath(path))
    before, behind = f"{real.name}-", ".lock"
    with suppress(OSError):
        for entry in os.scandir(real.parent):
            if entry.name.startswith(before) and entry.name.endswith(behind):
                is_held(path, entry.name[len(before) : -len(behind)])


# -- Folders -----------------------------------------------------------------------------------------------------------


FOLDER_VARIABLE = "TIDEPOOL_STATE"
CONFIG_VARIABLE = "TIDEPOOL_CONFIG"


def state_folder() -> Path:
    """Returns TIDEPOOL_STATE, or the user's state folder. It may not exist yet, and it is not absolute without a home folder."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder).absolute()
    from platformdirs import user_state_path

    return user_state_path("tidepool")


def config_folder() -> Path:
    """Returns TIDEPOOL_CONFIG, or the user's config folder, which holds files that the user wrote. It may not exist."""
    if folder := os.environ.get(CONFIG_VARIABLE):
        return Path(folder)
    from platformdirs import user_config_path

    return user_config_path("tidepool")


def refuse_writable_by_others(path: Path) -> None:
    """Raises PermissionError if another user may have written this file or its link, or may replace it.

    Root may own it, as in container images or after an installation by an administrator. The user's private group (whose
    number is the user's) may write to it, as with umask 002.
    """
    owners = (0, os.geteuid())
    for place in (path, path.parent, Path(os.path.realpath(path)).parent):
        status = place.stat()
        if status.st_uid not in owners or place.lstat().st_uid not in owners:
            raise PermissionError(f"another user owns {place}; make it yours with chown")
        write_bits = 0o002 if status.st_gid == os.getegid() == os.geteuid() else 0o022
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX  # only owners replace files there
        if status.st_mode & write_bits and not sticky:
            raise PermissionError(f"other users can write to {place}; run chmod go-w on it")
    if not path.is_file():
        raise PermissionError(f"{path} is not a regular file")


PREFIX = f".tidepool-{os.uname().nodename}-"
"""prefix of temporary folders; it includes the host name, because another host cannot check these processes"""


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A private folder in `parent` that is removed at the end. A note in the state folder lets the next command find the
    folder of a killed one."""
    from tempfile import TemporaryDirectory  # slow to load, and every command loads this module

    note: Path | None = None
    try:
        with TemporaryDirectory(dir=parent, prefix=f"{PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as name:
            with suppress(OSError):  # without a state folder, the folder of a killed command stays
                note = state_folder() / "scratch" / Path(name).name
                note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                note.write_text(str(Path(name).resolve()), encoding="utf-8")
            yield Path(name)
    finally:
        if note is not None:
            with suppress(OSError):
                note.unlink()


def sweep() -> None:
    """Removes all temporary folders that killed commands of this user left on this machine."""
    for note in (state_folder() / "scratch").glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError):
            scratch = Path(note.read_text(encoding="utf-8"))
            if scratch.name == note.name and not _runs(int(note.name.removeprefix(PREFIX).partition("-")[0])):
                from shutil import rmtree

                rmtree(scratch, ignore_errors=True)
                note.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` at the end in one step. If `folder` exists, its files are replaced one by one,
    each in one step, and its other files stay. An error leaves everything unchanged."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    with temporary_folder(nearest) as scratch:  # on the same disk, so that a move is a rename
        staging = scratch / "made"
        staging.mkdir()
        yield staging
        for path in (*staging.rglob("*"), staging):
            _to_disk(path)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            staging.replace(folder)
        else:
            for path in sorted(staging.iterdir()):
                path.replace(folder / path.name)
        for path in (folder, folder.parent):
            _to_disk(path)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a private file in one step. Readers see either the old or the new content."""
    with whole_folder(path.parent) as scratch:
        file = scratch / path.name
        file.touch(mode=0o600)
        file.write_bytes(content)


def _to_disk(path: Path) -> None:
    """Syncs a file or a folder, so that a loss of power after the rename leaves no empty files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
