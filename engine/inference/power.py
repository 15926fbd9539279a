"""The precision of a planned study: margins of error, power, and the minimum detectable difference.

All follow from one variance: that of a conversation's value, the correlation of conversations by game, scenario or entity, and
the correlation of the arms of a contrast. With few clusters, widths and power use Student's distribution and its noncentral
form. The jackknife over entities counts the noise of a conversation once for each member, so its variance is larger than the
true one. Power accounts for both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidepool.engine.inference.contrasts import FEWEST_TESTED, IN_EVERY_ONE
from tidepool.engine.inference.distributions import normal_tail, root
from tidepool.engine.inference.hypotheses import FEWEST_REPLICATES, Direction
from tidepool.engine.inference.intervals import LEVEL, UNIT, Interval, quantile, wilson
from tidepool.engine.inference.measures import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One assumption about an outcome, in the outcome's own units (shares from 0 to 1)."""

    rate: float | None = None
    """of a share; None: not a share"""
    sd: float = 0.0
    """of one value that is not a share"""
    correlation: float = 0.0
    matched: float = 0.0
    game: float = 0.0
    scenario: float = 0.0
    entity: float = 0.0
    reaction: float = 0.0
    """how differently entities react to a condition, as the part of `entity` that remains in a paired comparison"""
    between: float = 0.0
    talk: float | None = None
    """observed variance of a conversation's value ÷ that of one value; None: computed from the correlation"""
    each: float = 0.0
    """values per conversation in the observed data"""


WANTED = 0.8
"""the power that a study should have"""
_STEPS = 100
_EDGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The units that an estimate counts."""

    talks: float
    """per batch if batches are counted, else in total"""
    each: float = 1.0
    """values per conversation"""
    games: float = 0
    """number of games that link their conversations; 0: conversations are not linked"""
    scenarios: int = 0
    """number of repeated scenarios; 0: scenarios are not repeated"""
    entities: int = 0
    """number of entities, if they are counted instead of conversations"""
    replicates: int = 0
    """number of batches, if they are counted instead of conversations"""
    called: str = "conversations"
    """the name of the units"""

    @property
    def counted(self) -> dict[str, float]:
        """The units counted instead of conversations, by name."""
        if self.replicates:
            return {"replicates": self.replicates}
        numbers = {"games": self.games, "scenarios": self.scenarios, "entities": self.entities}
        return {name: number for name, number in numbers.items() if number}

    @property
    def clusters(self) -> float:
        return min(self.counted.values(), default=self.talks)

    @property
    def noise_factor(self) -> float:
        """The jackknife's variance without the part of entities ÷ the true variance."""
        if not self.entities:
            return 1.0
        size, others = self.each, self.entities - self.each
        return size * (self.entities - 1) / others if others > 0 else math.inf

    @property
    def units(self) -> str:
        return " and ".join(self.counted) or self.called

    @property
    def too_few(self) -> str:
        """The reason why there will be no verdict, or an empty text."""
        fewest = FEWEST_REPLICATES if self.replicates else FEWEST_TESTED if self.counted else 2
        if self.clusters < fewest:
            return f"no verdict: {self.clusters:,.0f} {self.units}, a test needs {fewest}"
        return IN_EVERY_ONE if math.isinf(self.noise_factor) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """An estimate of a planned study, and the units that it counts."""

    words: str
    outcome: Outcome
    layout: Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Quantity):
    weights: Sequence[float] = (1.0, -1.0)
    alike: str = ""
    """which correlation of a world holds between arms: `matched`, `correlation`, or none if arms are drawn separately"""
    tests: int = 1
    """number of tests that the report corrects together; planned with Holm's first step, which is Bonferroni's"""
    direction: Direction = "two-sided"
    stated: bool = False
    """stated as a hypothesis"""

    @property
    def rise(self) -> float:
        """The change of the contrast for a shift of 1 in all its first arms."""
        return sum(weight for weight in self.weights if weight > 0)


# -- spread ----------------------------------------------------------------------------------------------------


def value_variance(world: World, shift: float = 0.0) -> float:
    if world.rate is None:
        return world.sd**2
    share = min(1 - _EDGE, max(_EDGE, world.rate + shift))
    return share * (1 - share)


def talk_variance(world: World, each: float, shift: float = 0.0) -> float:
    """Returns the variance of the mean of the values of a conversation."""
    seen = world.talk if world.each == each else None
    factor = (1 + (each - 1) * world.correlation) / each if seen is None else seen
    return max(0.0, factor) * value_variance(world, shift)


def noise_variance(world: World, layout: Layout, shift: float = 0.0) -> float:
    """Returns the variance of a mean without the part of entities."""
    of_talk = talk_variance(world, layout.each, shift)
    if layout.entities:
        of_talk = max(0.0, of_talk - world.entity * value_variance(world, shift) / layout.each)
    clusters = ((layout.games, world.game), (layout.scenarios, world.scenario))
    crowding = sum(max(0.0, layout.talks / number - 1) * alike for number, alike in clusters if number)
    of_batch = of_talk / layout.talks * (1 + crowding)
    if layout.replicates:
        return (world.between**2 + of_batch) / layout.replicates
    return of_batch


def mean_variance(world: World, layout: Layout) -> float:
    """Returns the variance of a mean as the report estimates it."""
    own = world.entity * value_variance(world) / layout.entities if layout.entities else 0.0
    return layout.noise_factor * noise_variance(world, layout) + own


def half_width(world: World, layout: Layout, bounds: Interval = UNIT) -> float | None:
    """Returns half the width of the 95 % interval (for values that are not shares, in the middle of the scale), or None."""
    freedom = layout.clusters - 1
    if freedom < 1 or math.isinf(layout.noise_factor):
        return None
    variance, reach = mean_variance(world, layout), quantile(freedom, LEVEL)
    scale = bounds[1] - bounds[0]
    if layout.replicates or not math.isfinite(scale) or not variance:
        return reach * math.sqrt(variance)
    share = 0.5 if world.rate is None else world.rate
    low, high = wilson(share, share * (1 - share) / (variance / scale**2), reach)
    return scale * (high - low) / 2


# -- power -----------------------------------------------------------------------------------------------------


def power(world: World, comparison: Comparison, difference: float) -> float:
    """Returns the probability of detecting the difference."""
    layout = comparison.layout
    arms = 1 if comparison.alike or layout.entities else len(comparison.weights)
    freedom = (layout.clusters - 1) * (1 if layout.replicates else arms)
    if layout.too_few or freedom < 1:
        return 0.0
    noise, reaction = contrast_variance(world, comparison, difference)
    error, estimated = math.sqrt(noise + reaction), math.sqrt(layout.noise_factor * noise + reaction)
    tails = 2 if comparison.direction == "two-sided" else 1
    limit = quantile(freedom, 1 - 2 * (1 - LEVEL) / tails / comparison.tests)
    return beyond(difference / error, limit * estimated / error, freedom) if error else 1.0


def contrast_variance(world: World, comparison: Comparison, difference: float) -> tuple[float, float]:
    """Returns the variance from conversations, and the variance from reactions of entities. Only the first arms are shifted
    by the difference. Positive and negative weights have the same total size."""
    shift, layout = _shift(world, comparison, difference), comparison.layout
    squares = sum(weight**2 for weight in comparison.weights)
    reaction = squares * world.reaction * value_variance(world) / layout.entities if layout.entities else 0.0
    if comparison.alike == "correlation":
        layout = replace(layout, each=1.0)
    first, second = noise_variance(world, layout, shift), noise_variance(world, layout)
    independent = sum(weight**2 * (first if weight > 0 else second) for weight in comparison.weights)
    if not comparison.alike:
        return independent, reaction
    alike, rise = float(getattr(world, comparison.alike)), comparison.rise
    covariance = math.sqrt(first * second) * _at_most_alike(world, shift)
    return max(0.0, (1 - alike) * independent + alike * rise**2 * (first + second - 2 * covariance)), reaction


def _at_most_alike(world: World, shift: float) -> float:
    """Returns the largest possible correlation of two shares, which is below 1 if the shares differ."""
    if world.rate is None:
        return 1.0
    low, high = sorted(min(1 - _EDGE, max(_EDGE, rate)) for rate in (world.rate, world.rate + shift))
    return math.sqrt(low * (1 - high) / (high * (1 - low)))


def _shift(world: World, comparison: Comparison, difference: float) -> float:
    """Returns the shift of the first arms, in the stated direction or else towards 0.5, where a share varies most."""
    up = comparison.direction == "greater" or (comparison.direction == "two-sided" and (world.rate or 0.0) <= 0.5)
    return (difference if up else -difference) / comparison.rise


def most_possible(world: World, comparison: Comparison) -> float:
    low, high = comparison.outcome.bounds
    if world.rate is None:
        return comparison.rise * (high - low) if math.isfinite(high - low) else 1000 * world.sd
    up = _shift(world, comparison, 1.0) > 0
    return comparison.rise * (1 - world.rate if up else world.rate)


def beyond(away: float, limit: float, freedom: float) -> float:
    """Returns the probability that Student's noncentral t exceeds the limit, averaged over estimates of the spread."""
    if math.isinf(away):
        return normal_tail(limit - away)
    width = 6 / math.sqrt(2 * freedom)
    low, high = max(0.0, 1 - width), 1 + width
    total = weights = 0.0
    for index in range(_STEPS):
        spread = low + (index + 0.5) * (high - low) / _STEPS
        density = math.exp((freedom - 1) * math.log(spread) - freedom / 2 * (spread**2 - 1))
        weights += density
        total += density * normal_tail(limit * spread - away)
    return total / weights


def smallest(world: World, comparison: Comparison) -> float | None:
    """Returns the smallest difference detected with the wanted power; None if even the largest possible one is not."""
    most = most_possible(world, comparison) * (1 - _EDGE)
    if power(world, comparison, most) < WANTED:
        return None
    return root(lambda difference: power(world, comparison, difference) - WANTED, 0.0, most)
