"""Opening a study file: made when missing, upgraded when old, refused when it is not ours or newer.

WAL while open; after a clean close a single plain file that can be copied and mailed.
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
        _query_end.by_its_limit = self.left < 0
        return self.left < 0


class _QueryEnd(threading.local):
    by_its_limit = False


_query_end = _QueryEnd()
"""why the last query of this thread ended that SQLite calls interrupted: it says no more itself"""


def interrupted_by_user(error: Exception) -> bool:
    """Whether Ctrl+C ended a query: it came while SQLite worked, and what it raised was lost there."""
    in_main = threading.current_thread() is threading.main_thread()
    return "interrupted" in str(error) and in_main and not _query_end.by_its_limit


class LimitedConnection(sqlite3.Connection):
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

    def lift_time_limit(self) -> None:
        """For work as long as the file is: copies. It still hears Ctrl+C."""
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
"""that a change of the journal may take"""
SMALLEST_PAGE = 512
"""no SQLite file is shorter"""


def prepare(path: Path, *, create: bool = True, schema: Schema = CURRENT) -> None:
    """Makes sure that `path` is a study file of the newest version."""
    with explained(path), closing(_checked(path, create=create, schema=schema)):
        pass


def connect(path: Path, *, read_only: bool = False) -> LimitedConnection:
    """A plain connection in autocommit to a file that is known to be ours."""
    # As a URI, so that files attached later may be named by one, too.
    address = path.absolute().as_uri() + ("?mode=ro" if read_only else "")
    connection = sqlite3.connect(
        address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, factory=LimitedConnection
    )
    connection.row_factory = sqlite3.Row
    return connection


@contextmanager
def reading(path: Path) -> Iterator[LimitedConnection]:
    """A short-lived connection for queries; the file is left as it was."""
    with explained(path), closing(_checked(path, create=False)) as connection:
        connection.execute("PRAGMA query_only = ON")
        yield connection


@contextmanager
def writing(path: Path) -> Iterator[LimitedConnection]:
    """A short transaction: all of it or nothing, and safe from a power cut. For small writes beside a running batch."""
    with explained(path), closing(_checked(path)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        with transaction(connection):
            yield connection


def _checked(path: Path, *, create: bool = True, schema: Schema = CURRENT) -> LimitedConnection:
    """Opens the file, which is made when missing, upgraded when old, and refused where it is not as we make it."""
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
    """The first column of the first row; None where there is no row."""
    row = connection.execute(query, values).fetchone()
    return None if row is None else row[0]


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; whoever else writes waits."""
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
    """Returns a file nobody else has open to a single plain one; silently leaves it where others do."""
    with (
        _ONE_AT_A_TIME,  # two batches of one process that end together must not stand in each other's way
        suppress(sqlite3.Error),
        closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = TRUNCATE")  # by way of which a journal without contents is removed
        connection.execute("PRAGMA journal_mode = DELETE")


def tidy_journal(path: Path) -> None:
    """Removes the journal of a writer that was killed before it had written: SQLite leaves such a one to the next writer."""
    if Path(f"{os.path.realpath(path)}-journal").exists():
        settle(path)


def _create(path: Path, schema: Schema) -> None:
    if not path.parent.is_dir():
        raise FileError(f"Cannot make {path}: the folder {path.parent} does not exist. Create it first.")
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
    """Tells a stranger's file by its first bytes: SQLite would tidy up after its owner merely by opening it.

    Only before this process knows the file: closing it drops the locks of every connection this process has to it
    (POSIX), and another process could then take the WAL away under them.
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
"""files this process has made or looked at: they are never opened again but by SQLite"""


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def refuse_foreign_file(path: Path, connection: sqlite3.Connection, newest: int = CURRENT.version) -> int:
    """Raises where the file is not ours, or newer than this program. Returns its version."""
    application_id = _application_id(connection)
    version = version_of(connection)
    _refuse(path, application_id, version, newest)
    return version


def _application_id(connection: sqlite3.Connection) -> int:
    """While another connection changes the journal, SQLite may say at once that the file is locked, without waiting for it."""
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
        raise FileError(f"{path} is a SQLite file, but not Tidepool's. It was left as it is; name another with --db.")
    if version < 1:
        raise FileError(f"{path} says that it is of version {version}, and there is none. The file was left as it is.")
    if version > newest:
        raise FileError(
            f"{path} was written by a newer Tidepool (file version {version}, this one knows {newest}). "
            "It was left as it is; upgrade Tidepool to open it."
        )


def _upgrade(path: Path, connection: LimitedConnection, schema: Schema) -> None:
    """Upgrades an older file in one transaction, after a copy was put beside it, while no batch runs in it.

    Of several processes that open an old file at once the first upgrades it, and the others find it new. An upgrade that
    fails leaves the file as it was, and nothing beside it.
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
                    f"{path} is of an older version, and batch {held} runs in it. Let it end, or stop it with the Tidepool "
                    "it was started with; then open the file again to upgrade it."
                )
        with _back_up(path, version):
            schema.upgrade(connection)
            refuse_odd_schema(path, connection, schema)


@contextmanager
def _back_up(path: Path, version: int) -> Iterator[None]:
    """Under a name that is free, and never half a copy; by a reader of its own, for the writer is in a transaction."""
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
    """What SQLite complains of is told with the name of the file."""
    try:
        yield
    except sqlite3.Error as error:
        if interrupted_by_user(error):
            raise KeyboardInterrupt from None
        raise FileError(explain(path, error)) from error


_UNWRITABLE = "{path} cannot be written ({words}). Check the permissions of the file and its folder."
_EXPLAINED = {
    "not a database": "{path} is not a SQLite database. It was left as it is; name another file with --db.",
    "malformed": "{path} is damaged ({words}). It was left as it is; restore a copy, or try SQLite's own .recover.",
    "full": "The disk that holds {path} is full. Everything committed so far is safe; make room, then resume.",
    "readonly": _UNWRITABLE,
    "unable to open": _UNWRITABLE,
    "locked": "{path} is locked by another program ({words}). Close it there, then try again.",
    "interrupted": "A question to {path} took too long and was ended. {variable} gives such questions more seconds.",
    "too big": "{path} holds a text or a row of more than {most} MiB, which Tidepool neither writes nor reads. Another program "
    "changed the file.",
    "I/O": "The disk that holds {path} failed ({words}). Everything committed so far is safe; look after the disk.",
    "": "{path} cannot be used: {words}.",
}
"""a part of SQLite's words → what it means for the person who opened the file; the first that fits"""


def explain(path: Path, error: Exception) -> str:
    """What SQLite's words mean for the person who opened `path`."""
    words = str(error)
    meaning = next(meaning for part, meaning in _EXPLAINED.items() if part in words)
    return meaning.format(path=path, words=words, variable=LIMIT_VARIABLE, most=LONGEST_TEXT >> 20)


# -- Lock files --------------------------------------------------------------------------------------------------------


BATCH_ID = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")
"""ids become names of files"""


def lock_path(path: Path, batch_id: str) -> Path:
    """The file whose lock stands for the batch."""
    if not BATCH_ID.match(batch_id):
        raise FileError("A batch of this file has an id that is none. The file was changed; take care with it.")
    real = Path(os.path.realpath(path))  # by whatever name the file is opened, it has one lock
    lock_file = real.with_name(f"{real.name}-{batch_id}.lock")
    with suppress(OSError):  # it may go away at any moment
        if not stat.S_ISREG(lock_file.lstat().st_mode):
            complaint = "should be the lock of a batch, and is no plain file. Look what it is, and remove it."
            raise FileError(f"{lock_file} {complaint}")
    return lock_file


def is_held(path: Path, batch_id: str) -> bool:
    """Whether a process of this host runs the batch. A lock file that a killed one left is removed."""
    if not BATCH_ID.match(batch_id) or not (lock_file := lock_path(path, batch_id)).exists():
        return False
    from filelock import FileLock, Timeout  # loaded where a lock is at stake: it brings asyncio with it

    probe = FileLock(lock_file, blocking=False)
    try:
        probe.acquire()
    except Timeout:
        return True
    lock_file.unlink(missing_ok=True)
    probe.release()
    return False


def tidy_locks(path: Path) -> None:
    """Removes the lock files that killed processes left: those that nobody holds."""
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
    """TIDEPOOL_STATE, else the user's own state folder. It need not exist yet, and is not absolute where there is no home."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder).absolute()
    from platformdirs import user_state_path

    return user_state_path("tidepool")


def config_folder() -> Path:
    """TIDEPOOL_CONFIG, else the user's own config folder: what they wrote themselves. It need not exist."""
    if folder := os.environ.get(CONFIG_VARIABLE):
        return Path(folder)
    from platformdirs import user_config_path

    return user_config_path("tidepool")


def refuse_writable_by_others(path: Path) -> None:
    """Raises PermissionError where another user may have written this file, the link to it, or may replace it.

    Root may own it, as in images and where an administrator installs it. A group of the user alone (its number is the
    user's) may write to it, as it may to every file with umask 002.
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
"""of temporary folders; the machine is part of it, since another one knows nothing of its processes"""


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A folder in `parent` for the user alone, gone at the end. By a note of it in the state folder the next command finds what
    a killed one left."""
    from tempfile import TemporaryDirectory  # slow to load, and every command loads this module

    note: Path | None = None
    try:
        with TemporaryDirectory(dir=parent, prefix=f"{PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as name:
            with suppress(OSError):  # no state folder: nobody tidies up after a kill
                note = state_folder() / "scratch" / Path(name).name
                note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                note.write_text(str(Path(name).resolve()), encoding="utf-8")
            yield Path(name)
    finally:
        if note is not None:
            with suppress(OSError):
                note.unlink()


def sweep() -> None:
    """Removes the temporary folders that killed commands of this user left on this machine, wherever they lie."""
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
    each in one step, and what else lies there stays. An error leaves everything as it was."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    with temporary_folder(nearest) as scratch:  # on the same disk, so that a move is a change of name
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
    """Writes a file for its owner alone, in one step: readers see the old content or the new one."""
    with whole_folder(path.parent) as scratch:
        file = scratch / path.name
        file.touch(mode=0o600)
        file.write_bytes(content)


def _to_disk(path: Path) -> None:
    """A file's content, or a folder's names: a power cut after the change of names must not leave empty files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
