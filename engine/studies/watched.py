"""What a rule of [stop] watches in studies whose units do not depend on each other: one measure, unit by unit."""

import math
import sqlite3
from collections.abc import Iterator, Sequence
from statistics import fmean

from tidepool.engine.config.sections import StopWhenSure
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.contrasts import interval_of_mean
from tidepool.engine.inference.intervals import UNIT, Interval, wilson
from tidepool.engine.inference.measures import PERCENT, Outcome
from tidepool.engine.runtime.stop_rules import ReportEstimate, refuse_few_blocks, refuse_line
from tidepool.storage.queries.conversations import failed_with, measured_of


def watched_measure(rule: StopWhenSure, measures: Sequence[Outcome], units: int) -> "WatchedMeasure":
    """The measure that a rule names. Raises if the rule cannot watch it."""
    outcomes = {one.name: one for one in measures}
    name = f"{rule.outcome} of {rule.agent}" if rule.agent else rule.outcome
    if rule.difference:
        raise UsageError("stop.difference is for secret_game. Watch one measure.", ("stop", "difference"))
    if name not in outcomes:
        raise UsageError(f"stop.outcome: {name!r} is unknown. Use one of {', '.join(outcomes)}.", ("stop", "outcome"))
    if rule.decided and math.inf in outcomes[name].bounds:
        raise UsageError(f"A decision needs a measure with bounds, and {name!r} has none.", ("stop", "outcome"))
    refuse_line(rule, outcomes[name].bounds)
    participant = outcomes[name].about.partition(".")[2] or None
    target = WatchedMeasure(outcomes[name], name.removesuffix(f" of {participant}"), participant, units)
    refuse_few_blocks(rule, target, ("stop",))
    return target


class WatchedMeasure:
    """The values of one measure in the order of the plan."""

    noun = "conversations"
    linked = False

    def __init__(self, outcome: Outcome, measure: str, participant: str | None, units: int) -> None:
        self.units = self.together = units
        self.bounds, self.in_percent = outcome.bounds, outcome.unit == PERCENT
        self._measure, self._participant = measure, participant
        self._values: list[float] = []

    def ends(self) -> Iterator[int]:
        return iter(range(1, self.units + 1))

    def read_block(self, connection: sqlite3.Connection, batch_number: int, last: int) -> Interval | None:
        found = dict(measured_of(connection, batch_number, last, self._measure))
        if self._participant not in found and not failed_with(connection, batch_number, last, self._participant):
            return None  # not measured in this unit
        value = found.get(self._participant)
        if value is None:  # it failed, or could not be measured
            return None if math.inf in self.bounds else self.bounds
        self._values.append(value)
        return value, value

    def known(self) -> ReportEstimate | None:
        """By the report's interval: Wilson's for shares, else Student's."""
        if len(self._values) < 2:
            return None
        mean = fmean(self._values)
        if self.bounds == UNIT:
            return ReportEstimate(mean, wilson(mean, len(self._values)))
        return ReportEstimate(mean, interval_of_mean(self._values, self.bounds))
