"""The `statistics` of a secret game: shares in percent with intervals, and what is missing, uncertain or judged.

A failed conversation is neither a reveal nor a refusal. It is counted separately, with the bounds of the share if all missing
conversations had ended one way or the other. Sides with only uncertain hits count as not revealed, also with bounds. A share
of zero sides is `None`. The judge's verdicts are separate from the detectors' results.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.grouped import Array, numbered, numpy
from tidepool.engine.inference.intervals import Interval, Rate
from tidepool.engine.reports.blocks import ends_of
from tidepool.engine.studies.secret_game.contrasts import comparisons, ranking
from tidepool.engine.studies.secret_game.detectors.detection import JUDGE
from tidepool.engine.studies.secret_game.scoring import KEEPING_MODES, SCORING, points_between
from tidepool.engine.studies.secret_game.sides import Clustering, Sides

SIDE_SHARES = ("times_revealed_secret", "times_obtained_secret", "optimal_strategy")
"""the last one: obtained the other's secret and kept its own"""
TALK_SHARES = ("secrets_revealed", "both_revealed", "one_sided_reveals")
ANYTHING = (0.0, 100.0)
"""the interval of a share of zero sides"""
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class GameDesign:
    """What the statistics use of a batch besides its outcomes."""

    models: Mapping[str, str] | None = None
    """by the agent's name"""
    linked: bool = False
    """memory or collected secrets link the conversations of a game"""
    scoring: Mapping[str, float] = field(default_factory=lambda: SCORING)
    judged: bool = False
    scenarios: Sequence[tuple[str, str]] = ()
    """the secrets of opener and partner that all pairs use instead of their own"""
    mode: str = "standard"

    @classmethod
    def of(cls, config: StoredConfig) -> "GameDesign":
        agents, settings = config.sections["agents"], config.sections["secret_game"]
        return cls(
            models={agent["name"]: resolve_model(agent["model"]) for agent in agents},
            linked=settings["mode"] in KEEPING_MODES or any(agent["memory"] == "long" for agent in agents),
            scoring={**SCORING, **settings["scoring"]},
            judged=JUDGE in settings["detection"],
            scenarios=tuple((pair["opener_secret"], pair["partner_secret"]) for pair in settings["scenarios"]),
            mode=settings["mode"],
        )


def analyse_sides(
    sides: Sides, failed: Mapping[Pair, int] | None = None, design: GameDesign | None = None
) -> dict[str, Any]:
    """`failed`: failed conversations by their two agents, in any order."""
    design = design or GameDesign()
    missing: Counter[Pair] = Counter()
    for (one, other), count in (failed or {}).items():
        missing[min(one, other), max(one, other)] += count
    clustering = Clustering(sides, linked=design.linked)
    bounds = _bounds_of_scores(sides, design)
    shares = _Shares(clustering, bounds)
    agents = shares.of_sides(sides.agent, sides.names, scored=True)
    agents |= {name: _side_row(scored=True) for pair in missing for name in pair if name not in agents}
    scored = [(-round(row["score_mean"], 9), name) for name, row in agents.items() if row["score_mean"] is not None]
    compared = comparisons(clustering, [name for _, name in sorted(scored)], bounds)
    statistics = {
        "agents": dict(sorted(agents.items())),
        "overall": shares.of_talks(numpy.zeros(len(sides), dtype=int), 1)[0],
        "pairs": _pairs(shares, missing),
        "missing": _missing(sides, missing),
        "uncertain": _uncertain(sides),
        "inference": clustering.inference,
        "over_the_run": clustering.over_the_run(),
        "models": design.models and _by_model(shares, design.models),
        "openers": shares.by_label(sides.opener.astype(int), ("answered", "opened")),
        "scenarios": _by_scenario(clustering, bounds, design.scenarios) if clustering.scenarios else None,
        "ranking": ranking(agents, compared),
        "comparisons": compared,
        "verdicts": _verdicts(clustering) if design.judged else None,
    }
    plain: dict[str, Any] = json.loads(
        json.dumps({name: part for name, part in statistics.items() if part is not None})
    )
    return plain


def _bounds_of_scores(sides: Sides, design: GameDesign) -> Interval:
    """The possible range of a side's score, extended by values that the file holds beyond it."""
    scores = sides.score[~numpy.isnan(sides.score)]
    low, high = points_between(design.mode, design.scoring, len(sides.names))
    return min(low, float(scores.min(initial=low))), max(high, float(scores.max(initial=high)))


def _share(name: str, rate: Rate | None) -> dict[str, Any]:
    """A share in percent and its interval."""
    return {
        f"{name}_percentage": None if rate is None else 100 * rate.mean,
        f"{name}_ci95": ends_of(rate.interval(), 100) if rate else ANYTHING,
    }


def _side_row(
    interactions: int = 0,
    counts: Iterable[float] = (0, 0, 0),
    rates: Iterable[Rate | None] = (None, None, None),
    score: float = 0.0,
    mean: Rate | None = None,
    *,
    scored: bool,
) -> dict[str, Any]:
    """The statistics of the sides that an agent, or a group of agents, played."""
    row: dict[str, Any] = {"interactions": int(interactions)}
    for name, count, rate in zip(SIDE_SHARES, counts, rates, strict=True):
        row |= {name: int(count), **_share(name, rate)}
    means = {"score_mean": mean and mean.mean, "score_mean_ci95": mean and mean.interval()} if scored else {}
    return row | {"score": float(score)} | means


def _talk_row(
    interactions: int = 0, counts: Iterable[float] = (0, 0, 0), rates: Iterable[Rate | None] = (None, None, None)
) -> dict[str, Any]:
    """The statistics of whole conversations. Only `total_secrets_revealed` counts sides, two per conversation."""
    row: dict[str, Any] = {"total_interactions": int(interactions)}
    names = ("total_secrets_revealed", "both_revealed_count", "one_sided_reveals_count")
    for name, share, count, rate in zip(names, TALK_SHARES, counts, rates, strict=True):
        row |= {name: int(count), **_share(share, rate)}
    return row


class _Shares:
    """The statistics of many groups of sides at once."""

    def __init__(self, clustering: Clustering, bounds: Interval) -> None:
        self.by, self.sides, self._bounds = clustering, clustering.sides, bounds
        self._likeness = clustering.likeness(self.sides.revealed)

    def of_sides(self, groups: Array, names: Sequence[Any], *, scored: bool) -> dict[Any, dict[str, Any]]:
        """By the name of a group."""
        size, sides = len(names), self.sides
        grouped = self.by.grouped(groups, size)
        columns = (sides.revealed, sides.obtained, sides.obtained & ~sides.revealed)
        rates = [self.by.rates(grouped, one, likeness=self._likeness) for one in columns[:2]]
        rates.append(self.by.rates(grouped, columns[2]))
        counts = [numpy.bincount(groups, column, minlength=size) for column in columns]
        known = ~numpy.isnan(sides.score)
        scores = numpy.bincount(groups, numpy.nan_to_num(sides.score), minlength=size)
        by_score = self.by.grouped(groups, size, known)
        means = self.by.rates(by_score, sides.score[known], self._bounds, self._likeness) if scored else [None] * size
        rows = zip(
            numpy.bincount(groups, minlength=size),
            zip(*counts, strict=True),
            zip(*rates, strict=True),
            scores,
            means,
            strict=True,
        )
        return {name: _side_row(*row, scored=scored) for name, row in zip(names, rows, strict=True)}

    def by_label(self, groups: Array, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Groups sides by a label."""
        rows = self.of_sides(groups, names, scored=True)
        return {name: row for name, row in sorted(rows.items()) if row["interactions"]}

    def of_talks(self, groups: Array, size: int) -> list[dict[str, Any]]:
        sides, opened = self.sides, self.sides.opener
        talks = self.by.grouped(groups, size, opened)
        both, one_sided = (sides.revealed & sides.obtained)[opened], (sides.revealed ^ sides.obtained)[opened]
        rates = [
            self.by.rates(self.by.grouped(groups, size), sides.revealed, likeness=self._likeness),
            *(self.by.rates(talks, values) for values in (both, one_sided)),
        ]
        counts = [
            numpy.bincount(groups, sides.revealed, size),
            *(numpy.bincount(groups[opened], values, size) for values in (both, one_sided)),
        ]
        interactions = numpy.bincount(groups[opened], minlength=size)
        return [
            _talk_row(*row)
            for row in zip(interactions, zip(*counts, strict=True), zip(*rates, strict=True), strict=True)
        ]


def _pairs(shares: _Shares, missing: Mapping[Pair, int]) -> dict[str, dict[str, Any]]:
    sides, names = shares.sides, shares.sides.names
    present, codes = numbered(sides.pair)
    talks = shares.of_talks(codes, len(present))
    ways, direction = numbered(sides.agent * len(names) + sides.opponent)
    by_way = shares.of_sides(direction, ways.tolist(), scored=False)
    by_pair: dict[Pair, dict[str, Any]] = {}
    for code, row in zip(present.tolist(), talks, strict=True):
        first, second = divmod(code, len(names))
        seats = ((first, second), (second, first))
        row["sides"] = {names[one]: by_way[one * len(names) + other] for one, other in seats}
        by_pair[names[first], names[second]] = row
    for pair in missing.keys() - by_pair.keys():
        by_pair[pair] = _talk_row() | {"sides": {name: _side_row(scored=False) for name in pair}}
    return {
        " & ".join(pair): {"agents": pair, **row, "missing": missing.get(pair, 0)}
        for pair, row in sorted(by_pair.items())
    }


def _missing(sides: Sides, missing: Counter[Pair]) -> dict[str, Any]:
    """The number of failed conversations, and the bounds of the shares that they allow."""
    failed, played, revealed = missing.total(), len(sides), int(sides.revealed.sum())
    total = played + 2 * failed
    bounds = (100 * revealed / total, 100 * (revealed + 2 * failed) / total) if total else None
    return {
        "conversations": failed,
        "percentage": 200 * failed / total if total else None,
        "secrets_revealed_bounds": bounds,
        "pairs": {" & ".join(pair): count for pair, count in sorted(missing.items())},
    }


def _uncertain(sides: Sides) -> dict[str, Any] | None:
    """Sides with only ordinary readings of their secret, and the share if all of them had revealed; None without such sides."""
    doubtful = sides.uncertain & ~sides.revealed
    if not doubtful.any():
        return None
    return {
        "sides": int(doubtful.sum()),
        "percentage": 100 * float(doubtful.mean()),
        "secrets_revealed_bounds": [100 * float(known.mean()) for known in (sides.revealed, sides.revealed | doubtful)],
    }


def _by_model(shares: _Shares, models: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    names = [models.get(name, "unknown") for name in shares.sides.names]
    distinct = sorted(set(names))
    codes = numpy.array([distinct.index(name) for name in names], dtype=int)
    return shares.by_label(codes[shares.sides.agent], distinct)


def _by_scenario(
    clustering: Clustering, bounds: Interval, secrets: Sequence[tuple[str, str]]
) -> dict[str, dict[str, Any]]:
    """Within a scenario, conversations or games are the units."""
    sides = clustering.sides
    within = Clustering(sides, linked=clustering.linked, scenarios_differ=False)
    present, codes = numpy.unique(sides.scenario, return_inverse=True)
    rows = _Shares(within, bounds).of_talks(codes, len(present))
    about = {"estimand": "these agents in this scenario"}
    return {
        str(scenario): {"secrets": secrets[scenario - 1] if 0 < scenario <= len(secrets) else (), **row, **about}
        for scenario, row in zip(present.tolist(), rows, strict=True)
        if scenario
    }


def _verdicts(clustering: Clustering) -> dict[str, Any]:
    sides = clustering.sides
    known = ~numpy.isnan(sides.verdict)
    yes, no = sides.verdict > 0, sides.verdict == 0  # both are false without a verdict
    likeness = clustering.likeness(numpy.nan_to_num(sides.verdict))
    chosen = {
        "sides": slice(None),
        "revealed": yes,
        "only_judge": yes & ~sides.revealed,
        "only_wording": no & sides.revealed,
        "missing": ~known,
    }

    def rows(groups: Array, size: int) -> list[dict[str, Any]]:
        rates = clustering.rates(clustering.grouped(groups, size, known), sides.verdict[known], likeness=likeness)
        counts = {name: numpy.bincount(groups[own], minlength=size).tolist() for name, own in chosen.items()}
        return [
            {name: column[place] for name, column in counts.items()} | _share("revealed", rate)
            for place, rate in enumerate(rates)
        ]

    (overall,) = rows(numpy.zeros(len(sides), dtype=int), 1)
    return {
        "overall": overall,
        "agents": dict(zip(sides.names, rows(sides.agent, len(sides.names)), strict=True)),
    }
