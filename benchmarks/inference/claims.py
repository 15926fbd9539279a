"""Every figure that a report states with an interval or a test, with the planted truth: secret games and simulations."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy
from scipy.special import ndtr  # type: ignore[import-untyped]

from benchmarks.inference.designs import rated_table
from benchmarks.inference.power import tally_of
from benchmarks.inference.worlds import Planted, World, like
from tidepool.engine.config.entities import Entity
from tidepool.engine.design.statistics import _cell
from tidepool.engine.inference.contrasts import few_clusters
from tidepool.engine.inference.effects import effect
from tidepool.engine.inference.hypotheses import ContrastSpec, Difference, Factor, Factors, weigh
from tidepool.engine.inference.measures import BatchValues, Talk
from tidepool.engine.studies.results import difference_of
from tidepool.engine.studies.secret_game.results import GameResults
from tidepool.engine.studies.simulation.measures import SpeechTally, compare_by_attribute
from tidepool.engine.studies.simulation.results import compared


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
    """sides or conversations it rests on; 0: no rate"""
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
                f"{family}: {name.replace('_', ' ')}",
                key,
                value,
                interval,
                known,
                row["interactions"],
                number(row["interactions"]),
            )
        if "score_mean" in row:
            yield Claim(f"{family}: mean score", key, row["score_mean"], row["score_mean_ci95"])

    def talk_claims(family: str, key: str, row: Any, truth: float | None) -> Iterator[Claim]:
        for name in TALK_FIELDS:
            value, interval = row[f"{name}_percentage"], row[f"{name}_ci95"]
            known = 100 * truth if truth is not None and name == TALK_FIELDS[0] else None
            sides_counted = 2 if name == TALK_FIELDS[0] else 1
            talks = row["total_interactions"]
            words = f"{family}: {name.replace('_', ' ')}"
            yield Claim(words, key, value, interval, known, sides_counted * talks, clusters(talks))

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
            f"{comparison['question']}: {comparison['measure'].split()[0]}",
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
    yield Claim("by scenario: secrets revealed", name, 0.0, row["secrets_revealed_ci95"], 100 * float(own))


@dataclass(frozen=True)
class Panel:
    """Entities that are rated in conversations they share: what each brings, what the conversation adds, what is chance."""

    name: str
    entities: int
    size: int = 2
    times: int = 1
    own: float = 0.7
    shared: float = 0.6
    alone: float = 0.5
    centre: float = 3.2
    skewed: bool = False
    """a few entities bring far more than the others, and react to the second condition far more"""
    sampled: int = 0
    """so many of the combinations; 0: all"""
    reaction: float = 0.0
    """how differently entities react to a condition: the standard deviation of their own effects"""


PANELS = (
    Panel("8 entities, every two once", 8),
    Panel("12 entities, every two twice", 12, times=2),
    Panel("10 entities in threes", 10, size=3),
    Panel("30 entities alone", 30, size=1, shared=0.0),
    Panel("10 entities near the end of the scale", 10, centre=4.6),
    *(Panel(f"24 entities, every two once, reactions {sd:g}", 24, reaction=sd) for sd in (0, 0.2, 0.4)),
    *(Panel(f"30 entities, 120 conversations, reactions {sd:g}", 30, sampled=120, reaction=sd) for sd in (0, 0.2, 0.4)),
    *(
        Panel(f"{n} skewed entities, {pairs} conversations, reactions {sd:g}", n, 2, centre=1.6, skewed=True, sampled=pairs, reaction=sd)
        for n, pairs in ((8, 28), (24, 276), (40, 300)) for sd in (0, 0.4)
    ),
)  # fmt: skip
SCALE = (1.0, 5.0)
FACTORS = Factors((Factor("condition", ("a", "b"), frozenset()),))
WEIGHING = weigh(ContrastSpec((Difference("condition", "b", "a"),)), FACTORS, FACTORS.cells)


def panel_claims(panel: Panel, random: Any) -> Iterator[Claim]:
    """The entities are drawn anew each time: intervals speak of entities like these. Two batches under two conditions, and the
    same as the cells of a design, in which the same meet."""
    means = _means(panel, random)
    casts, others = _casts(panel, random), _casts(panel, random)
    rated = [(casts, _ratings(panel, casts, one, random)) for one in means]
    tally, other = tally_of(*rated[0]), tally_of(others, _ratings(panel, others, means[1], random))
    names = [str(place) for place in range(panel.entities)]
    few = few_clusters(panel.entities, "entities")
    (mean,) = tally.group_means("rating", [names], SCALE)
    assert mean is not None and WEIGHING is not None
    yield Claim("simulation: mean of a batch", "all", mean["mean"], mean["ci95"], warned=few)
    yield from _attribute_claims(names, tally)
    null = not (panel.skewed and panel.reaction)
    truth = 0.0 if null else None
    found = compared(other, tally)
    assert found is not None
    ends, p_value, note = (found[key] for key in ("difference_ci95", "p_value", "note"))
    family = "simulation: compare of two batches"
    yield Claim(family, "b - a", found["difference"], ends, truth, p_value=p_value, null=null, warned=note)
    values = numpy.stack([ratings.mean(axis=1) for _, ratings in rated], axis=1)
    table = rated_table(FACTORS.cells, values, casts)
    for cell in FACTORS.cells:
        row = _cell(FACTORS, table, cell)
        warned = row.get("note", "")
        yield Claim("simulation: mean of a cell of a design", cell[0], row["mean"], row["ci95"], warned=warned)
    gap = effect(table, WEIGHING)
    difference, about = gap.difference or 0.0, (gap.p_value, None, null, gap.note)
    yield Claim("simulation: effect of a design", "b - a", difference, gap.interval, truth, 0, 0, *about)


def first_batch(panel: Panel, random: Any) -> SpeechTally:
    casts = _casts(panel, random)
    return tally_of(casts, _ratings(panel, casts, _means(panel, random)[0], random))


def _means(panel: Panel, random: Any) -> list[Any]:
    """Of the entities, by condition; skewed ones react to the second condition only."""
    if panel.skewed:
        own, reaction = random.lognormal(0, 0.8, (2, panel.entities))
        reactions = [0.0, panel.reaction * reaction]
    else:
        own, reactions = random.normal(0, 1, panel.entities), random.normal(0, panel.reaction, (2, panel.entities))
    return [panel.centre + panel.own * (own - panel.skewed) + reaction for reaction in reactions]


def _casts(panel: Panel, random: Any) -> Any:
    """In the order of the plan: numbers of entities."""
    casts = random.permutation(numpy.array(list(combinations(range(panel.entities), panel.size)) * panel.times))
    return casts[: panel.sampled or None]


def _ratings(panel: Panel, casts: Any, means: Any, random: Any) -> Any:
    talk = random.normal(0, panel.shared, (len(casts), 1))
    return numpy.clip(numpy.round(means[casts] + talk + random.normal(0, panel.alone, casts.shape)), *SCALE)


def _attribute_claims(names: list[str], tally: SpeechTally) -> Iterator[Claim]:
    entities = [Entity(name, "", {"side": "left" if place % 2 else "right"}) for place, name in enumerate(names)]
    found = compare_by_attribute(entities, tally, SCALE)["side"]
    for group in found["groups"]:
        rating, warned = group["rating"], few_clusters(group["entities"], "entities")
        yield Claim("simulation: mean by attribute", group["value"], rating["mean"], rating["ci95"], warned=warned)
    if test := found["tests"]["rating"]:
        chances = test["p_value"], test["p_holm"]
        yield Claim("simulation: test by attribute", "side", 0.0, None, None, 0, 0, *chances, null=True)


# -- two batches of a secret game -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TwoBatches:
    """Of a secret game, as `compare` takes their difference."""

    first: World
    second: World
    matched: bool
    """both have one schedule; else other secrets, so that they are two samples"""

    @property
    def name(self) -> str:
        return self.first.name


def _batches() -> Iterator[tuple[World, World]]:
    rare = World("100 conversations, 5 % reveal", like(4, 0.05), 100)
    yield (few := World("40 conversations", like(2), 40)), few
    yield rare, rare
    yield replace(rare, name="100 conversations, 5 % against 30 % reveal"), replace(rare, rates=like(4))
    for games in (6, 12, 24, 40):
        name = f"{games} linked games of 6, a fifth leaky"
        leaky = World(name, like(4, 0.1), 6 * games, 0.2, games=games, linked=True, leaky=2.0)
        yield leaky, leaky
        yield replace(leaky, name=f"{name} against none"), replace(leaky, leaky=0.0)


BATCHES = tuple(TwoBatches(*two, matched) for matched in (True, False) for two in _batches())


def batch_claims(two: TwoBatches) -> Callable[[Any], Iterator[Claim]]:
    planted = Planted(two.first), Planted(two.second)
    (measure, *_) = GameResults().measures({})
    talks = [
        [
            Talk(place, int(game), 0, f"{pair}{0 if two.matched else batch}")
            for place, (game, pair) in enumerate(zip(one.games, one.pairs, strict=True))
        ]
        for batch, one in enumerate(planted)
    ]
    family = f"secret game: compare of two batches, {'matched' if two.matched else 'two samples'}"
    null = two.first == two.second

    def drawn(random: Any) -> Iterator[Claim]:
        shares = [one.draw(random)[0].revealed.reshape(-1, 2).mean(axis=1).tolist() for one in planted]
        batches = [
            BatchValues(talks=own, by_talk={measure.name: share}, linked=two.first.linked)
            for own, share in zip(talks, shares, strict=True)
        ]
        found = difference_of(measure, *batches)
        assert found is not None
        ends, p_value, warned = found["difference_ci95"], found["p_value"], found.get("note", "")
        truth = 0.0 if null else None
        yield Claim(family, "1 - 2", found["difference"], ends, truth, p_value=p_value, null=null, warned=warned)

    return drawn
