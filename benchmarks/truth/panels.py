"""Planted ratings of a simulation, whose talks are shared by several entities."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from benchmarks.truth.claims import Claim
from tidepool.engine.library.entities import Entity
from tidepool.engine.studies.simulation.measures import SpeechTally, compare_by_attribute, group_mean


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


PANELS = (
    Panel("8 entities, every two once", 8),
    Panel("12 entities, every two twice", 12, times=2),
    Panel("20 entities, every two once", 20),
    Panel("10 entities in threes", 10, size=3),
    Panel("30 entities alone", 30, size=1, shared=0.0),
    Panel("9 entities near the end of the scale", 9, centre=4.6),
)
SCALE = (1.0, 5.0)


def panel_claims(panel: Panel, random: Any) -> Iterator[Claim]:
    """The entities are drawn anew each time: intervals speak of entities like these; an entity's own of its talks."""
    names = [f"E{place}" for place in range(panel.entities)]
    own = dict(zip(names, random.normal(panel.centre, panel.own, panel.entities), strict=True))
    tally = SpeechTally(repeated=panel.times > 1)
    for cast in combinations(names, panel.size):
        for _ in range(panel.times):
            talk = random.normal(0, panel.shared)
            given = {name: own[name] + talk + random.normal(0, panel.alone) for name in cast}
            rated = [(name, float(min(5, max(1, round(value))))) for name, value in given.items()]
            tally.completed("", cast, (), rated)
    mean = group_mean("rating", tally.entities, SCALE)
    assert mean is not None
    yield Claim("ratings: mean over entities", "all", mean.mean, mean.ci95)
    entities = [Entity(name, "", {"side": "left" if place % 2 else "right"}) for place, name in enumerate(names)]
    found = compare_by_attribute(entities, tally.entities, SCALE)["side"]
    for group in found.groups:
        assert group.rating is not None
        yield Claim("ratings: mean by attribute", group.value, group.rating.mean, group.rating.ci95)
    test = found.tests.rating
    if test is not None:
        yield Claim("ratings: test by attribute", "side", 0.0, None, p_value=test.p_value, null=True)
