"""Work that goes out to providers, run in a thread with an event loop of its own.

Loading an SDK takes half a second, and an address that does not answer takes long: the screen must feel neither. The
thread is a daemon's, and giving up waiting cancels what it does, so nobody waits for it when the app closes.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from tidepool.engine.errors import RunError, TidepoolError

T = TypeVar("T")


async def errand(start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What the coroutine comes to. Raises a TidepoolError, whatever went wrong: addresses are typed by people."""
    here = asyncio.get_running_loop()
    done: asyncio.Future[T] = here.create_future()
    there: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def work() -> T:
        task = asyncio.current_task()
        assert task is not None
        there.append((asyncio.get_running_loop(), task))
        return await start()

    def run() -> None:
        try:
            came = asyncio.run(work())
        except asyncio.CancelledError:
            return
        except Exception as error:
            _tell(here, done, error=error)
        else:
            _tell(here, done, came=came)

    threading.Thread(target=run, name="errand", daemon=True).start()
    try:
        return await done
    except asyncio.CancelledError:
        for loop, task in there:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)
        raise


def _tell(
    loop: asyncio.AbstractEventLoop, done: "asyncio.Future[Any]", came: Any = None, error: Exception | None = None
) -> None:
    def settle() -> None:
        if done.done():
            return
        if error is None:
            done.set_result(came)
        else:
            done.set_exception(error if isinstance(error, TidepoolError) else _in_words(error))

    with suppress(RuntimeError):
        loop.call_soon_threadsafe(settle)


def _in_words(error: Exception) -> RunError:
    from tidepool.engine.providers.endpoint import scrub_keys

    words = scrub_keys(str(error)) or type(error).__name__
    return RunError(f"The provider could not be asked: {words}. Check its address and the network.")
