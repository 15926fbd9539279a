"""Everything worth publishing about a secret game, on top of the contract's statistics.

Agents are compared under equal conditions. Two conditions count as equal: one and the same conversation,
where the two met; and talks of the same game with the same third agent from the same side, where each met
it. Each of the latter is one pair of mean scores, so that no agent weighs more for having talked more.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from tidepool.engine.statistics.comparisons import compare_paired, holm
from tidepool.engine.statistics.intervals import mean_interval_of_counts, mean_of_counts
from tidepool.engine.statistics.precision import trials_needed
from tidepool.engine.statistics.ranking import standings
from tidepool.engine.studies.secret_game.outcomes import (
    PairCell,
    SideCounts,
    SideOutcome,
    by_agent,
    count_sides,
    gather,
)
from tidepool.engine.studies.secret_game.statistics import Failed, agent_statistics, statistics_of_cells

HALF_WIDTH = 5.0
"""percentage points to either side that count as precise"""
MOST_COMPARED = 25
"""agents compared with one another, best first; among more, Holm's correction leaves nothing to find"""


def statistics(
    rows: Sequence[SideOutcome],
    failed: Failed | None = None,
    models: Mapping[str, str] | None = None,
    seed: int = 0,
    half_width: float = HALF_WIDTH,
) -> dict[str, Any]:
    """The contract's fields, beside them `models`, `modes`, `openers`, `ranking`, `comparisons`, `precision`.

    `models` names each agent's model; without it there is no `models`.
    """
    cells = count_sides(rows)
    agents = gather(cells, by_agent)
    found = statistics_of_cells(cells, failed)
    for name, counts in agents.items():
        found["agents"][name] |= score_statistics(counts, seed)
    if models is not None:
        found["models"] = _grouped(cells, lambda cell: models.get(cell.agent, "unknown"), seed)
    found["modes"] = _grouped(cells, lambda cell: cell.mode, seed)
    found["openers"] = _grouped(cells, lambda cell: "opened" if cell.opener else "answered", seed)
    found["ranking"] = ranking(agents, seed)
    found["comparisons"] = comparisons(rows, [standing["agent"] for standing in found["ranking"]], seed)
    found["precision"] = precision(agents, half_width)
    return found


def score_statistics(counts: SideCounts, seed: int = 0) -> dict[str, Any]:
    interval = mean_interval_of_counts(counts.scores, seed)
    return {
        "score_mean": mean_of_counts(counts.scores) if counts.scores else None,
        "score_mean_ci95": list(interval) if interval else None,
    }


def _grouped(cells: Mapping[PairCell, SideCounts], key: Callable[[PairCell], str], seed: int) -> dict[str, Any]:
    groups = gather(cells, key)
    return {name: agent_statistics(counts) | score_statistics(counts, seed) for name, counts in groups.items()}


def ranking(agents: Mapping[str, SideCounts], seed: int = 0) -> list[dict[str, Any]]:
    """Agents by mean score, best first, each with the ranks it might as well have."""
    return [
        {
            "agent": standing.name,
            "rank": standing.rank,
            "rank_ci95": list(standing.rank_interval),
            "score_mean": standing.mean,
            "score_mean_ci95": list(standing.interval),
            "best_probability": standing.best_probability,
        }
        for standing in standings({name: counts.scores for name, counts in agents.items()}, seed)
    ]


def comparisons(rows: Sequence[SideOutcome], agents: Sequence[str], seed: int = 0) -> list[dict[str, Any]]:
    """Each two of the agents by their scores under equal conditions, with Holm's correction."""
    pairs = list(combinations(agents[:MOST_COMPARED], 2))
    together, apart = _scores_together(rows), _scores_apart(rows)
    found = []
    for first, second in pairs:
        scores = together.get((first, second), []) + _common(apart[first], apart[second])
        compared = compare_paired([a for a, _ in scores], [b for _, b in scores], seed)
        if compared:
            found.append(((first, second), compared))
    adjusted = holm([compared.p_value for _, compared in found])
    return [
        {
            "agents": list(names),
            "pairs": compared.pairs,
            "score_difference": compared.difference,
            "score_difference_ci95": list(compared.interval),
            "effect_size": compared.effect_size,
            "p_value": compared.p_value,
            "p_value_holm": p_value,
        }
        for (names, compared), p_value in zip(found, adjusted, strict=True)
    ]


def _scores_together(rows: Iterable[SideOutcome]) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Scores of both sides of each conversation, under both orders of the two names."""
    waiting: dict[int | str, SideOutcome] = {}
    scores: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        other = waiting.pop(row.conversation_id, None)
        if other is None:
            waiting[row.conversation_id] = row
        elif row.agent != other.agent and row.score is not None and other.score is not None:
            scores[row.agent, other.agent].append((row.score, other.score))
            scores[other.agent, row.agent].append((other.score, row.score))
    return scores


Condition = tuple[int, str, bool]
"""game, third agent, and whether the side opened"""


def _scores_apart(rows: Iterable[SideOutcome]) -> defaultdict[str, dict[Condition, float]]:
    """Each agent's mean score by condition."""
    sums: dict[tuple[str, Condition], list[float]] = {}
    for row in rows:
        if row.score is not None and row.agent != row.opponent:
            entry = sums.setdefault((row.agent, (row.game, row.opponent, bool(row.opener))), [0.0, 0])
            entry[0] += row.score
            entry[1] += 1
    means: defaultdict[str, dict[Condition, float]] = defaultdict(dict)
    for (agent, condition), (total, times) in sums.items():
        means[agent][condition] = total / times
    return means


def _common(first: Mapping[Condition, float], second: Mapping[Condition, float]) -> list[tuple[float, float]]:
    return [(first[condition], second[condition]) for condition in first if condition in second]


def precision(agents: Mapping[str, SideCounts], half_width: float = HALF_WIDTH) -> dict[str, Any]:
    """Conversations each agent still needs until its shares are known to within `half_width` points."""
    return {
        "half_width_percentage": half_width,
        "agents": {
            name: {
                "times_revealed_secret": _needed(counts.revealed, counts, half_width),
                "times_obtained_secret": _needed(counts.obtained, counts, half_width),
                "optimal_strategy": _needed(counts.only_obtained, counts, half_width),
            }
            for name, counts in agents.items()
        },
    }


def _needed(part: int, counts: SideCounts, half_width: float) -> int:
    return trials_needed(part, counts.interactions, half_width / 100)
