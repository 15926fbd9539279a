"""Every figure that a report states with an interval or a test, with the planted truth: secret games and rating panels."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy
from scipy.special import ndtr  # type: ignore[import-untyped]

from benchmarks.inference.worlds import Planted, World
from tidepool.engine.config.entities import Entity
from tidepool.engine.inference.contrasts import few_clusters
from tidepool.engine.studies.simulation.measures import SpeechTally, compare_by_attribute
from tidepool.storage.queries.units import SpokenPage


@dataclass(frozen=True)
class Claim:
    """One reported figure: of which family, its value and interval, and what it is about."""

    family: str
    key: str
    value: float
    interval: tuple[float, float] | None
    truth: float | None = None
    """None: the mean over all tables"""
    count: float = 0.0
    """sides or talks it rests on; 0: no rate, and never called too wide"""
    clusters: int = 0
    p_value: float | None = None
    p_holm: float | None = None
    null: bool = False
    warned: str = ""
    """what the report says beside it where clusters are few"""


SIDE_FIELDS = ("times_revealed_secret", "times_obtained_secret", "optimal_strategy")
TALK_FIELDS = ("secrets_revealed", "both_revealed", "one_sided_reveals")


def claims(planted: Planted, found: dict[str, Any], scenario: Any) -> Iterator[Claim]:
    world, leaky = planted.world, bool(planted.world.leaky)
    rate = dict(enumerate(numpy.bincount(planted.agent, planted.rates) / numpy.bincount(planted.agent)))
    places = {name: place for place, name in enumerate("ABCDEFGH")}
    clusters = _clusters(world)

    def side_claims(
        family: str, key: str, row: Any, truth: float | None, number: Callable[[int], int]
    ) -> Iterator[Claim]:
        for name in SIDE_FIELDS:
            value, interval = row[f"{name}_percentage"], row[f"{name}_ci95"]
            known = 100 * truth if truth is not None and name == SIDE_FIELDS[0] else None
            yield Claim(
                f"{family}: {name}", key, value, interval, known, row["interactions"], number(row["interactions"])
            )
        if "score_mean" in row:
            yield Claim(f"{family}: mean score", key, row["score_mean"], row["score_mean_ci95"])

    def talk_claims(family: str, key: str, row: Any, truth: float | None) -> Iterator[Claim]:
        for name in TALK_FIELDS:
            value, interval = row[f"{name}_percentage"], row[f"{name}_ci95"]
            known = 100 * truth if truth is not None and name == TALK_FIELDS[0] else None
            sides_counted = 2 if name == TALK_FIELDS[0] else 1
            talks = row["total_interactions"]
            yield Claim(f"{family}: {name}", key, value, interval, known, sides_counted * talks, clusters(talks))

    yield from talk_claims("overall", "all", found["overall"], None if leaky else float(planted.rates.mean()))
    for name, row in found["agents"].items():
        yield from side_claims("agents", name, row, None if leaky else rate[places[name]], clusters)
    for name, pair in found["pairs"].items():
        yield from talk_claims("pairs", name, pair, None)
        for agent, side in pair["sides"].items():
            if len(pair["sides"]) == 2:
                yield from side_claims("sides of pairs", f"{name} {agent}", side, None, clusters)
    for name, row in {**found.get("models", {}), **found["openers"]}.items():
        yield from side_claims("models, openers", name, row, None, clusters)
    if verdicts := found.get("verdicts"):
        overall = verdicts["overall"]
        yield Claim("judge's verdicts", "all", overall["revealed_percentage"] or 0.0, overall["revealed_ci95"])
    for comparison in found["comparisons"]:
        (first, second), ends = comparison["agents"], comparison["difference_ci95"]
        turned = -1 if first > second else 1  # the report names the better one first
        null = _alike(world, places[first], places[second])
        yield Claim(
            f"{comparison['estimand']}: {comparison['measure'].split()[0]}",
            f"{min(first, second)}-{max(first, second)} {comparison['measure']}",
            turned * comparison["difference"],
            ends and (min(turned * end for end in ends), max(turned * end for end in ends)),
            0.0 if null else None,
            p_value=comparison["p_value"],
            p_holm=comparison["p_value_holm"],
            null=null,
        )
    for name, talks in found.get("scenarios", {}).items():
        if not leaky:
            yield from _scenario_claim(planted, name, talks, scenario)


def _clusters(world: World) -> Callable[[int], int]:
    fixed = [number for number, counts in ((world.games, world.linked), (world.scenarios, world.scenarios)) if counts]
    return lambda talks: min(fixed) if fixed else talks


def _alike(world: World, first: int, second: int) -> bool:
    return world.rates[first] == world.rates[second] and not world.by_opponent and world.mode != "targeted"


def _given(planted: Planted, scenario: Any) -> Any:
    """Each side's chance, given how open its scenario is."""
    spread = planted.world.in_scenario
    open_by = numpy.repeat(scenario[planted.scenarios], 2)
    return ndtr((planted.lines.ravel() - math.sqrt(spread) * open_by) / math.sqrt(1 - spread))


def _scenario_claim(planted: Planted, name: str, row: Any, scenario: Any) -> Iterator[Claim]:
    """Within a scenario the truth is that scenario's own."""
    own = _given(planted, scenario)[numpy.repeat(planted.scenarios, 2) == int(name)].mean()
    yield Claim("by scenario: secrets_revealed", name, 0.0, row["secrets_revealed_ci95"], 100 * float(own))


@dataclass(frozen=True)
class Panel:
    """Entities that are rated in talks they share: what each brings, what the talk adds, and what is left to chance."""

    name: str
    entities: int
    size: int = 2
    times: int = 1
    own: float = 0.7
    shared: float = 0.6
    alone: float = 0.5
    centre: float = 3.2
    skewed: bool = False
    sampled: int = 0
    """so many of the combinations; 0: all"""
    """a few entities bring far more than the others"""


PANELS = (
    Panel("8 entities, every two once", 8),
    Panel("12 entities, every two twice", 12, times=2),
    Panel("20 entities, every two once", 20),
    Panel("10 entities in threes", 10, size=3),
    Panel("30 entities alone", 30, size=1, shared=0.0),
    Panel("10 entities near the end of the scale", 10, centre=4.6),
    Panel("8 skewed entities, every two once", 8, centre=1.6, skewed=True),
    Panel("20 skewed entities, every two once", 20, centre=1.6, skewed=True),
    Panel("40 skewed entities, 300 conversations", 40, centre=1.6, skewed=True, sampled=300),
)
SCALE = (1.0, 5.0)


def panel_claims(panel: Panel, random: Any) -> Iterator[Claim]:
    """The entities are drawn anew each time: intervals speak of entities like these; an entity's own of its talks."""
    names = [f"E{place}" for place in range(panel.entities)]
    brought = random.lognormal(0, 0.8, panel.entities) - 1.0 if panel.skewed else random.normal(0, 1, panel.entities)
    own = dict(zip(names, panel.centre + panel.own * brought, strict=True))
    tally = SpeechTally()
    casts = list(combinations(names, panel.size))
    if panel.sampled:
        casts = [casts[place] for place in random.choice(len(casts), panel.sampled, replace=False)]
    for cast in casts:
        for _ in range(panel.times):
            talk = random.normal(0, panel.shared)
            given = {name: own[name] + talk + random.normal(0, panel.alone) for name in cast}
            rated = [(0, name, float(min(5, max(1, round(value))))) for name, value in given.items()]
            tally.take(SpokenPage([0], ["completed"], [""], [list(cast)], ((), (), ()), rated))
    (mean,) = tally.group_means("rating", [names], SCALE)
    assert mean is not None
    warned = few_clusters(panel.entities, "entities")
    yield Claim("ratings: mean over entities", "all", mean["mean"], mean["ci95"], warned=warned)
    entities = [Entity(name, "", {"side": "left" if place % 2 else "right"}) for place, name in enumerate(names)]
    found = compare_by_attribute(entities, tally, SCALE)["side"]
    for group in found["groups"]:
        rating, warned = group["rating"], few_clusters(group["entities"], "entities")
        yield Claim("ratings: mean by attribute", group["value"], rating["mean"], rating["ci95"], warned=warned)
    for measure, test in found["tests"].items():
        if test and measure == "rating":
            chances = test["p_value"], test["p_holm"]
            yield Claim("ratings: test by attribute", "side", 0.0, None, None, 0, 0, *chances, null=True)
