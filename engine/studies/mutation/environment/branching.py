"""Episodes of a learner that need not repeat itself: where it goes another way than the run before, it goes on in a new unit.

Units are numbered in the order in which they are opened, so who does repeat itself meets its own units again. A unit whose
ledger holds another call at the same address belongs to a way that was left: it stays as it is, readable and paid for.
"""

from dataclasses import replace

from tidepool.engine.call import Call
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.mutation.environment.episode_book import EpisodeBook
from tidepool.engine.studies.mutation.environment.transport import CallPlace


class BranchingBook(EpisodeBook):
    def open(self, place: CallPlace, call: Call) -> Unit:
        unit = super().open(place, call)
        while unit.contradicts(call):
            unit = self._move(place)
        return unit

    def _new_unit(self, number: int, player: str) -> Unit:
        return super()._new_unit(self.opened + 1, player)

    def _move(self, place: CallPlace) -> Unit:
        left = self._open[place.serial]
        if not left.unit.settled:
            self._end(replace(left, left=True))
        unit = self._new_unit(place.serial, left.player)
        self._open[place.serial] = replace(left, unit=unit, since=place.step)
        return unit
