"""Reads the interim result of a running batch from a helper process, at a limited rate."""

import time
from typing import TYPE_CHECKING

from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.watching import BatchLine
from tidepool.tui.app.worker import InterimEstimate, so_far

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

SOONEST = 2.0
"""least seconds between two reads"""
SHARE = 0.01
"""share of the time that reading may take"""


class EstimateReader:
    """Reads again if the batch changed and enough time has passed since the last read."""

    def __init__(self, app: "TidepoolApp") -> None:
        self._app = app
        self._batch: int | None = None
        self._last_state: object = None
        self._not_before = 0.0
        self._looking = False

    def due(self, batch: BatchLine) -> bool:
        """Whether to `read` now. A different batch need not wait."""
        if batch.number != self._batch:
            self._batch, self._last_state, self._not_before = batch.number, None, 0.0
        state = (batch.number, batch.status, batch.calls, batch.units_done)
        return not self._looking and state != self._last_state and time.monotonic() >= self._not_before

    async def read(self, batch: BatchLine) -> InterimEstimate | None:
        """Returns the estimate: None if another batch is shown meanwhile, an empty one if there is no result."""
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
