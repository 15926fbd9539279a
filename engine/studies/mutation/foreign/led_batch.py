"""A batch in a thread of its own, with its own event loop, that does what a synchronous program tells it."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.errors import RunError, TidepoolError
from tidepool.engine.results.batch_summary import Summary
from tidepool.engine.run import resume_led, run_frozen
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.run_control import RunControl
from tidepool.engine.studies.mutation.foreign.story import ForeignStory, Order
from tidepool.storage.batches import unfinished
from tidepool.storage.file import reading


class LedBatch:
    """The file's unfinished batch of this very config goes on; without one, a new batch begins."""

    def __init__(self, config: FrozenConfig, path: Path) -> None:
        self._ended: Future[Summary] = Future()
        self._begun = Event()
        Thread(target=self._live, args=(config, path), name="tidepool batch", daemon=True).start()
        self._begun.wait()

    def play(self, play: Callable[[ForeignStory], Awaitable[Any]]) -> Any:
        """What came of it. What stops the batch meanwhile is raised."""
        order = Order(play)
        self._put(order)
        wait((order.reply, self._ended), return_when=FIRST_COMPLETED)
        if order.reply.done():
            return order.reply.result()
        summary = self._ended.result()
        raise RunError(
            f"Batch {summary.batch_id} has ended ({summary.reason or summary.status}). The same program goes on with it when it is "
            "started again, and buys nothing twice."
        )

    def close(self) -> None:
        """What has gone wrong was told to whoever asked for it."""
        self._put(None)
        with suppress(TidepoolError):
            self._ended.result()

    def _put(self, order: Order | None) -> None:
        with suppress(RuntimeError):  # the loop has ended: so has the batch, and that is looked at next
            self._loop.call_soon_threadsafe(self._orders.put_nowait, order)

    def _live(self, config: FrozenConfig, path: Path) -> None:
        try:
            summary = asyncio.run(self._main(config, path))
        except BaseException as error:
            self._ended.set_exception(error)
        else:
            self._ended.set_result(summary)

    async def _main(self, config: FrozenConfig, path: Path) -> Summary:
        self._loop = asyncio.get_running_loop()
        self._orders: asyncio.Queue[Order | None] = asyncio.Queue()
        self._begun.set()
        control = RunControl()
        play = partial(_play, orders=self._orders, control=control)
        if (batch_id := _to_go_on(config, path)) is None:
            return await run_frozen(config, path, play=play, control=control)
        return await resume_led(batch_id, path, play=play, control=control)


async def _play(run: BatchRun, *, orders: "asyncio.Queue[Order | None]", control: RunControl) -> None:
    await ForeignStory(run, orders, control).run()


def _to_go_on(config: FrozenConfig, path: Path) -> str | None:
    if not path.exists():
        return None
    with reading(path) as connection:
        batch = unfinished(connection, config.to_json())
    return None if batch is None else str(batch["id"])
