"""What a batch or a study that was run tells of one that is planned: rates, spread, and what hangs together.

A pilot is small, so each of its figures is a range, wide enough that four of five pilots or more have the truth within. Of
an outcome with fewer than ten events, or non-events, it is not taken at its word at all.
"""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.design.contrasts import Factors
from tidepool.engine.design.effects import CellBatch, OutcomeTable, tables_of
from tidepool.engine.design.outcomes import PERCENT, Outcome
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.distributions import normal_quantile
from tidepool.engine.inference.grouped import Array, pair_codes
from tidepool.engine.planning.power import Layout, Three, World
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.studies import cells_of, study_of

FEWEST_EVENTS = 10
FEWEST_BATCHES = 5
"""degrees of freedom, below which batches say nothing of how much batches differ"""
SURE = normal_quantile(0.95)
"""of either end of a range"""


@dataclass(frozen=True, slots=True)
class Pilot:
    name: str
    kind: str
    tables: Mapping[str, OutcomeTable]


@dataclass(frozen=True, slots=True)
class Update:
    """What a pilot says of an outcome, over what was assumed; or why it is not asked."""

    worlds: tuple[World, ...]
    ranges: Mapping[str, Three]
    """by assumption: low, as seen, high"""
    refusal: str = ""


def read_pilot(path: Path, reference: str) -> Pilot:
    """Of a batch, or of a study where the reference names one."""
    with reading(path) as connection:
        study = study_of(connection, reference)
        if study is None:
            batch = find_batch(connection, reference)
            return _pilot(connection, batch["id"], [(batch, ())])
        names = Factors.of(study.design).names
        rows = [
            (cell.batch, cell.levels) for cell in cells_of(connection, study.id) if set(names) <= cell.levels.keys()
        ]
        if not rows:
            raise UsageError(f"The study {study.id} has no batch to learn from.")
        return _pilot(connection, study.id, [(row, tuple(levels[name] for name in names)) for row, levels in rows])


def _pilot(connection: sqlite3.Connection, name: str, rows: Sequence[tuple[Any, tuple[str, ...]]]) -> Pilot:
    kind = str(rows[0][0]["kind"])
    results = load_kind(kind).results
    outcomes: dict[str, Outcome] = {}
    batches = []
    for row, cell in rows:
        sections = StoredConfig(row["config"]).sections
        outcomes |= {outcome.name: outcome for outcome in results.measures(sections)}
        batches.append(CellBatch(cell, row["replicate"] or 1, results.values(connection, row, sections)))
    cells = list(dict.fromkeys(cell for _, cell in rows))
    return Pilot(name, kind, tables_of(list(outcomes.values()), cells, batches))


# -- one outcome -------------------------------------------------------------------------------------------------


def apply_pilot(pilot: Pilot, outcome: Outcome, layout: Layout, assumed: Sequence[World]) -> Update:
    """`layout` tells how many values of the outcome a talk has; what the pilot cannot tell stays as assumed."""
    import numpy

    table = pilot.tables.get(outcome.name)
    if table is None or not len(table.values) or numpy.isnan(table.values).all():
        return _unusable(assumed, f"the pilot has no {outcome.name}")
    residuals = _Residuals(table)
    share = outcome.unit == PERCENT
    each = layout.each if outcome.per_talk else layout.talks
    events, without = residuals.mean * residuals.number * each, (1 - residuals.mean) * residuals.number * each
    if share and min(events, without) < FEWEST_EVENTS:
        what, few = ("events", events) if events <= without else ("non-events", without)
        return _unusable(
            assumed, f"{few:,.0f} {what} of {outcome.name} in the pilot, and fewer than {FEWEST_EVENTS} say too little"
        )
    if not outcome.per_talk:
        return _of_batches(residuals, outcome, assumed, share=share)
    if residuals.freedom < FEWEST_EVENTS or residuals.variance <= 0:
        return _unusable(assumed, f"{residuals.number:,} talks of the pilot say too little of {outcome.name}")
    return _of_talks(residuals, table, layout, assumed, share=share)


def _unusable(assumed: Sequence[World], why: str) -> Update:
    return Update(tuple(assumed), {}, f"{why}: what is assumed stands instead.")


class _Residuals:
    """What is left of each value beyond the mean of its cell."""

    def __init__(self, table: OutcomeTable) -> None:
        import numpy

        self.table = table
        self.present = ~numpy.isnan(table.values)
        with numpy.errstate(invalid="ignore"):
            times = self.present.sum(axis=0)
            means = numpy.where(self.present, table.values, 0.0).sum(axis=0) / numpy.maximum(times, 1)
        self.rest = numpy.where(self.present, table.values - means, 0.0)
        self.number = int(self.present.sum())
        self.mean = float(table.values[self.present].mean())
        self.freedom = self.number - int((times > 0).sum())
        self.variance = float((self.rest**2).sum()) / max(1, self.freedom)

    @property
    def inside(self) -> float:
        """The variance among talks of the same two over the same, where there are enough of those."""
        import numpy

        cell = numpy.broadcast_to(numpy.arange(self.present.shape[1]), self.present.shape)[self.present]
        met = pair_codes(self.table.drawn[self.present], cell)
        _, code, times = numpy.unique(met, return_inverse=True, return_counts=True)
        values = self.table.values[self.present]
        if 2 * len(times) > len(values):
            return self.variance
        means = numpy.bincount(code, values) / times
        return float(((values - means[code]) ** 2).sum()) / (len(values) - len(times))

    def unsure(self, crowd: float) -> float:
        """By which factor the variance may be off, to either side: from its own fourth moment."""
        fourth = float((self.rest[self.present] ** 4).mean())
        own = max(0.5, fourth / self.variance**2 - 1)
        return math.exp(SURE * math.sqrt(own * crowd / self.number) + 4 / self.number)

    def likeness(self, groups: Array) -> Three | None:
        """How alike the values of a group are (intraclass correlation), with its range; None with fewer than three groups."""
        import numpy

        residuals = self.rest[self.present]
        _, code, times = numpy.unique(groups[self.present], return_inverse=True, return_counts=True)
        number, freedom_within = len(times), len(residuals) - len(times)
        if number < 3 or freedom_within < 3:
            return None
        means = numpy.bincount(code, residuals) / times
        size = (len(residuals) - float((times**2).sum()) / len(residuals)) / (number - 1)
        among = float((times * means**2).sum()) / (number - 1)
        within = float(((residuals - means[code]) ** 2).sum()) / freedom_within
        if within <= 0:
            return None
        factor = math.exp(SURE * math.sqrt(2 / (number - 1) + 2 / freedom_within))
        low, middle, high = (
            min(1.0, max(0.0, (ratio - 1) / (ratio + size - 1)))
            for ratio in (among / within / factor, among / within, among / within * factor)
        )
        return low, middle, high

    def matched(self, clusters: float) -> Three | None:
        """How alike matched talks of two cells are; None without any."""
        complete = self.present.all(axis=1) if self.present.shape[1] > 1 else self.present[:, 0] & False
        rest = self.rest[complete]
        squares, number = float((rest**2).sum()), min(float(complete.sum()), clusters)
        if number < FEWEST_EVENTS or squares <= 0:
            return None
        cells = rest.shape[1]
        correlation = (float((rest.sum(axis=1) ** 2).sum()) - squares) / ((cells - 1) * squares)
        return _around(correlation, number)


def _of_talks(
    residuals: _Residuals, table: OutcomeTable, layout: Layout, assumed: Sequence[World], *, share: bool
) -> Update:
    import numpy

    linked = bool(table.linked.any())
    cells = numpy.arange(len(table.cells))
    games = pair_codes(
        pair_codes(table.replicate[:, None] + 0 * table.game, table.game.clip(0)), cells + 0 * table.game
    )
    scenarios = numpy.broadcast_to(table.scenario[:, None], table.game.shape)
    game = residuals.likeness(games) if linked else None
    repeated = 1 < len(numpy.unique(table.scenario[table.scenario > 0])) < len(table.values)
    scenario = residuals.likeness(scenarios) if repeated else None
    crowd = 1.0
    if game:
        crowd = 1 + (residuals.number / len(numpy.unique(games[residuals.present])) - 1) * game[1]
    factor = residuals.unsure(crowd)
    variances = (residuals.variance / factor, residuals.variance, residuals.variance * factor)
    rates = _rates(residuals, crowd) if share else None
    likeness = _within_talks(residuals, layout.each, crowd) if share else None
    narrower = min(1.0, residuals.inside / residuals.variance)
    matched = residuals.matched(residuals.number / crowd)
    worlds = []
    for index, world in enumerate(assumed):
        # The variance of one value of a talk; where it is no share, as alike as the values of a talk are taken to be.
        alike = max(0.1, 1 + (layout.each - 1) * world.correlation)
        variance = rates[index] * (1 - rates[index]) if rates else residuals.variance * layout.each / alike
        talk = variances[index] / variance
        updated = replace(world, talk=talk, inside=talk * narrower, each=layout.each)
        updated = replace(updated, rate=rates[index]) if rates else replace(updated, sd=math.sqrt(variance))
        updated = replace(updated, correlation=likeness[2 - index]) if likeness else updated
        updated = replace(updated, game=game[index]) if game else updated
        updated = replace(updated, scenario=scenario[index]) if scenario else updated
        worlds.append(replace(updated, matched=matched[2 - index]) if matched else updated)
    ranges = {"rate": rates, "correlation": likeness, "game": game, "scenario": scenario, "matched": matched}
    ranges["sd of a talk"] = _roots(variances)
    return Update(tuple(worlds), {name: three for name, three in ranges.items() if three})


def _rates(residuals: _Residuals, crowd: float) -> Three:
    """The rate seen, and on either side of it the one that varies least and most."""
    reach = SURE * math.sqrt(residuals.variance * crowd / residuals.number)
    ends = [min(0.99, max(0.01, residuals.mean + sign * reach)) for sign in (-1, 1)]
    most = 0.5 if ends[0] < 0.5 < ends[1] else min(ends, key=lambda rate: abs(rate - 0.5))
    return max(ends, key=lambda rate: abs(rate - 0.5)), residuals.mean, most


def _within_talks(residuals: _Residuals, each: float, crowd: float) -> Three | None:
    """How alike the values of a talk are, from how much less its mean varies than one value."""
    if each <= 1:
        return None
    middle = (each * residuals.variance / (residuals.mean * (1 - residuals.mean)) - 1) / (each - 1)
    return _around(middle, residuals.number / crowd)


def _around(correlation: float, number: float) -> Three:
    middle, reach = math.atanh(max(-0.99, min(0.99, correlation))), SURE / math.sqrt(max(1.0, number - 3))
    return math.tanh(middle - reach), math.tanh(middle), math.tanh(middle + reach)


def _roots(variances: Three) -> Three:
    low, middle, high = map(math.sqrt, variances)
    return low, middle, high


def _of_batches(data: _Residuals, outcome: Outcome, assumed: Sequence[World], *, share: bool) -> Update:
    """An outcome that is one number a batch: replicates tell how much batches differ, a single batch where it stands."""
    if data.freedom < FEWEST_BATCHES or data.variance <= 0:
        few = f"{data.number:,} batches of the pilot do not say how much batches differ in {outcome.name}"
        if not share:
            return _unusable(assumed, few)
        worlds = tuple(replace(world, rate=data.mean) for world in assumed)
        return Update(worlds, {"rate": (data.mean, data.mean, data.mean)}, f"{few}: what is assumed of that stands.")
    factor = math.exp(SURE * math.sqrt(2 / data.freedom))
    matched = data.matched(math.inf)
    spread = (data.variance / factor, data.variance, data.variance * factor)
    worlds = tuple(
        replace(world, batch=spread[index], **({"matched": matched[2 - index]} if matched else {}))
        for index, world in enumerate(assumed)
    )
    ranges = {"sd of a batch": _roots(spread)} | ({"matched": matched} if matched else {})
    return Update(worlds, ranges)
