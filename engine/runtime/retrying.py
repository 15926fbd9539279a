"""Repeats failed requests with tenacity. After each failure, the caller decides whether and when to retry."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, retry_if_exception

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


async def retry(
    request: Callable[[], Awaitable[T]], errors: tuple[type[E], ...], pause_after: Callable[[E], float | None]
) -> T:
    """Repeats `request` after one of `errors`. `pause_after` returns the seconds to wait; None raises the error."""
    pause: float | None = None

    def again(error: BaseException) -> bool:
        nonlocal pause
        pause = pause_after(error) if isinstance(error, errors) else None
        return pause is not None

    async def attempt() -> T:
        return await request()

    return await AsyncRetrying(retry=retry_if_exception(again), wait=lambda _: pause or 0.0, reraise=True)(attempt)
