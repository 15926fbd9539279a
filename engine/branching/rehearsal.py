"""A story gone through without asking anybody: to prove that it is the one that was told, and to count what it will ask."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

from tidepool.engine.branching.talks import BranchStage, OriginTalk
from tidepool.engine.call import Call, Reply
from tidepool.engine.runtime.unit import Unit

T = TypeVar("T")


class OneByOne:
    """Fan-out where nothing is waited for."""

    async def all(self, stories: Iterable[Awaitable[T]]) -> list[T]:
        return [await story for story in stories]


class _Reader:
    """A unit that has ended: its story writes nothing."""

    settled = True

    def __init__(self, number: int, answer: Callable[[Call], str]) -> None:
        self.number = number
        self._answer = answer

    async def ask(self, call: Call) -> Reply:
        return Reply(self._answer(call))

    def replayed_reply(self, step: str) -> None:
        """Every call of it is asked."""

    def has_replayed(self, step: str) -> bool:
        return False


def rehearse(stage: BranchStage, talk: OriginTalk, answer: Callable[[Call], str]) -> None:
    """Every call of the talk's story is handed to `answer`, in order."""

    async def whole() -> Any:
        return await stage.story(talk)(cast(Unit, _Reader(talk.number, answer)))

    coroutine = whole()
    try:
        coroutine.send(None)
    except StopIteration:
        return
    finally:
        coroutine.close()
    raise AssertionError("a story that asks nobody waits for nobody")
