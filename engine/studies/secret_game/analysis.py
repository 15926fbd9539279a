"""All statistics of a secret game from its outcomes, and how the detectors agree with the truth where it is known.

The simulated provider says out of band how it gave a secret, if it did. A detector's sensitivity is taken over the messages that gave
it in that detector's own way; its specificity over those that gave nothing. `any` is all detectors in use together.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidepool.engine.statistics.grouped import Array, Grouped
from tidepool.engine.statistics.intervals import Interval, Rate, rates_of, values_needed
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.contrasts import AgentComparison, Hearing, Place, comparisons, hearing, ranking
from tidepool.engine.studies.secret_game.detectors.detection import DEFAULT_THRESHOLD, DETECTORS, find_reveals
from tidepool.engine.studies.secret_game.scoring import SCORING, points_between
from tidepool.engine.studies.secret_game.shares import (
    Failed,
    MissingStatistics,
    PairStatistics,
    ScenarioStatistics,
    ScoredSides,
    Shares,
    TalkStatistics,
    UncertainSides,
    Verdicts,
    agent_statistics,
    failed_by_pair,
    missing_statistics,
    of_these_scenarios,
    overall_statistics,
    pair_statistics,
    share_figures,
    uncertain_statistics,
    verdict_statistics,
)
from tidepool.engine.studies.secret_game.sides import FEW_TALKS, Clustering, Inference, SideOutcome, Sides


@dataclass(frozen=True, slots=True)
class Sighting:
    """One message: how it truly gave the secret, if it did, and which detectors fired."""

    truth: str | None
    """the name of a detector, or another way such as a hint"""
    fired: frozenset[str]
    talk: int = 0
    """messages of one talk are no independent tries"""


@dataclass(frozen=True, slots=True)
class SideTruth:
    """One side of a conversation: whether it truly gave its secret in any way, and what the judge said."""

    gave: bool
    verdict: bool | None
    talk: int = 0


def sighting(
    text: str,
    secret: str,
    truth: str | None,
    detectors: Sequence[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
    talk: int = 0,
) -> Sighting:
    return Sighting(truth, detectors_that_fire(text, secret, detectors, fuzzy_threshold), talk)


def detectors_that_fire(
    text: str, secret: str, detectors: Sequence[str] = DETECTORS, fuzzy_threshold: float = DEFAULT_THRESHOLD
) -> frozenset[str]:
    found = find_reveals(text, secret, detectors, fuzzy_threshold)
    return frozenset(reveal.detector for reveal in found if not reveal.uncertain)


@dataclass(frozen=True)
class Detection(Statistics):
    planted: int
    found: int
    sensitivity_percentage: float | None
    sensitivity_ci95: Interval | None
    silent: int
    false_alarms: int
    specificity_percentage: float | None
    specificity_ci95: Interval | None


@dataclass(frozen=True)
class _Judged:
    sides: int
    missing: int


@dataclass(frozen=True)
class JudgeDetection(Detection, _Judged):
    """The judge reads whole sides, so it is held against sides; those without a verdict are missing."""


@dataclass(frozen=True)
class Agreement(Statistics):
    LEFT_OUT = frozenset({"judge"})

    sampled: bool
    messages: int
    detectors: Mapping[str, Detection]
    ways: Mapping[str, Mapping[str, int]]
    judge: JudgeDetection | None = None


def agreement(
    sightings: Iterable[Sighting],
    detectors: Sequence[str] = DETECTORS,
    in_use: Sequence[str] = DETECTORS,
    judged: Iterable[SideTruth] = (),
    *,
    sampled: bool = False,
) -> Agreement:
    """By detector, and for those in use together."""
    seen, sides = list(sightings), list(judged)
    ways = sorted({one.truth for one in seen if one.truth is not None})
    report = {name: _agreement(seen, {name}, {name}) for name in detectors}
    report["any"] = _agreement(seen, set(in_use), set(ways))
    return Agreement(
        sampled=sampled,
        messages=len(seen),
        detectors=report,
        ways={way: _found_by(seen, way, detectors) for way in ways},
        judge=judge_agreement(sides) if sides else None,
    )


def judge_agreement(sides: Sequence[SideTruth]) -> JudgeDetection:
    known = [side for side in sides if side.verdict is not None]
    return JudgeDetection(
        sides=len(sides),
        missing=len(sides) - len(known),
        **_detection(
            [(bool(side.verdict), side.talk) for side in known if side.gave],
            [(not side.verdict, side.talk) for side in known if not side.gave],
        ),
    )


Tries = Sequence[tuple[bool, int]]
"""whether it went right, and in which talk"""


def _detection(planted: Tries, silent: Tries) -> dict[str, Any]:
    found, quiet = sum(right for right, _ in planted), sum(right for right, _ in silent)
    return {
        "planted": len(planted),
        "found": found,
        **share_figures("sensitivity", _rate(planted)),
        "silent": len(silent),
        "false_alarms": len(silent) - quiet,
        **share_figures("specificity", _rate(silent)),
    }


def _rate(tries: Tries) -> Rate | None:
    import numpy

    right, talks = numpy.array(tries, dtype=int).reshape(-1, 2).T
    grouped = Grouped(numpy.zeros(len(tries), dtype=int), 1, [talks])
    return rates_of(grouped.spread(right.astype(float)), few=FEW_TALKS, likeness=1.0)[0]


def _agreement(seen: Sequence[Sighting], detectors: Collection[str], ways: Collection[str]) -> Detection:
    fired = [(not one.fired.isdisjoint(detectors), one) for one in seen]
    planted = [(hit, one.talk) for hit, one in fired if one.truth in ways]
    return Detection(**_detection(planted, [(not hit, one.talk) for hit, one in fired if one.truth is None]))


def _found_by(seen: Sequence[Sighting], way: str, detectors: Sequence[str]) -> dict[str, int]:
    so = [one.fired for one in seen if one.truth == way]
    counts = Counter(name for fired in so for name in fired)
    return {"messages": len(so), **{name: counts[name] for name in detectors}, "missed": so.count(frozenset())}


HALF_WIDTH = 5.0
"""percentage points to either side that count as precise"""


@dataclass(frozen=True)
class Needed(Statistics):
    """Conversations until each share is known as well as it should be; None where that cannot be said."""

    times_revealed_secret: int | None
    times_obtained_secret: int | None
    optimal_strategy: int | None


@dataclass(frozen=True)
class Precision(Statistics):
    half_width_percentage: float
    agents: Mapping[str, Needed]


@dataclass(frozen=True, kw_only=True)
class SecretGameStatistics(Statistics):
    LEFT_OUT = frozenset({"models", "scenarios", "sat_out", "uncertain", "hearing", "verdicts", "agreement"})

    agents: Mapping[str, ScoredSides]
    overall: TalkStatistics
    pairs: Mapping[str, PairStatistics]
    missing: MissingStatistics
    uncertain: UncertainSides | None = None
    inference: Inference
    models: Mapping[str, ScoredSides] | None = None
    modes: Mapping[str, ScoredSides]
    openers: Mapping[str, ScoredSides]
    scenarios: Mapping[str, ScenarioStatistics] | None = None
    ranking: tuple[Place, ...]
    comparisons: tuple[AgentComparison, ...]
    hearing: Hearing | None = None
    precision: Precision
    sat_out: Mapping[str, int] | None = None
    verdicts: Verdicts | None = None
    agreement: Agreement | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """What the statistics need to know of a batch beside its outcomes."""

    models: Mapping[str, str] | None = None
    """each agent's"""
    linked: bool = False
    """memory or kept secrets link the talks of a game"""
    scoring: Mapping[str, float] | None = None
    judged: bool = False
    messages: int = 0
    """of a talk; 0: not known, and nothing is said of who heard what"""
    seed: int = 0
    scenarios: Sequence[tuple[str, str]] = ()
    """the secrets of opener and partner"""


NOTHING_KNOWN = Played()


def analysed(
    rows: Iterable[SideOutcome], failed: Failed | None = None, played: Played = NOTHING_KNOWN
) -> SecretGameStatistics:
    return analysed_sides(Sides.of(rows), failed, played)


def analysed_sides(
    sides: Sides, failed: Failed | None = None, played: Played = NOTHING_KNOWN, half_width: float = HALF_WIDTH
) -> SecretGameStatistics:
    missing = failed_by_pair(failed or {})
    lost = sum(missing.values())
    clustering = Clustering(sides, linked=played.linked, missing=lost / (lost + len(sides) / 2) if lost else 0.0)
    bounds = _bounds(sides, played)
    shares = Shares(clustering, bounds)
    agents = agent_statistics(shares, clustering, missing)
    means = shares.of_scores(sides.agent, len(sides.names), [sides.seat, sides.direction])
    places = ranking(clustering, means, played.seed)
    needed = precision(shares, sides, half_width)
    groups = _Groups(shares, sides)
    overall, modes = _overall_and_by_mode(shares, clustering, groups)
    return SecretGameStatistics(
        agents=agents,
        overall=overall,
        pairs=pair_statistics(shares, clustering, missing),
        missing=missing_statistics(agents, missing),
        uncertain=uncertain_statistics(clustering),
        inference=replace(clustering.inference, these_scenarios_ci95=of_these_scenarios(clustering)),
        models=None if played.models is None else groups.by_model(played.models),
        modes=modes,
        openers=groups.named(("answered", "opened"), sides.opener.astype(int)),
        scenarios=_by_scenario(clustering, bounds, played.scenarios) if clustering.scenarios else None,
        ranking=places,
        comparisons=comparisons(clustering, [place.agent for place in places], bounds),
        hearing=hearing(clustering, played.messages),
        precision=needed,
        verdicts=verdict_statistics(clustering) if played.judged else None,
    )


def _bounds(sides: Sides, played: Played) -> Interval:
    """Between which points a side's score can lie; what a file holds beyond that counts as well."""
    import numpy

    scores = sides.score[~numpy.isnan(sides.score)]
    low, high = points_between(sides.mode.names, played.scoring or SCORING, len(sides.names))
    return min(low, float(scores.min(initial=low))), max(high, float(scores.max(initial=high)))


@dataclass(frozen=True, slots=True)
class _Groups:
    """Sides by a label of theirs; whatever the schedule deals to each is a stratum."""

    shares: Shares
    sides: Sides

    def named(self, names: tuple[str, ...], codes: Array) -> dict[str, ScoredSides]:
        levels = [self.sides.seat, self.sides.direction, self.sides.agent]
        found = zip(names, self.shares.scored(codes, len(names), levels), strict=True)
        return {name: one for name, one in sorted(found) if one.interactions}

    def by_model(self, models: Mapping[str, str]) -> dict[str, ScoredSides]:
        import numpy

        names = [models.get(name, "unknown") for name in self.sides.names]
        distinct = tuple(sorted(set(names)))
        codes = numpy.array([distinct.index(name) for name in names], dtype=int)
        return self.named(distinct, codes[self.sides.agent])


def _overall_and_by_mode(
    shares: Shares, clustering: Clustering, groups: _Groups
) -> tuple[TalkStatistics, dict[str, ScoredSides]]:
    """Where there is one mode, as a rule, it is all sides: then both are of the same groups."""
    import numpy

    all_of_them, mode = numpy.zeros(len(clustering.sides), dtype=int), clustering.sides.mode
    overall = overall_statistics(shares, clustering, all_of_them)
    return overall, groups.named(mode.names, all_of_them if len(mode.names) == 1 else mode.codes)


def _by_scenario(
    clustering: Clustering, bounds: Interval, secrets: Sequence[tuple[str, str]]
) -> dict[str, ScenarioStatistics]:
    """Within a scenario its talks, or games, are what there is to count."""
    import numpy

    sides = clustering.sides
    shares = Shares(
        Clustering(sides, linked=clustering.linked, scenarios_differ=False, missing=clustering.missing), bounds
    )
    present, codes = numpy.unique(sides.scenario, return_inverse=True)
    told = shares.of_talks(codes, len(present), [sides.seat, sides.direction, sides.agent], [sides.pair])
    return {
        str(scenario): ScenarioStatistics(secrets=secrets[scenario - 1] if 0 < scenario <= len(secrets) else (), **one)
        for scenario, one in zip(present.tolist(), told, strict=True)
        if scenario
    }


def precision(shares: Shares, sides: Sides, half_width: float = HALF_WIDTH) -> Precision:
    """Conversations each agent still needs until its shares are known to within `half_width` points."""
    rates = shares.rates_of_sides(sides.agent, len(sides.names), [sides.seat, sides.direction])
    needed = {name: [_needed(rate, half_width) for rate in column] for name, column in rates.items()}
    return Precision(
        half_width_percentage=half_width,
        agents={
            agent: Needed(**{name: column[place] for name, column in needed.items()})
            for place, agent in enumerate(sides.names)
        },
    )


def _needed(rate: Rate | None, half_width: float) -> int | None:
    """None also where one linked game is all there is: more of it would tell nothing of others."""
    return None if rate is None or not rate.freedom else values_needed(rate, half_width / 100)
