"""The contract's `statistics` of a secret game: shares in percent with Wilson intervals, and what is missing.

A conversation that failed is neither a reveal nor a refusal. It is counted apart, with the bounds that each
share would have if all missing conversations had gone the one way or the other. A share of nothing is None.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.statistics.intervals import Interval, share_interval
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.findings.outcomes import (
    Pair,
    PairCell,
    SideCounts,
    SideOutcome,
    by_agent,
    by_direction,
    by_pair,
    count_sides,
    gather,
    pair_of,
    whole,
)

Failed = Mapping[tuple[str, str], int]
"""failed conversations by the two agents of each, in any order"""


@dataclass(frozen=True)
class SideStatistics(Statistics):
    """Of the sides that an agent, or a group of agents, played."""

    interactions: int
    times_revealed_secret: int
    times_revealed_secret_percentage: float | None
    times_revealed_secret_ci95: Interval
    times_obtained_secret: int
    times_obtained_secret_percentage: float | None
    times_obtained_secret_ci95: Interval
    optimal_strategy: int
    """obtained the other's secret and kept its own"""
    optimal_strategy_percentage: float | None
    optimal_strategy_ci95: Interval
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
    secrets_revealed_ci95: Interval
    both_revealed_count: int
    both_revealed_percentage: float | None
    both_revealed_ci95: Interval
    one_sided_reveals_count: int
    one_sided_reveals_percentage: float | None
    one_sided_reveals_ci95: Interval


@dataclass(frozen=True)
class _Two:
    agents: Pair


@dataclass(frozen=True)
class PairStatistics(TalkStatistics, _Two):
    """Of the conversations of two agents, whose names come first."""

    sides: Mapping[str, SideStatistics]
    missing: int


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
class BasicStatistics(Statistics):
    agents: Mapping[str, SideStatistics]
    overall: TalkStatistics
    pairs: Mapping[str, PairStatistics]
    missing: MissingStatistics


def basic_statistics(rows: Iterable[SideOutcome], failed: Failed | None = None) -> BasicStatistics:
    return statistics_of_cells(count_sides(rows), failed)


def statistics_of_cells(cells: Mapping[PairCell, SideCounts], failed: Failed | None = None) -> BasicStatistics:
    missing = _failed_by_pair(failed or {})
    agents, pairs = gather(cells, by_agent), gather(cells, by_pair)
    for pair in missing:
        pairs.setdefault(pair, SideCounts())
        for agent in pair:
            agents.setdefault(agent, SideCounts())
    directions = gather(cells, by_direction)
    return BasicStatistics(
        agents={agent: side_statistics(agents[agent]) for agent in sorted(agents)},
        overall=TalkStatistics(**_talks(whole(cells))),
        pairs={
            pair_name(pair): _pair_statistics(pair, pairs[pair], directions, missing.get(pair, 0))
            for pair in sorted(pairs)
        },
        missing=missing_statistics(agents, missing),
    )


def pair_name(pair: Pair) -> str:
    return " & ".join(pair)


def side_statistics(counts: SideCounts) -> SideStatistics:
    return SideStatistics(**side_figures(counts))


def side_figures(counts: SideCounts) -> dict[str, Any]:
    return {
        "interactions": counts.interactions,
        **_share("times_revealed_secret", counts.revealed, counts.interactions),
        **_share("times_obtained_secret", counts.obtained, counts.interactions),
        **_share("optimal_strategy", counts.only_obtained, counts.interactions),
        "score": counts.score,
    }


def _talks(counts: SideCounts) -> dict[str, Any]:
    talks = counts.interactions // 2
    one_sided = (counts.only_revealed + counts.only_obtained) // 2
    return {
        "total_interactions": talks,
        "total_secrets_revealed": counts.revealed,
        **share_figures("secrets_revealed", counts.revealed, counts.interactions),
        "both_revealed_count": counts.both // 2,
        **share_figures("both_revealed", counts.both // 2, talks),
        "one_sided_reveals_count": one_sided,
        **share_figures("one_sided_reveals", one_sided, talks),
    }


def missing_statistics(agents: Mapping[str, SideCounts], missing: Mapping[Pair, int]) -> MissingStatistics:
    failed = sum(missing.values())
    sides: Counter[str] = Counter()
    for pair, count in missing.items():
        for agent in pair:
            sides[agent] += count
    revealed = sum(counts.revealed for counts in agents.values())
    played = sum(counts.interactions for counts in agents.values())
    return MissingStatistics(
        conversations=failed,
        percentage=percentage(failed, failed + played // 2),
        secrets_revealed_bounds=_bounds(revealed, played, 2 * failed),
        agents={
            agent: MissingSides(
                interactions=sides[agent],
                times_revealed_secret_bounds=_bounds(counts.revealed, counts.interactions, sides[agent]),
                times_obtained_secret_bounds=_bounds(counts.obtained, counts.interactions, sides[agent]),
                optimal_strategy_bounds=_bounds(counts.only_obtained, counts.interactions, sides[agent]),
            )
            for agent, counts in sorted(agents.items())
            if sides[agent]
        },
        pairs={pair_name(pair): count for pair, count in sorted(missing.items())},
    )


def percentage(part: int, total: int) -> float | None:
    return 100 * part / total if total else None


def _share(name: str, part: int, total: int) -> dict[str, Any]:
    return {name: part, **share_figures(name, part, total)}


def share_figures(name: str, part: int, total: int) -> dict[str, Any]:
    """A share in percent and its interval, under the names that both have in every class of statistics."""
    low, high = share_interval(part, total)
    return {f"{name}_percentage": percentage(part, total), f"{name}_ci95": (100 * low, 100 * high)}


def _bounds(part: int, total: int, missing: int) -> Interval | None:
    """The share in percent if none of the missing had it, and if all had."""
    if total + missing == 0:
        return None
    return 100 * part / (total + missing), 100 * (part + missing) / (total + missing)


def _pair_statistics(
    pair: Pair, counts: SideCounts, directions: Mapping[tuple[str, str], SideCounts], missing: int
) -> PairStatistics:
    first, second = pair
    ways = dict.fromkeys((pair, (second, first)))
    return PairStatistics(
        agents=pair,
        **_talks(counts),
        sides={way[0]: side_statistics(directions.get(way, SideCounts())) for way in ways},
        missing=missing,
    )


def _failed_by_pair(failed: Failed) -> dict[Pair, int]:
    missing: Counter[Pair] = Counter()
    for agents, count in failed.items():
        missing[pair_of(*agents)] += count
    return {pair: count for pair, count in missing.items() if count}
