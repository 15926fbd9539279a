"""What a batch has come to so far, asked of the process beside the app no more often than it may cost."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app.worker import InterimEstimate, briefs, so_far

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

SOONEST = 2.0
"""seconds between two looks"""
SHARE = 0.01
"""of the time that looking may take"""


class Pace:
    """When to look again: where something changed, and the last look is paid for."""

    def __init__(self) -> None:
        self._last_state: object = None
        self._not_before = 0.0
        self._looking = False

    def begin(self, state: object) -> bool:
        """Whether to look at this now; then `ended` is told when that is done."""
        if self._looking or state == self._last_state or time.monotonic() < self._not_before:
            return False
        self._looking, self._last_state = True, state
        return True

    def ended(self, seconds: float) -> None:
        self._looking = False
        self._not_before = time.monotonic() + max(SOONEST, seconds / SHARE)


class EstimateReader:
    """Those of the batch in hand."""

    def __init__(self, app: "TidepoolApp") -> None:
        self._app = app
        self._pace = Pace()
        self._batch: int | None = None

    def due(self, batch: BatchLine) -> bool:
        """Whether to `read` now; another batch need not wait for the last one's pause."""
        if batch.number != self._batch:
            self._batch, self._pace = batch.number, Pace()
        return self._pace.begin((batch.status, batch.calls, batch.units_done))

    async def read(self, batch: BatchLine) -> InterimEstimate | None:
        """None where it is no longer wanted; an empty one where nothing can be told."""
        pace, found = self._pace, InterimEstimate(seconds=SOONEST)
        try:
            found = await self._app.counting.ask(so_far, self._app.path, batch.id)
        except TidepoolError:
            pass
        finally:
            pace.ended(found.seconds)
        return found if pace is self._pace else None


class BriefReader:
    """Those of the batches in a list: of one that has ended once, of those that run again and again."""

    def __init__(self, app: "TidepoolApp") -> None:
        self._app = app
        self._pace = Pace()
        self._known: dict[str, tuple[object, tuple[str, str]]] = {}

    def of(self, batch: BatchLine) -> tuple[str, str]:
        """In a few letters, and in a sentence."""
        return self._known.get(batch.id, (None, ("", "")))[1]

    def outdated(self, batches: Sequence[BatchLine]) -> list[BatchLine]:
        """Those in view whose figure is old, as soon as it may be asked for; then `read` them."""
        old = [one for one in batches if not one.cells and self._known.get(one.id, (None,))[0] != _state(one)]
        return old[:MOST_AT_ONCE] if old and self._pace.begin([_state(one) for one in old]) else []

    async def read(self, batches: Sequence[BatchLine]) -> None:
        found, seconds = {batch.id: ("", "") for batch in batches}, SOONEST
        try:
            found, seconds = await self._app.counting.ask(briefs, self._app.path, list(found))
        except TidepoolError:
            pass  # a list without a figure is a list all the same
        finally:
            self._pace.ended(seconds)
        self._known |= {batch.id: (_state(batch), found[batch.id]) for batch in batches if batch.id in found}


MOST_AT_ONCE = 20


def _state(batch: BatchLine) -> object:
    return batch.number, batch.status, batch.calls, batch.units_done
