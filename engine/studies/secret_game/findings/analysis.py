"""Everything worth publishing about a secret game, on top of the contract's statistics.

Agents are compared under equal conditions. Two conditions count as equal: one and the same conversation,
where the two met; and talks of the same game with the same third agent from the same side, where each met
it. Each of the latter is one pair of mean scores, so that no agent weighs more for having talked more.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tidepool.engine.statistics.comparisons import compare_paired, holm
from tidepool.engine.statistics.intervals import Interval, mean_interval_of_counts, mean_of_counts
from tidepool.engine.statistics.precision import trials_needed
from tidepool.engine.statistics.ranking import standings
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.findings.agreement import Agreement
from tidepool.engine.studies.secret_game.findings.outcomes import (
    PairCell,
    SideCounts,
    SideOutcome,
    by_agent,
    count_sides,
    gather,
)
from tidepool.engine.studies.secret_game.findings.shares import (
    Failed,
    MissingStatistics,
    PairStatistics,
    ScoredSides,
    TalkStatistics,
    side_figures,
    statistics_of_cells,
)
from tidepool.engine.studies.secret_game.findings.verdicts import Verdicts

HALF_WIDTH = 5.0
"""percentage points to either side that count as precise"""
MOST_COMPARED = 25
"""agents compared with one another, best first; among more, Holm's correction leaves nothing to find"""


@dataclass(frozen=True)
class Place(Statistics):
    """An agent's place in the ranking by mean score, with the ranks it might as well have."""

    agent: str
    rank: int
    rank_ci95: tuple[int, int]
    score_mean: float
    score_mean_ci95: Interval
    best_probability: float


@dataclass(frozen=True)
class AgentComparison(Statistics):
    """Two agents by their scores under equal conditions, with Holm's correction."""

    agents: tuple[str, str]
    pairs: int
    score_difference: float
    score_difference_ci95: Interval
    effect_size: float | None
    p_value: float
    p_value_holm: float


@dataclass(frozen=True)
class Needed(Statistics):
    """Conversations until each share is known as well as it should be."""

    times_revealed_secret: int
    times_obtained_secret: int
    optimal_strategy: int


@dataclass(frozen=True)
class Precision(Statistics):
    half_width_percentage: float
    agents: Mapping[str, Needed]


@dataclass(frozen=True, kw_only=True)
class SecretGameStatistics(Statistics):
    LEFT_OUT = frozenset({"models", "sat_out", "verdicts", "agreement"})

    agents: Mapping[str, ScoredSides]
    overall: TalkStatistics
    pairs: Mapping[str, PairStatistics]
    missing: MissingStatistics
    models: Mapping[str, ScoredSides] | None = None
    modes: Mapping[str, ScoredSides]
    openers: Mapping[str, ScoredSides]
    ranking: tuple[Place, ...]
    comparisons: tuple[AgentComparison, ...]
    precision: Precision
    sat_out: Mapping[str, int] | None = None
    verdicts: Verdicts | None = None
    agreement: Agreement | None = None


def analysed(
    rows: Sequence[SideOutcome],
    failed: Failed | None = None,
    models: Mapping[str, str] | None = None,
    seed: int = 0,
    half_width: float = HALF_WIDTH,
) -> SecretGameStatistics:
    """The contract's fields, beside them `models`, `modes`, `openers`, `ranking`, `comparisons`, `precision`.

    `models` names each agent's model; without it there is no `models`.
    """
    cells = count_sides(rows)
    agents = gather(cells, by_agent)
    basic = statistics_of_cells(cells, failed)
    places = ranking(agents, seed)
    return SecretGameStatistics(
        agents={name: scored(agents.get(name, SideCounts()), seed) for name in basic.agents},
        overall=basic.overall,
        pairs=basic.pairs,
        missing=basic.missing,
        models=None if models is None else _grouped(cells, lambda cell: models.get(cell.agent, "unknown"), seed),
        modes=_grouped(cells, lambda cell: cell.mode, seed),
        openers=_grouped(cells, lambda cell: "opened" if cell.opener else "answered", seed),
        ranking=places,
        comparisons=comparisons(rows, [place.agent for place in places], seed),
        precision=precision(agents, half_width),
    )


def scored(counts: SideCounts, seed: int = 0) -> ScoredSides:
    return ScoredSides(
        **side_figures(counts),
        score_mean=mean_of_counts(counts.scores) if counts.scores else None,
        score_mean_ci95=mean_interval_of_counts(counts.scores, seed),
    )


def _grouped(cells: Mapping[PairCell, SideCounts], key: Callable[[PairCell], str], seed: int) -> dict[str, ScoredSides]:
    return {name: scored(counts, seed) for name, counts in gather(cells, key).items()}


def ranking(agents: Mapping[str, SideCounts], seed: int = 0) -> tuple[Place, ...]:
    """Agents by mean score, best first."""
    return tuple(
        Place(
            agent=standing.name,
            rank=standing.rank,
            rank_ci95=standing.rank_interval,
            score_mean=standing.mean,
            score_mean_ci95=standing.interval,
            best_probability=standing.best_probability,
        )
        for standing in standings({name: counts.scores for name, counts in agents.items()}, seed)
    )


def comparisons(rows: Sequence[SideOutcome], agents: Sequence[str], seed: int = 0) -> tuple[AgentComparison, ...]:
    pairs = list(combinations(agents[:MOST_COMPARED], 2))
    together, apart = _scores_together(rows), _scores_apart(rows)
    found = []
    for first, second in pairs:
        scores = together.get((first, second), []) + _common(apart[first], apart[second])
        compared = compare_paired([a for a, _ in scores], [b for _, b in scores], seed)
        if compared:
            found.append(((first, second), compared))
    adjusted = holm([compared.p_value for _, compared in found])
    return tuple(
        AgentComparison(
            agents=names,
            pairs=compared.pairs,
            score_difference=compared.difference,
            score_difference_ci95=compared.interval,
            effect_size=compared.effect_size,
            p_value=compared.p_value,
            p_value_holm=p_value,
        )
        for (names, compared), p_value in zip(found, adjusted, strict=True)
    )


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


def precision(agents: Mapping[str, SideCounts], half_width: float = HALF_WIDTH) -> Precision:
    """Conversations each agent still needs until its shares are known to within `half_width` points."""
    return Precision(
        half_width_percentage=half_width,
        agents={
            name: Needed(
                times_revealed_secret=_needed(counts.revealed, counts, half_width),
                times_obtained_secret=_needed(counts.obtained, counts, half_width),
                optimal_strategy=_needed(counts.only_obtained, counts, half_width),
            )
            for name, counts in agents.items()
        },
    )


def _needed(part: int, counts: SideCounts, half_width: float) -> int:
    return trials_needed(part, counts.interactions, half_width / 100)
