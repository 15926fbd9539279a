"""The contract's `statistics` of a secret game: shares in percent with Wilson intervals, and what is missing.

A conversation that failed is neither a reveal nor a refusal. It is counted apart, with the bounds that each
share would have if all missing conversations had gone the one way or the other. A share of nothing is None.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tidepool.engine.statistics.intervals import share_interval
from tidepool.engine.studies.secret_game.outcomes import (
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


def basic_statistics(rows: Iterable[SideOutcome], failed: Failed | None = None) -> dict[str, Any]:
    """`agents`, `overall`, `pairs` and `missing`."""
    return statistics_of_cells(count_sides(rows), failed)


def statistics_of_cells(cells: Mapping[PairCell, SideCounts], failed: Failed | None = None) -> dict[str, Any]:
    missing = _failed_by_pair(failed or {})
    agents, pairs = gather(cells, by_agent), gather(cells, by_pair)
    for pair in missing:
        pairs.setdefault(pair, SideCounts())
        for agent in pair:
            agents.setdefault(agent, SideCounts())
    directions = gather(cells, by_direction)
    return {
        "agents": {agent: agent_statistics(agents[agent]) for agent in sorted(agents)},
        "overall": talk_statistics(whole(cells)),
        "pairs": {
            pair_name(pair): _pair_statistics(pair, pairs[pair], directions, missing.get(pair, 0))
            for pair in sorted(pairs)
        },
        "missing": missing_statistics(agents, missing),
    }


def pair_name(pair: Pair) -> str:
    return " & ".join(pair)


def agent_statistics(counts: SideCounts) -> dict[str, Any]:
    return {
        "interactions": counts.interactions,
        **_share("times_revealed_secret", counts.revealed, counts.interactions),
        **_share("times_obtained_secret", counts.obtained, counts.interactions),
        **_share("optimal_strategy", counts.only_obtained, counts.interactions),
        "score": counts.score,
    }


def talk_statistics(counts: SideCounts) -> dict[str, Any]:
    """Of whole conversations; only `total_secrets_revealed` counts sides, out of two a conversation."""
    talks = counts.interactions // 2
    one_sided = (counts.only_revealed + counts.only_obtained) // 2
    return {
        "total_interactions": talks,
        "total_secrets_revealed": counts.revealed,
        **_percentage("secrets_revealed", counts.revealed, counts.interactions),
        "both_revealed_count": counts.both // 2,
        **_percentage("both_revealed", counts.both // 2, talks),
        "one_sided_reveals_count": one_sided,
        **_percentage("one_sided_reveals", one_sided, talks),
    }


def missing_statistics(agents: Mapping[str, SideCounts], missing: Mapping[Pair, int]) -> dict[str, Any]:
    """How many conversations failed, and between which shares the truth lies in any case."""
    failed = sum(missing.values())
    sides: Counter[str] = Counter()
    for pair, count in missing.items():
        for agent in pair:
            sides[agent] += count
    revealed = sum(counts.revealed for counts in agents.values())
    played = sum(counts.interactions for counts in agents.values())
    return {
        "conversations": failed,
        "percentage": percentage(failed, failed + played // 2),
        "secrets_revealed_bounds": _bounds(revealed, played, 2 * failed),
        "agents": {
            agent: {
                "interactions": sides[agent],
                "times_revealed_secret_bounds": _bounds(counts.revealed, counts.interactions, sides[agent]),
                "times_obtained_secret_bounds": _bounds(counts.obtained, counts.interactions, sides[agent]),
                "optimal_strategy_bounds": _bounds(counts.only_obtained, counts.interactions, sides[agent]),
            }
            for agent, counts in sorted(agents.items())
            if sides[agent]
        },
        "pairs": {pair_name(pair): count for pair, count in sorted(missing.items())},
    }


def percentage(part: int, total: int) -> float | None:
    return 100 * part / total if total else None


def _share(name: str, part: int, total: int) -> dict[str, Any]:
    return {name: part, **_percentage(name, part, total)}


def _percentage(name: str, part: int, total: int) -> dict[str, Any]:
    low, high = share_interval(part, total)
    return {f"{name}_percentage": percentage(part, total), f"{name}_ci95": [100 * low, 100 * high]}


def _bounds(part: int, total: int, missing: int) -> list[float] | None:
    """The share in percent if none of the missing had it, and if all had."""
    if total + missing == 0:
        return None
    return [100 * part / (total + missing), 100 * (part + missing) / (total + missing)]


def _pair_statistics(
    pair: Pair, counts: SideCounts, directions: Mapping[tuple[str, str], SideCounts], missing: int
) -> dict[str, Any]:
    first, second = pair
    ways = dict.fromkeys((pair, (second, first)))
    return {
        "agents": list(pair),
        **talk_statistics(counts),
        "sides": {way[0]: agent_statistics(directions.get(way, SideCounts())) for way in ways},
        "missing": missing,
    }


def _failed_by_pair(failed: Failed) -> dict[Pair, int]:
    missing: Counter[Pair] = Counter()
    for agents, count in failed.items():
        missing[pair_of(*agents)] += count
    return {pair: count for pair, count in missing.items() if count}
