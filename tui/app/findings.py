"""What a batch has come to so far, asked of the process beside the app no more often than it may cost."""

import time
from typing import TYPE_CHECKING

from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app.worker import InterimEstimate, so_far

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

SOONEST = 2.0
"""seconds between two looks"""
SHARE = 0.01
"""of the time that looking may take"""


class EstimateReader:
    """Looks again where something changed, and the last look is paid for."""

    def __init__(self, app: "TidepoolApp") -> None:
        self._app = app
        self._batch: int | None = None
        self._last_state: object = None
        self._not_before = 0.0
        self._looking = False

    def due(self, batch: BatchLine) -> bool:
        """Whether to `read` now; another batch need not wait for the last one's pause."""
        if batch.number != self._batch:
            self._batch, self._last_state, self._not_before = batch.number, None, 0.0
        state = (batch.number, batch.status, batch.calls, batch.units_done)
        return not self._looking and state != self._last_state and time.monotonic() >= self._not_before

    async def read(self, batch: BatchLine) -> InterimEstimate | None:
        """None where it is no longer wanted; an empty one where nothing can be told."""
        found, self._looking = InterimEstimate(seconds=SOONEST), True
        self._last_state = (batch.number, batch.status, batch.calls, batch.units_done)
        try:
            found = await self._app.counting.ask(so_far, self._app.path, batch.id)
        except TidepoolError:
            pass
        finally:
            self._looking = False
        if batch.number != self._batch:
            return None
        self._not_before = time.monotonic() + max(SOONEST, found.seconds / SHARE)
        return found
