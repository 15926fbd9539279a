"""The app's eyes on the file: queries run in threads of their own, so that the event loop never waits for a disk.

Two lanes: `look` for the small live queries, `dig` for those that may take a second (search, the past of a batch).
Each lane has one thread and one connection in autocommit.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from tidepool.storage.errors import FileError, TidepoolError
from tidepool.storage.file import connect, explain
from tidepool.storage.queries.damage import blame

P = ParamSpec("P")
T = TypeVar("T")


class _Lane:
    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None

    async def run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, query)

    def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._connection is None:
                self._connection = connect(self._path)
                self._connection.execute("PRAGMA query_only = ON")
            return query(self._connection)
        except sqlite3.Error as error:
            raise FileError(explain(self._path, error)) from error
        except TidepoolError:
            raise
        except Exception as error:
            raise blame(self._path, error) or error from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()
        self._thread.submit(self._let_go)
        self._thread.shutdown(wait=True, cancel_futures=False)

    def _let_go(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


class FileReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._near = _Lane(path, "look")
        self._deep = _Lane(path, "dig")
        self._hands = ThreadPoolExecutor(1, thread_name_prefix="do")

    async def look(
        self, query: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._near.run(lambda connection: query(connection, *args, **kwargs))

    async def dig(self, query: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._deep.run(lambda connection: query(connection, *args, **kwargs))

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A small write, or anything else that may wait for the file."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, lambda: work(*args, **kwargs))

    def close(self) -> None:
        self._near.close()
        self._deep.close()
        self._hands.shutdown(wait=True)
