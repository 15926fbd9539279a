"""Half-widths, powers and smallest differences follow from what is assumed, and are told by the units that reports count."""

import math

import pytest

from tidepool.engine.errors import UsageError
from tidepool.engine.inference.distributions import student_quantile
from tidepool.engine.inference.measures import PERCENT, Outcome
from tidepool.engine.inference.power import Comparison, Layout, World, beyond, half_width, power, smallest
from tidepool.engine.planning.assumptions import Assumptions

SHARE = Outcome(name="revealed", words="sides that revealed", unit=PERCENT, bounds=(0.0, 1.0))
RATING = Outcome(name="rating", words="rating", bounds=(1.0, 5.0))


def two(layout: Layout, alike: str = "", outcome: Outcome = SHARE, **more: object) -> Comparison:
    return Comparison(words="two", outcome=outcome, layout=layout, alike=alike, **more)  # type: ignore[arg-type]


def test_a_half_width_is_that_of_half_as_many_talks_as_sides_that_are_alike() -> None:
    """SE² = p(1−p)(1+ρ)/2n."""
    error = math.sqrt(0.3 * 0.7 * 1.3 / 2 / 1000)
    found = half_width(World(rate=0.3, correlation=0.3), Layout(talks=1000, each=2))
    assert found == pytest.approx(1.96 * error, rel=0.01)


@pytest.mark.parametrize("each", [2, 3])
def test_values_that_cancel_within_a_talk_leave_no_width(each: int) -> None:
    world, layout = World(rate=0.3, correlation=-1.0), Layout(talks=10, each=each)
    assert (half_width(world, layout), smallest(world, two(layout))) == (0.0, 0.0)


@pytest.mark.parametrize(("rate", "difference"), [(0.1, 0.05), (0.3, 0.1), (0.5, 0.1)])
def test_as_many_talks_an_arm_as_the_formula_asks_for_have_eighty_per_cent(rate: float, difference: float) -> None:
    spread = sum(p * (1 - p) for p in (rate, rate + difference)) * 1.3 / 2
    talks = (1.95996 + 0.84162) ** 2 * spread / difference**2
    world, comparison = World(rate=rate, correlation=0.3), two(Layout(talks=talks, each=2))
    assert power(world, comparison, difference) == pytest.approx(0.8, abs=0.005)
    assert smallest(world, comparison) == pytest.approx(difference, rel=0.01)


@pytest.mark.parametrize(("freedom", "away", "chance"), [(4, 3.5, 0.74487), (9, 3.0, 0.76116), (30, 2.5, 0.67703)])
def test_power_with_few_clusters_is_that_of_the_noncentral_distribution(
    freedom: int, away: float, chance: float
) -> None:
    """As scipy's `nct` has it."""
    assert beyond(away, student_quantile(freedom, 0.975), freedom) == pytest.approx(chance, abs=1e-4)


def test_what_hangs_together_counts_for_less_and_what_is_matched_for_more() -> None:
    world = World(rate=0.3, correlation=0.3, game=0.2, matched=0.5)
    free, linked = Layout(talks=200, each=2), Layout(talks=200, each=2, games=20)
    sizes = [smallest(world, one) or 1.0 for one in (two(free, "matched"), two(free), two(linked))]
    assert sizes == sorted(sizes) and sizes[0] < 0.8 * sizes[1] < 0.6 * sizes[2]


def test_an_interaction_and_a_correction_take_more_and_a_stated_direction_less() -> None:
    world, layout = World(sd=1.0), Layout(talks=100)
    plain = smallest(world, two(layout, "matched", RATING)) or 0
    crossed = smallest(world, two(layout, "matched", RATING, weights=(1, -1, -1, 1)))
    corrected = smallest(world, two(layout, "matched", RATING, tests=4)) or 0
    one_sided = smallest(world, two(layout, "matched", RATING, direction="less")) or 0
    assert crossed == pytest.approx(math.sqrt(2) * plain, rel=1e-6)
    assert one_sided < plain < corrected


def test_a_rate_that_can_fall_no_further_has_no_smallest_difference() -> None:
    world = World(rate=0.05, correlation=0.3)
    assert smallest(world, two(Layout(talks=40, each=2), direction="less")) is None
    assert smallest(world, two(Layout(talks=40, each=2), direction="greater"))


def test_two_simulations_of_the_same_entities_differ_by_their_conversations_and_by_how_entities_react() -> None:
    """Main effects of entities cancel; the jackknife counts the noise of a pair's conversation nearly twice."""
    pairs = two(Layout(talks=180, each=2, entities=20), outcome=RATING)
    alone = two(Layout(talks=180, each=1, entities=20), outcome=RATING)
    quiet, loud = World(sd=1.0, entity=0.8), World(sd=1.0, entity=0.2)
    assert smallest(quiet, pairs) == pytest.approx((smallest(loud, pairs) or 0) / 2, rel=1e-3)
    widths = [half_width(world, pairs.layout, RATING.bounds) or 0 for world in (loud, quiet)]
    assert widths[1] > 1.3 * widths[0]
    reactions = [smallest(World(sd=1.0, entity=0.5, reaction=reaction), pairs) or 9 for reaction in (0.0, 0.1, 0.3)]
    assert reactions == sorted(reactions) and reactions[2] > 1.5 * reactions[0]
    # The noise of a rating alone counts once; that of a pair, which shares all of it, 38/18 times in the jackknife.
    error, limit = math.sqrt(2 * 0.5 / 180), student_quantile(19, 0.975)
    assert power(World(sd=1.0, entity=0.5), alone, 0.3) == pytest.approx(beyond(0.3 / error, limit, 19))
    shared = World(sd=1.0, entity=0.5, correlation=0.5)
    assert power(shared, pairs, 0.3) == pytest.approx(beyond(0.3 / error, limit * math.sqrt(38 / 18), 19))


@pytest.mark.parametrize("counted", ["games", "scenarios", "entities"])
def test_fewer_than_ten_clusters_have_no_verdict(counted: str) -> None:
    few, enough = (two(Layout(talks=900, each=2, **{counted: number})) for number in (9, 10))  # type: ignore[arg-type]
    assert few.layout.too_few == f"no verdict: 9 {counted}, a test needs 10" and smallest(World(rate=0.3), few) is None
    assert not enough.layout.too_few and smallest(World(rate=0.3), enough)


def test_entities_that_are_in_every_conversation_have_neither_interval_nor_verdict() -> None:
    layout = Layout(talks=100, each=12, entities=12)
    assert half_width(World(sd=1.0), layout, RATING.bounds) is None and power(World(sd=1.0), two(layout), 3.0) == 0
    assert layout.too_few == "no verdict: one entity is in every conversation"


def test_assumptions_are_stated_as_one_value_or_a_range() -> None:
    worlds = Assumptions.read(["rate=0.9,0.4", "matched=0.2"]).worlds(SHARE) or ()
    assert [world.rate for world in worlds] == [0.9, pytest.approx(0.65), 0.4], "from least spread to most"
    assert {world.matched for world in worlds} == {0.2}
    assert [world.sd for world in Assumptions({}).worlds(RATING) or ()] == [0.6, 1.0, pytest.approx(1.4)]
    assert Assumptions({}).worlds(Outcome(name="calls", words="calls")) is None


@pytest.mark.parametrize("text", ["rate", "rate=", "rate=1.2", "rate=0", "rat=0.3", "sd=nan", "rate=0.1,0.2,0.3,0.4"])
def test_an_assumption_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--assume"):
        Assumptions.read([text])
