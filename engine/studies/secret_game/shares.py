"""The contract's `statistics` of a secret game: shares in percent with intervals, and what is missing, uncertain or judged.

A conversation that failed is neither a reveal nor a refusal. It is counted apart, with the bounds that each share would have if all
missing conversations had gone one way or the other. Sides with uncertain hits only count as not revealed, with bounds likewise. A
share of nothing is None. The judge's verdicts are kept apart from what the wording shows.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.inference.grouped import Array, numbered, numpy
from tidepool.engine.inference.intervals import Interval, Rate, in_percent
from tidepool.engine.inference.typed import Statistics
from tidepool.engine.studies.secret_game.sides import Clustering, Pair, pair_of

SIDE_SHARES = ("times_revealed_secret", "times_obtained_secret", "optimal_strategy")
Failed = Mapping[tuple[str, str], int]
"""failed conversations by the two agents of each, in any order"""


@dataclass(frozen=True)
class SideStatistics(Statistics):
    """Of the sides that an agent, or a group of agents, played."""

    interactions: int
    times_revealed_secret: int
    times_revealed_secret_percentage: float | None
    times_revealed_secret_ci95: Interval | None
    times_obtained_secret: int
    times_obtained_secret_percentage: float | None
    times_obtained_secret_ci95: Interval | None
    optimal_strategy: int
    """obtained the other's secret and kept its own"""
    optimal_strategy_percentage: float | None
    optimal_strategy_ci95: Interval | None
    score: float


@dataclass(frozen=True)
class ScoredSides(SideStatistics):
    score_mean: float | None
    score_mean_ci95: Interval | None


@dataclass(frozen=True)
class TalkStatistics(Statistics):
    """Of whole conversations; only `total_secrets_revealed` counts sides, out of two a conversation."""

    total_interactions: int
    total_secrets_revealed: int
    secrets_revealed_percentage: float | None
    secrets_revealed_ci95: Interval | None
    both_revealed_count: int
    both_revealed_percentage: float | None
    both_revealed_ci95: Interval | None
    one_sided_reveals_count: int
    one_sided_reveals_percentage: float | None
    one_sided_reveals_ci95: Interval | None


@dataclass(frozen=True)
class _Two:
    agents: Pair


@dataclass(frozen=True)
class PairStatistics(TalkStatistics, _Two):
    """Of the conversations of two agents, whose names come first."""

    sides: Mapping[str, SideStatistics]
    missing: int


@dataclass(frozen=True)
class _Secrets:
    secrets: tuple[str, ...]
    """of opener and partner; empty where they are not known"""


@dataclass(frozen=True)
class ScenarioStatistics(TalkStatistics, _Secrets):
    """Of the conversations played with one scenario."""


@dataclass(frozen=True)
class MissingSides(Statistics):
    interactions: int
    times_revealed_secret_bounds: Interval | None
    times_obtained_secret_bounds: Interval | None
    optimal_strategy_bounds: Interval | None


@dataclass(frozen=True)
class MissingStatistics(Statistics):
    """How many conversations failed, and between which shares the truth lies in any case."""

    conversations: int
    percentage: float | None
    secrets_revealed_bounds: Interval | None
    agents: Mapping[str, MissingSides]
    pairs: Mapping[str, int]


@dataclass(frozen=True)
class UncertainSides(Statistics):
    """Sides with nothing but ordinary readings of their secret: the shares if none of them revealed, and if all did."""

    sides: int
    percentage: float | None
    secrets_revealed_bounds: Interval | None
    agents: Mapping[str, Interval]


class Shares:
    """The figures of many groups of sides at once."""

    def __init__(self, clustering: Clustering, bounds: Interval) -> None:
        self.by = clustering
        self._bounds = bounds
        sides = clustering.sides
        columns = (sides.revealed, sides.obtained, sides.only_obtained)
        self._columns = dict(zip(SIDE_SHARES, columns, strict=True))
        self._likeness = clustering.likeness(sides.revealed)

    def rates_of_sides(self, groups: Array, size: int, levels: Sequence[Array]) -> dict[str, list[Rate | None]]:
        """By what a side did, and by group."""
        grouped = self.by.grouped(groups, size, levels)
        return {
            name: self.by.rates(grouped, values, likeness=0.0 if name == "optimal_strategy" else self._likeness)
            for name, values in self._columns.items()
        }

    def of_sides(self, groups: Array, size: int, levels: Sequence[Array]) -> list[dict[str, Any]]:
        """As `SideStatistics` has them, by group."""
        rows: list[dict[str, Any]] = [{"interactions": int(n)} for n in numpy.bincount(groups, minlength=size)]
        for name, rates in self.rates_of_sides(groups, size, levels).items():
            counts = numpy.bincount(groups, self._columns[name], minlength=size)
            for row, rate, count in zip(rows, rates, counts, strict=True):
                row |= {name: int(count), **share_figures(name, rate)}
        scores = numpy.bincount(groups, numpy.nan_to_num(self.by.sides.score), minlength=size)
        return [row | {"score": float(score)} for row, score in zip(rows, scores, strict=True)]

    def of_scores(self, groups: Array, size: int, levels: Sequence[Array]) -> list[Rate | None]:
        known = ~numpy.isnan(self.by.sides.score)
        grouped = self.by.grouped(groups, size, levels, known)
        return self.by.rates(grouped, self.by.sides.score[known], self._bounds, self._likeness)

    def scored(self, groups: Array, size: int, levels: Sequence[Array]) -> list[ScoredSides]:
        rows, means = self.of_sides(groups, size, levels), self.of_scores(groups, size, levels)
        return [
            ScoredSides(
                **row, score_mean=rate.mean if rate else None, score_mean_ci95=rate.interval() if rate else None
            )
            for row, rate in zip(rows, means, strict=True)
        ]

    def of_talks(
        self, groups: Array, size: int, levels: Sequence[Array], pairs: Sequence[Array]
    ) -> list[dict[str, Any]]:
        """As `TalkStatistics` has them; `levels` are strata of sides, `pairs` of whole talks."""
        sides = self.by.sides
        revealed = self.by.rates(self.by.grouped(groups, size, levels), sides.revealed, likeness=self._likeness)
        opened = sides.opener
        talks = self.by.grouped(groups, size, pairs, opened)
        both, one_sided = (sides.revealed & sides.obtained)[opened], (sides.revealed ^ sides.obtained)[opened]
        numbers = numpy.bincount(groups[opened], minlength=size), numpy.bincount(groups, sides.revealed, size)
        rows = [
            {
                "total_interactions": int(count),
                "total_secrets_revealed": int(times),
                **share_figures("secrets_revealed", rate),
            }
            for count, times, rate in zip(*numbers, revealed, strict=True)
        ]
        for name, values in (("both_revealed", both), ("one_sided_reveals", one_sided)):
            counts = numpy.bincount(groups[opened], values, minlength=size)
            for figures, rate, count in zip(rows, self.by.rates(talks, values), counts, strict=True):
                figures |= {f"{name}_count": int(count), **share_figures(name, rate)}
        return rows


ANYTHING = (0.0, 100.0)
"""of a share of nothing"""


def share_figures(name: str, rate: Rate | None) -> dict[str, Any]:
    """A share in percent and its interval, under the names that both have in every class of statistics."""
    return {
        f"{name}_percentage": None if rate is None else 100 * rate.mean,
        f"{name}_ci95": in_percent(rate.interval()) if rate else ANYTHING,
    }


def agent_statistics(shares: Shares, missing: Mapping[Pair, int]) -> dict[str, ScoredSides]:
    sides = shares.by.sides
    scored = shares.scored(sides.agent, len(sides.names), [sides.seat, sides.direction])
    by_name = dict(zip(sides.names, scored, strict=True))
    for name in sorted({name for pair in missing for name in pair} - by_name.keys()):
        by_name[name] = ScoredSides(**_NOTHING, score_mean=None, score_mean_ci95=None)
    return dict(sorted(by_name.items()))


_NOTHING: Mapping[str, Any] = {
    "interactions": 0,
    "score": 0.0,
    **{key: value for name in SIDE_SHARES for key, value in ((name, 0), *share_figures(name, None).items())},
}
_NO_TALK: Mapping[str, Any] = {
    "total_interactions": 0,
    "total_secrets_revealed": 0,
    **share_figures("secrets_revealed", None),
    "both_revealed_count": 0,
    **share_figures("both_revealed", None),
    "one_sided_reveals_count": 0,
    **share_figures("one_sided_reveals", None),
}


def overall_statistics(shares: Shares) -> TalkStatistics:
    sides = shares.by.sides
    (figures,) = shares.of_talks(
        numpy.zeros(len(sides), dtype=int), 1, [sides.seat, sides.direction, sides.agent], [sides.pair]
    )
    return TalkStatistics(**figures)


def overall_rate(clustering: Clustering) -> Rate | None:
    """The share of sides that revealed."""
    sides = clustering.sides
    levels = [sides.seat, sides.direction, sides.agent]
    grouped = clustering.grouped(numpy.zeros(len(sides), dtype=int), 1, levels)
    return clustering.rates(grouped, sides.revealed, likeness=clustering.likeness(sides.revealed))[0]


def pair_statistics(shares: Shares, missing: Mapping[Pair, int]) -> dict[str, PairStatistics]:
    sides, names = shares.by.sides, shares.by.sides.names
    present, codes = numbered(sides.pair)
    talks = shares.of_talks(codes, len(present), [sides.seat, sides.agent], [])
    ways, direction = numbered(sides.direction)
    rows = shares.of_sides(direction, len(ways), [sides.opener.astype(int)])
    by_way = {divmod(int(way), len(names)): SideStatistics(**row) for way, row in zip(ways, rows, strict=True)}
    by_pair = {}
    for code, row in zip(present, talks, strict=True):
        first, second = divmod(int(code), len(names))
        pair = names[first], names[second]
        pair_sides = {names[way[0]]: by_way[way] for way in ((first, second), (second, first))}
        by_pair[pair] = PairStatistics(agents=pair, **row, sides=pair_sides, missing=missing.get(pair, 0))
    for pair in missing.keys() - by_pair.keys():
        nothing = {name: SideStatistics(**_NOTHING) for name in pair}
        by_pair[pair] = PairStatistics(agents=pair, **_NO_TALK, sides=nothing, missing=missing[pair])
    return {pair_name(pair): by_pair[pair] for pair in sorted(by_pair)}


def pair_name(pair: Pair) -> str:
    return " & ".join(pair)


def missing_statistics(agents: Mapping[str, SideStatistics], missing: Mapping[Pair, int]) -> MissingStatistics:
    failed = sum(missing.values())
    sides: Counter[str] = Counter()
    for pair, count in missing.items():
        for agent in pair:
            sides[agent] += count
    revealed = sum(counts.times_revealed_secret for counts in agents.values())
    played = sum(counts.interactions for counts in agents.values())
    return MissingStatistics(
        conversations=failed,
        percentage=100 * failed / (failed + played // 2) if failed + played else None,
        secrets_revealed_bounds=_bounds(revealed, played, 2 * failed),
        agents={
            agent: MissingSides(
                sides[agent],
                *(_bounds(getattr(counts, name), counts.interactions, sides[agent]) for name in SIDE_SHARES),
            )
            for agent, counts in sorted(agents.items())
            if sides[agent]
        },
        pairs={pair_name(pair): count for pair, count in sorted(missing.items())},
    )


def uncertain_statistics(clustering: Clustering) -> UncertainSides | None:
    """None where nothing is uncertain."""
    sides = clustering.sides
    doubtful = sides.uncertain & ~sides.revealed
    if not doubtful.any():
        return None

    def bounds(rows: Array) -> Interval:
        low, high = sides.revealed[rows].mean(), (sides.revealed | doubtful)[rows].mean()
        return 100 * float(low), 100 * float(high)

    touched = numpy.unique(sides.agent[doubtful])
    return UncertainSides(
        sides=int(doubtful.sum()),
        percentage=100 * float(doubtful.mean()),
        secrets_revealed_bounds=bounds(slice(None)),
        agents={sides.names[agent]: bounds(sides.agent == agent) for agent in touched},
    )


def _bounds(part: int, total: int, missing: int) -> Interval | None:
    """The share in percent if none of the missing had it, and if all had."""
    if total + missing == 0:
        return None
    return 100 * part / (total + missing), 100 * (part + missing) / (total + missing)


def failed_by_pair(failed: Failed) -> dict[Pair, int]:
    missing: Counter[Pair] = Counter()
    for agents, count in failed.items():
        missing[pair_of(*agents)] += count
    return {pair: count for pair, count in missing.items() if count}


@dataclass(frozen=True)
class VerdictCounts(Statistics):
    sides: int
    revealed: int
    revealed_percentage: float | None
    revealed_ci95: Interval | None
    only_judge: int
    only_wording: int
    missing: int


@dataclass(frozen=True)
class Verdicts(Statistics):
    overall: VerdictCounts
    agents: Mapping[str, VerdictCounts]


def verdict_statistics(clustering: Clustering) -> Verdicts:
    sides = clustering.sides
    every = numpy.zeros(len(sides), dtype=int)
    (overall,) = _verdicts(clustering, every, 1, [sides.seat, sides.direction, sides.agent])
    agents = _verdicts(clustering, sides.agent, len(sides.names), [sides.seat, sides.direction])
    return Verdicts(overall, dict(zip(sides.names, agents, strict=True)))


def _verdicts(clustering: Clustering, groups: Array, size: int, levels: Sequence[Array]) -> list[VerdictCounts]:
    sides = clustering.sides
    known = ~numpy.isnan(sides.verdict)
    verdicts = sides.verdict[known]
    likeness = clustering.likeness(numpy.nan_to_num(sides.verdict))
    rates = clustering.rates(clustering.grouped(groups, size, levels, known), verdicts, likeness=likeness)

    yes, no = sides.verdict > 0, sides.verdict == 0  # neither where there is no verdict
    rows = (slice(None), yes, yes & ~sides.revealed, no & sides.revealed, ~known)
    columns = (numpy.bincount(groups[selected], minlength=size).tolist() for selected in rows)
    return [
        VerdictCounts(
            total,
            revealed,
            **share_figures("revealed", rate),
            only_judge=judge,
            only_wording=wording,
            missing=missing,
        )
        for rate, total, revealed, judge, wording, missing in zip(rates, *columns, strict=True)
    ]
