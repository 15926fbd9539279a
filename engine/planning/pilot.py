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
from tidepool.engine.planning.power import Layout, Three, World
from tidepool.engine.results.summary import checked
from tidepool.engine.statistics.distributions import normal_quantile
from tidepool.engine.statistics.grouped import Array, pair_codes
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.queries.conversations import levels_by_cell
from tidepool.storage.studies import study_of

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
class Seen:
    """What a pilot says of an outcome, over what was assumed; or why it is not asked."""

    worlds: tuple[World, ...]
    told: Mapping[str, Three]
    """by assumption: low, as seen, high"""
    refused: str = ""


def read_pilot(path: Path, reference: str) -> Pilot:
    """Of a batch, or of a study where the reference names one."""
    with reading(path) as connection:
        study = study_of(connection, reference)
        if study is None:
            batch = find_batch(connection, reference)
            return _pilot(connection, batch["id"], [(batch, ())])
        names = Factors.of(study.design).names
        rows = [(row, levels) for row, levels in levels_by_cell(connection, study.id) if set(names) <= levels.keys()]
        if not rows:
            raise UsageError(f"The study {study.id} has no batch to learn from.")
        return _pilot(connection, study.id, [(row, tuple(levels[name] for name in names)) for row, levels in rows])


def _pilot(connection: sqlite3.Connection, name: str, rows: Sequence[tuple[Any, tuple[str, ...]]]) -> Pilot:
    kind = str(rows[0][0]["kind"])
    given = load_kind(kind).outcomes
    if given is None:
        raise UsageError(f"The pilot {name} is of a kind that does not say what its batches come to.")
    listed: dict[str, Outcome] = {}
    batches = []
    for row, cell in rows:
        sections = StoredConfig(row["config"], checked).sections
        listed |= {one.name: one for one in given().listed(sections)}
        batches.append(CellBatch(cell, row["replicate"] or 1, given().read(connection, row, sections)))
    cells = list(dict.fromkeys(cell for _, cell in rows))
    return Pilot(name, kind, tables_of(list(listed.values()), cells, batches))


# -- one outcome -------------------------------------------------------------------------------------------------


def seen(pilot: Pilot, outcome: Outcome, layout: Layout, assumed: Sequence[World]) -> Seen:
    """`layout` tells how many values of the outcome a talk has; what the pilot cannot tell stays as assumed."""
    import numpy

    table = pilot.tables.get(outcome.name)
    if table is None or not len(table.values) or numpy.isnan(table.values).all():
        return _not(assumed, f"the pilot has no {outcome.name}")
    found = _Residuals(table)
    share = outcome.unit == PERCENT
    each = layout.each if outcome.per_talk else layout.talks
    events, without = found.mean * found.number * each, (1 - found.mean) * found.number * each
    if share and min(events, without) < FEWEST_EVENTS:
        what, few = ("events", events) if events <= without else ("non-events", without)
        return _not(
            assumed, f"{few:,.0f} {what} of {outcome.name} in the pilot, and fewer than {FEWEST_EVENTS} say too little"
        )
    if not outcome.per_talk:
        return _of_batches(found, outcome, assumed, share=share)
    if found.freedom < FEWEST_EVENTS or found.variance <= 0:
        return _not(assumed, f"{found.number:,} talks of the pilot say too little of {outcome.name}")
    return _of_talks(found, table, layout, assumed, share=share)


def _not(assumed: Sequence[World], why: str) -> Seen:
    return Seen(tuple(assumed), {}, f"{why}: what is assumed stands instead.")


class _Residuals:
    """What is left of each value beyond the mean of its cell."""

    def __init__(self, table: OutcomeTable) -> None:
        import numpy

        self.table = table
        self.known = ~numpy.isnan(table.values)
        with numpy.errstate(invalid="ignore"):
            times = self.known.sum(axis=0)
            means = numpy.where(self.known, table.values, 0.0).sum(axis=0) / numpy.maximum(times, 1)
        self.rest = numpy.where(self.known, table.values - means, 0.0)
        self.number = int(self.known.sum())
        self.mean = float(table.values[self.known].mean())
        self.freedom = self.number - int((times > 0).sum())
        self.variance = float((self.rest**2).sum()) / max(1, self.freedom)

    @property
    def inside(self) -> float:
        """The variance among talks of the same two over the same, where there are enough of those."""
        import numpy

        cell = numpy.broadcast_to(numpy.arange(self.known.shape[1]), self.known.shape)[self.known]
        met = pair_codes(self.table.drawn[self.known], cell)
        _, code, times = numpy.unique(met, return_inverse=True, return_counts=True)
        values = self.table.values[self.known]
        if 2 * len(times) > len(values):
            return self.variance
        means = numpy.bincount(code, values) / times
        return float(((values - means[code]) ** 2).sum()) / (len(values) - len(times))

    def unsure(self, crowd: float) -> float:
        """By which factor the variance may be off, to either side: from its own fourth moment."""
        fourth = float((self.rest[self.known] ** 4).mean())
        own = max(0.5, fourth / self.variance**2 - 1)
        return math.exp(SURE * math.sqrt(own * crowd / self.number) + 4 / self.number)

    def likeness(self, groups: Array) -> Three | None:
        """How alike the values of a group are (intraclass correlation), with its range; None with fewer than three groups."""
        import numpy

        rest = self.rest[self.known]
        _, code, times = numpy.unique(groups[self.known], return_inverse=True, return_counts=True)
        number, left = len(times), len(rest) - len(times)
        if number < 3 or left < 3:
            return None
        means = numpy.bincount(code, rest) / times
        size = (len(rest) - float((times**2).sum()) / len(rest)) / (number - 1)
        among = float((times * means**2).sum()) / (number - 1)
        within = float(((rest - means[code]) ** 2).sum()) / left
        if within <= 0:
            return None
        off = math.exp(SURE * math.sqrt(2 / (number - 1) + 2 / left))
        low, middle, high = (
            min(1.0, max(0.0, (ratio - 1) / (ratio + size - 1)))
            for ratio in (among / within / off, among / within, among / within * off)
        )
        return low, middle, high

    def matched(self, clusters: float) -> Three | None:
        """How alike matched talks of two cells are; None without any."""
        whole = self.known.all(axis=1) if self.known.shape[1] > 1 else self.known[:, 0] & False
        rest = self.rest[whole]
        squares, number = float((rest**2).sum()), min(float(whole.sum()), clusters)
        if number < FEWEST_EVENTS or squares <= 0:
            return None
        cells = rest.shape[1]
        found = (float((rest.sum(axis=1) ** 2).sum()) - squares) / ((cells - 1) * squares)
        return _around(found, number)


def _of_talks(found: _Residuals, table: OutcomeTable, layout: Layout, assumed: Sequence[World], *, share: bool) -> Seen:
    import numpy

    linked = bool(table.linked.any())
    cells = numpy.arange(len(table.cells))
    games = pair_codes(
        pair_codes(table.replicate[:, None] + 0 * table.game, table.game.clip(0)), cells + 0 * table.game
    )
    scenarios = numpy.broadcast_to(table.scenario[:, None], table.game.shape)
    game = found.likeness(games) if linked else None
    repeated = 1 < len(numpy.unique(table.scenario[table.scenario > 0])) < len(table.values)
    scenario = found.likeness(scenarios) if repeated else None
    crowd = 1.0
    if game:
        crowd = 1 + (found.number / len(numpy.unique(games[found.known])) - 1) * game[1]
    factor = found.unsure(crowd)
    variances = (found.variance / factor, found.variance, found.variance * factor)
    rates = _rates(found, crowd) if share else None
    likeness = _within_talks(found, layout.each, crowd) if share else None
    narrower = min(1.0, found.inside / found.variance)
    matched = found.matched(found.number / crowd)
    worlds = []
    for place, world in enumerate(assumed):
        # The variance of one value of a talk; where it is no share, as alike as the values of a talk are taken to be.
        alike = max(0.1, 1 + (layout.each - 1) * world.correlation)
        one = rates[place] * (1 - rates[place]) if rates else found.variance * layout.each / alike
        talk = variances[place] / one
        now = replace(world, talk=talk, inside=talk * narrower, each=layout.each)
        now = replace(now, rate=rates[place]) if rates else replace(now, sd=math.sqrt(one))
        now = replace(now, correlation=likeness[2 - place]) if likeness else now
        now = replace(now, game=game[place]) if game else now
        now = replace(now, scenario=scenario[place]) if scenario else now
        worlds.append(replace(now, matched=matched[2 - place]) if matched else now)
    data = {"rate": rates, "correlation": likeness, "game": game, "scenario": scenario, "matched": matched}
    data["sd of a talk"] = _roots(variances)
    return Seen(tuple(worlds), {name: three for name, three in data.items() if three})


def _rates(found: _Residuals, crowd: float) -> Three:
    """The rate seen, and on either side of it the one that varies least and most."""
    reach = SURE * math.sqrt(found.variance * crowd / found.number)
    ends = [min(0.99, max(0.01, found.mean + way * reach)) for way in (-1, 1)]
    most = 0.5 if ends[0] < 0.5 < ends[1] else min(ends, key=lambda rate: abs(rate - 0.5))
    return max(ends, key=lambda rate: abs(rate - 0.5)), found.mean, most


def _within_talks(found: _Residuals, each: float, crowd: float) -> Three | None:
    """How alike the values of a talk are, from how much less its mean varies than one value."""
    if each <= 1:
        return None
    middle = (each * found.variance / (found.mean * (1 - found.mean)) - 1) / (each - 1)
    return _around(middle, found.number / crowd)


def _around(correlation: float, number: float) -> Three:
    middle, reach = math.atanh(max(-0.99, min(0.99, correlation))), SURE / math.sqrt(max(1.0, number - 3))
    return math.tanh(middle - reach), math.tanh(middle), math.tanh(middle + reach)


def _roots(variances: Three) -> Three:
    low, middle, high = map(math.sqrt, variances)
    return low, middle, high


def _of_batches(found: _Residuals, outcome: Outcome, assumed: Sequence[World], *, share: bool) -> Seen:
    """An outcome that is one number a batch: replicates tell how much batches differ, a single batch where it stands."""
    if found.freedom < FEWEST_BATCHES or found.variance <= 0:
        few = f"{found.number:,} batches of the pilot do not say how much batches differ in {outcome.name}"
        if not share:
            return _not(assumed, few)
        worlds = tuple(replace(world, rate=found.mean) for world in assumed)
        return Seen(worlds, {"rate": (found.mean, found.mean, found.mean)}, f"{few}: what is assumed of that stands.")
    factor = math.exp(SURE * math.sqrt(2 / found.freedom))
    matched = found.matched(math.inf)
    spread = (found.variance / factor, found.variance, found.variance * factor)
    worlds = tuple(
        replace(world, batch=spread[place], **({"matched": matched[2 - place]} if matched else {}))
        for place, world in enumerate(assumed)
    )
    data = {"sd of a batch": _roots(spread)} | ({"matched": matched} if matched else {})
    return Seen(worlds, data)
