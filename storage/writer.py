"""Queues rows and commits them in groups. A process has one writer for a file.

While one group is written, the next one fills. `committed()` waits until everything queued so far is committed. A commit
survives the end of the process at once. It survives a loss of power after the next durable commit, which the heartbeat makes
once a second.

With many live calls in flight, rows arrive one by one, and a commit costs more than a row. Groups therefore keep a minimum
interval, which grows with the number of calls in flight up to a limit. With none in flight, nothing waits.

The event loop writes small groups that need not reach the disk, which takes less time than switching to another thread and
back. A thread writes large groups, durable groups, and groups that wait for another program. After a slow write, the thread
writes all groups for a while.

Statements are compiled once from the SQLModel classes, and values are passed as plain tuples. A row takes a few microseconds,
a tenth of the time of SQLAlchemy's own execution. `db.py` makes rare changes.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import aiosqlite
from sqlalchemy import Table, bindparam
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import Insert, UpdateBase
from sqlmodel import SQLModel, insert, update
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random

from tidepool.storage.errors import FileError
from tidepool.storage.file import BUSY_SECONDS, LimitedConnection, explain

CHECKPOINT_ROWS = 20_000
SMALL = 200
"""most rows of a group that the event loop writes"""
HELD_UP = 0.05
"""seconds; a write in the event loop that takes longer means a slow disk"""
GROUPS_IN_THREAD = 200
"""groups that the thread writes after a slow write"""

DISTANCE, LONGEST = 0.0002, 0.02
"""seconds between two groups: for each call in flight, and at most; short compared with the latency of a model"""

_PRAGMAS = ("synchronous = NORMAL", "checkpoint_fullfsync = ON", "cache_size = -16384")


# -- Statements -------------------------------------------------------------------------------------------------------


Row = Sequence[Any]
_DIALECT = sqlite.dialect(paramstyle="qmark")


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A compiled statement of the writer."""

    sql: str
    names: tuple[str, ...]
    """names of its values in order: columns or parameters"""
    rank: int
    """lower ranks run first within a group, so that a row is inserted before it is updated"""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """values that the statement sets itself"""

    def row(self, **values: Any) -> Row:
        known = {**self.constants, **values}
        return tuple([known[name] for name in self.names])


@cache
def insert_into(table: type[SQLModel], *columns: str, conflict: str = "") -> Statement:
    """Compiles an insert of these columns. `conflict` is IGNORE or REPLACE. Values are in the table's order of columns."""
    statement = insert(table).prefix_with(f"OR {conflict}") if conflict else insert(table)
    return compile_statement(statement, rank=0, columns=columns)


def update_by(table: type[SQLModel], keys: Sequence[str], columns: Sequence[str], rank: int = 1) -> Statement:
    """Compiles an update that sets `columns` of the rows with these `keys`."""
    statement = update(table).values({name: bindparam(f"new_{name}") for name in columns})
    for name in keys:
        statement = statement.where(table_of(table).c[name] == bindparam(f"key_{name}"))
    compiled = compile_statement(statement, rank)
    return Statement(compiled.sql, tuple(name[len("new_") :] for name in compiled.names), rank)


def compile_statement(statement: Insert | UpdateBase, rank: int, columns: Sequence[str] | None = None) -> Statement:
    compiled = compile_sql(statement, columns)
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    return Statement(str(compiled), tuple(compiled.positiontup or ()), rank, constants)


def table_of(table: type[SQLModel]) -> Table:
    found: Table = SQLModel.metadata.tables[str(table.__tablename__)]
    return found


def compile_sql(statement: Insert | UpdateBase, columns: Sequence[str] | None = None) -> SQLCompiler:
    compiled = statement.compile(
        dialect=_DIALECT, column_keys=columns and list(columns), compile_kwargs={"render_postcompile": True}
    )
    assert isinstance(compiled, SQLCompiler)
    return compiled


# -- Groups -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Group:
    rows: dict[Statement, list[Row]] = field(default_factory=dict)
    size: int = 0
    durable: bool = False
    """its commit syncs to disk, together with every commit before"""
    beats: int = 0
    """number of heartbeat rows"""
    waiters: list[asyncio.Future[None]] = field(default_factory=list)


class Writer:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.before_commit: list[Callable[[], None]] = []
        """called before a group is written, to queue its counters"""
        self.calls_in_flight = 0
        """live calls that were sent or are about to be sent, whose rows may arrive at any time"""
        self.on_failure: Callable[[FileError], None] = lambda error: None
        self._group = _Group()
        self._writing = _Group()
        self._wake = asyncio.Event()
        self._failure: FileError | None = None
        self._since_checkpoint = 0
        self._patience = BUSY_SECONDS
        """seconds that SQLite waits for another program"""
        self._groups_in_thread = 0
        """number of next groups that the thread writes"""
        self._unsynced = False
        """there are commits that a loss of power may undo"""
        self._closing = False
        self._began = 0.0
        """when the last group began"""

    async def open(self) -> None:
        self._connection = await aiosqlite.connect(
            self.path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            factory=self._make_connection,
            check_same_thread=False,  # safe, because groups are written one after another
        )
        try:
            # A group of a million units takes minutes. This connection runs no queries of an untrusted file, so it needs no limit.
            self._inner.lift_time_limit()
            await self._enter_wal()
            for pragma in _PRAGMAS:
                await self._connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            await self._connection.close()
            raise FileError(explain(self.path, error)) from error
        self._task = asyncio.create_task(self._drain(), name="writer")
        self._task.add_done_callback(self._ended)

    def _make_connection(self, *arguments: Any, **options: Any) -> LimitedConnection:
        self._inner = LimitedConnection(*arguments, **options)
        return self._inner

    async def _enter_wal(self) -> None:
        """Sets WAL mode. This needs an exclusive lock, for which SQLite does not wait if two processes try at once.

        Fetches the result in the connection's own thread. Until then the file stays locked, and another batch of this process
        that waits for the file would block the event loop that has to fetch it.
        """
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(lambda error: "locked" in str(error)),
            wait=wait_random(0.01, 0.1),
            stop=stop_after_delay(BUSY_SECONDS),
            reraise=True,
        ):
            with attempt:
                await self._connection.execute_fetchall("PRAGMA journal_mode = WAL")

    async def close(self) -> None:
        """Writes everything queued, then closes the file."""
        try:
            await self.committed()
        finally:
            self._closing = True
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._connection.close()

    def put(self, statement: Statement, row: Row) -> None:
        self._group.rows.setdefault(statement, []).append(row)
        self._group.size += 1
        self._wake.set()

    def beat(self, statement: Statement, row: Row) -> None:
        """Queues a heartbeat, whose commit is durable if anything was written. While nothing happens, the disk may sleep."""
        self._group.durable |= self._unsynced or self._group.size > self._group.beats
        self._group.beats += 1
        self.put(statement, row)

    def committed(self, *, durable: bool = False) -> asyncio.Future[None]:
        """Returns a future that is done when everything queued so far is committed. `durable`: also safe from a loss of power."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._failure:
            waiter.set_exception(self._failure)
            return waiter
        self._group.durable |= durable
        self._group.waiters.append(waiter)
        self._wake.set()
        return waiter

    async def _drain(self) -> None:
        while True:
            await self._wake.wait()
            await self._keep_distance()
            self._wake.clear()
            for put_counters in self.before_commit:
                put_counters()
            group = self._writing = self._group
            self._group = _Group()
            self._unsynced = not group.durable and (self._unsynced or group.size > group.beats)
            try:
                await self._write(group)
            except Exception as error:
                self._fail(FileError(explain(self.path, error)))
                return
            for waiter in group.waiters:
                if not waiter.done():
                    waiter.set_result(None)

    async def _keep_distance(self) -> None:
        """Waits for the minimum interval. Calls that wait for this commit do not count as in flight, so if all wait, it writes at once."""
        in_flight = self.calls_in_flight - len(self._group.waiters)
        if in_flight > 0 and not self._group.durable:
            wait = self._began + min(DISTANCE * in_flight, LONGEST) - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
        self._began = time.monotonic()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Fails all waiters if the task was cancelled by the end of its event loop."""
        if task.cancelled() and not self._closing:
            self._fail(
                FileError(
                    f"Writing to {self.path} was cancelled. Everything committed so far is safe. Resume the batch."
                )
            )

    def _fail(self, failure: FileError) -> None:
        """Reports that nothing can be written any more, to current and later waiters."""
        self._failure = failure
        for waiter in self._writing.waiters + self._group.waiters:
            if not waiter.done():
                waiter.set_exception(failure)
        self.on_failure(failure)

    async def _write(self, group: _Group) -> None:
        if (
            group.durable
            or group.size > SMALL
            or self._groups_in_thread
            or self._since_checkpoint + group.size > CHECKPOINT_ROWS
        ):
            self._groups_in_thread = max(0, self._groups_in_thread - 1)
        elif self._write_in_loop(group):
            return
        await self._write_in_thread(group)

    def _write_in_loop(self, group: _Group) -> bool:
        """Writes a small group without aiosqlite's thread, because switching threads takes longer than the group.

        Uses the connection that aiosqlite got from `_make_connection`, which aiosqlite does not use meanwhile. Returns False
        if another program is writing, because the event loop must not wait for it.
        """
        began = time.monotonic()
        try:
            self._wait_for_others(0)
            self._inner.execute("BEGIN IMMEDIATE")
            try:
                for statement in _in_order(group):
                    self._inner.executemany(statement.sql, group.rows[statement])
                self._inner.execute("COMMIT")
            except Exception:
                if self._inner.in_transaction:
                    self._inner.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                return False
            raise
        self._since_checkpoint += group.size
        if time.monotonic() - began > HELD_UP:
            self._groups_in_thread = GROUPS_IN_THREAD
        return True

    def _wait_for_others(self, seconds: int) -> None:
        """Sets how long the next group waits for another program that writes. Runs the pragma only if the value changes."""
        if seconds != self._patience:
            self._inner.execute(f"PRAGMA busy_timeout = {seconds * 1000}")
            self._patience = seconds

    async def _write_in_thread(self, group: _Group) -> None:
        """Writes a group that is large, durable, or must wait for another program, in aiosqlite's thread."""
        connection = self._connection
        self._wait_for_others(BUSY_SECONDS)
        if group.durable:
            await connection.execute_fetchall("PRAGMA synchronous = FULL")
        await connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in _in_order(group):
                await connection.executemany(statement.sql, group.rows[statement])
            await connection.commit()
        except BaseException:
            if self._inner.in_transaction:
                await connection.rollback()
            raise
        self._since_checkpoint += group.size
        if group.durable:
            await connection.execute_fetchall("PRAGMA synchronous = NORMAL")
        if self._since_checkpoint > CHECKPOINT_ROWS:
            self._since_checkpoint = 0
            await connection.execute_fetchall("PRAGMA wal_checkpoint(PASSIVE)")


def _in_order(group: _Group) -> list[Statement]:
    return sorted(group.rows, key=lambda statement: statement.rank)
