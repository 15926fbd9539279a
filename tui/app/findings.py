"""What a batch has come to so far, asked of the process beside the app no more often than it may cost."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidepool.engine.reports.blocks import Block, Figure, Headline, from_json
from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.watching import BatchLine

if TYPE_CHECKING:
    from tidepool.tui.app.app import TidepoolApp

SOONEST = 2.0
"""seconds between two looks"""
SHARE = 0.01
"""of the time that looking may take"""


@dataclass(frozen=True, slots=True)
class InterimEstimate:
    headline: Headline | None = None
    blocks: tuple[Block, ...] = ()

    @property
    def figure(self) -> Figure | None:
        return next((block for block in self.blocks if isinstance(block, Figure)), None)


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
        pace, seconds = self._pace, SOONEST
        try:
            path = str(self._app.path)
            reply = await self._app.counting.ask("so_far", path=path, batch=batch.id)
            seconds = reply["seconds"]
        except TidepoolError:
            return InterimEstimate()
        finally:
            pace.ended(seconds)
        if pace is not self._pace:
            return None
        headline = from_json(reply["headline"]) if reply["headline"] else None
        return InterimEstimate(headline, from_json(reply["blocks"]))


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
        ids = [batch.id for batch in batches]
        data: dict[str, list[str]] = {batch_id: ["", ""] for batch_id in ids}
        seconds = SOONEST
        try:
            reply = await self._app.counting.ask("briefs", path=str(self._app.path), batches=ids)
            data, seconds = reply["briefs"], reply["seconds"]
        except TidepoolError:
            pass  # a list without a figure is a list all the same
        finally:
            self._pace.ended(seconds)
        for batch in batches:
            if batch.id in data:
                brief, sentence = data[batch.id]
                self._known[batch.id] = (_state(batch), (brief, sentence))


MOST_AT_ONCE = 20


def _state(batch: BatchLine) -> object:
    return batch.number, batch.status, batch.calls, batch.units_done
