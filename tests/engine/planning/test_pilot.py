"""A pilot tells of rates, likeness and matching as ranges, and is not asked where it saw too little."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy
import pytest

from tidepool.engine.inference.effects import CellBatch, tables_of
from tidepool.engine.inference.measures import PERCENT, BatchValues, Outcome, Talk
from tidepool.engine.inference.power import Layout, noise_variance
from tidepool.engine.planning.assumptions import Assumptions
from tidepool.engine.planning.pilot import Pilot, apply_pilot

SHARE = Outcome(name="revealed", words="sides that revealed", unit=PERCENT, bounds=(0.0, 1.0))
RATING = Outcome(name="rating", words="rating", bounds=(1.0, 5.0))
ACCURACY = Outcome(name="accuracy", words="accuracy", unit=PERCENT, bounds=(0.0, 1.0), per_talk=False)
ASSUMED = Assumptions({}).worlds(SHARE) or ()
TALKS = Layout(talks=100, each=2)


def pilot(cells: Sequence[Any], games: int = 0) -> Pilot:
    """Of the values of talks, cell by cell."""
    batches = []
    for place, values in enumerate(cells):
        talks = [Talk(number + 1, number % games if games else 0) for number in range(len(values))]
        by_talk = {SHARE.name: list(map(float, values))}
        batches.append(CellBatch((str(place),), 1, BatchValues(talks=talks, by_talk=by_talk, linked=bool(games))))
    return Pilot("p", "secret_game", tables_of([SHARE], [batch.cell for batch in batches], batches))


def test_rate_spread_and_matching_are_ranges_around_what_was_seen() -> None:
    random = numpy.random.default_rng(1)
    common = random.random((60, 2))
    cells = [(numpy.where(random.random((60, 2)) < 0.7, common, random.random((60, 2))) < 0.4).mean(1) for _ in "ab"]
    found = apply_pilot(pilot(cells), SHARE, TALKS, ASSUMED)
    assert not found.refusal
    least, middle, most = found.worlds
    assert middle.rate == pytest.approx(numpy.mean(cells))
    assert (least.talk or 0) * least.rate * (1 - least.rate) < numpy.var(cells) < (most.talk or 0) * 0.25  # type: ignore[operator]
    assert most.matched < middle.matched < least.matched and middle.matched == pytest.approx(
        numpy.corrcoef(*cells)[0, 1], abs=0.05
    )


def test_talks_of_a_game_are_seen_to_hang_together_only_where_it_links_them() -> None:
    random = numpy.random.default_rng(2)
    whole_games = random.random(10) < 0.5
    values = [whole_games[number % 10] for number in range(60)]
    linked, free = (apply_pilot(pilot([values], games), SHARE, TALKS, ASSUMED) for games in (10, 0))
    assert "game" not in free.ranges
    values[:10] = random.random(10) < 0.5
    low, middle, high = apply_pilot(pilot([values], 10), SHARE, TALKS, ASSUMED).ranges["game"]
    assert 0.3 < low < middle < high <= 1
    assert linked.worlds[1].game >= 0.1


def test_ratings_tell_how_much_entities_differ_and_what_a_conversation_adds() -> None:
    """Twelve entities in all pairs, twice: entities of variance 0.8, conversations of 0.1 beside."""
    random = numpy.random.default_rng(5)
    casts = list(combinations([f"e{number}" for number in range(12)], 2)) * 2
    own = {f"e{number}": random.normal(0, math.sqrt(0.8)) for number in range(12)}
    ratings = [3 + (own[a] + own[b]) / 2 + random.normal(0, math.sqrt(0.1)) for a, b in casts]
    talks = [Talk(number, drawn="-".join(cast), members=cast) for number, cast in enumerate(casts, 1)]
    batch = CellBatch((), 1, BatchValues(talks=talks, by_talk={RATING.name: ratings}))
    seen = Pilot("p", "simulation", tables_of([RATING], [()], [batch]))
    layout = Layout(talks=180, each=2, entities=12)
    found = apply_pilot(seen, RATING, layout, Assumptions({}).worlds(RATING) or ())
    low, middle, high = found.ranges["sd between entities"]
    assert low < middle < high and middle == pytest.approx(numpy.std(list(own.values()), ddof=1), rel=0.05)
    noises = [180 * noise_variance(world, layout) for world in found.worlds]
    assert noises[0] < 0.1 < noises[2] and noises[1] == pytest.approx(0.1, rel=0.25)


@pytest.mark.parametrize(("events", "words"), [(4, "4 events"), (196, "4 non-events")])
def test_fewer_than_ten_events_or_non_events_are_refused_in_favour_of_what_is_assumed(events: int, words: str) -> None:
    sides = numpy.arange(200) < events
    found = apply_pilot(pilot([sides.reshape(100, 2).mean(1)]), SHARE, TALKS, ASSUMED)
    assert words in found.refusal and found.worlds == tuple(ASSUMED)


def test_a_pilot_does_not_say_how_much_batches_differ() -> None:
    batches = [CellBatch((), place, BatchValues(of_batch={"accuracy": one})) for place, one in enumerate((0.4, 0.6), 1)]
    layout, assumed = Layout(talks=100, replicates=8), Assumptions({}).worlds(ACCURACY) or ()
    found = apply_pilot(Pilot("p", "evolution", tables_of([ACCURACY], [()], batches)), ACCURACY, layout, assumed)
    assert "does not show how much batches differ" in found.refusal
    assert {world.rate for world in found.worlds} == {0.5}
    assert [world.between for world in found.worlds] == [world.between for world in assumed]
