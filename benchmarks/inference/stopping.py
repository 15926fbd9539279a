"""Do stop rules stop rightly? Planted tables of conversations, shown to the very rule that a batch has.

`decided`: how often does it ever exclude the truth, how much does it save, and what does it lose beside a fixed length?
`half_width`: does the interval still cover where looking at it made it end? No model is asked.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy

from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import StopWhenSure
from tidepool.engine.runtime.stop_results import Stopping
from tidepool.engine.runtime.stop_rules import StopRule
from tidepool.engine.studies.secret_game.expectations import WatchedGame, game_rounds
from tidepool.engine.studies.secret_game.pairing import Schedule
from tidepool.engine.studies.secret_game.sides import SideOutcome

ALIKE = 0.3
"""correlation of the two sides of a talk"""
NAMES = ("Ada", "Bob", "Cleo", "Dion")
MOST = 511
"""talks that a fixed length needs for 80 % power at 5 points from a line of one half: 7.84 · 0.25 · 1.3 / 2 / 0.05²"""
PLANNED = 0.05
RUNS, WIDE_RUNS, SAVED_RUNS = 500, 200, 100
FIXED = {0.1: 250, 0.3: 583, 0.5: 694}
"""talks that a half-width of 3 points needs if the rate is known: 1.96² · p(1−p) · 1.3 / 2 / 0.03²"""


@dataclass(frozen=True)
class World:
    """Who talks, how often each agent reveals, and what is asked."""

    name: str
    rates: tuple[float, ...]
    rule: StopWhenSure
    truth: float
    talks: int = MOST
    games: int = 0
    """linked ones; within a game talks are as alike as sides within a talk"""
    failing: float = 0.0


def run(world: World, random: Any) -> Stopping:
    schedule = Schedule(NAMES[: len(world.rates)], games=world.games or 1, num_interactions=world.talks)
    difference = world.rule.difference
    agents = tuple(difference.split(" - ")) if difference else (world.rule.agent,) if world.rule.agent else ()
    bounds = (-1.0, 1.0) if difference else (0.0, 1.0)
    rounds = game_rounds(schedule, bool(agents))
    watched = WatchedGame(schedule, world.rule.outcome, agents, bounds, bool(world.games), rounds)
    rule, talks = StopRule(world.rule, watched), list(_talks(world, schedule, random))
    while rule.next_end is not None and rule.stopped_at is None:
        block = [side for talk in talks[rule.done : rule.next_end] for side in talk]
        rule.look(watched.take_in_rows(block, rule.next_end))
    return rule.stopping(world.talks)


def _talks(world: World, schedule: Schedule, random: Any) -> Iterator[list[SideOutcome]]:
    """With the chance `ALIKE` both sides hang on one draw, else each on its own; likewise the talks of a linked game."""
    rates = dict(zip(NAMES, world.rates, strict=False))
    draws = random.random((world.talks, 5))
    shared = random.random(world.games + 1)
    for meeting, (own, other, both, alike, lost) in zip(schedule.meetings(), draws.tolist(), strict=True):
        if alike < ALIKE:
            own = other = both
        if world.games and random.random() < ALIKE:
            own = other = shared[meeting.game]
        first, second = own < rates[meeting.opener], other < rates[meeting.partner]
        number, game = meeting.sequence_number, meeting.game
        yield (
            []
            if lost < world.failing
            else [
                SideOutcome(number, game, meeting.opener, meeting.partner, True, first, second),
                SideOutcome(number, game, meeting.partner, meeting.opener, False, second, first),
            ]
        )


def told(world: World, runs: int, seed: int = 1) -> list[Stopping]:
    random = numpy.random.default_rng(seed)
    return [run(world, random) for _ in range(runs)]


def _rate(line: float, **more: Any) -> StopWhenSure:
    return StopWhenSure(outcome="revealed", decided=True, line=line, **more)


def _difference(line: float) -> StopWhenSure:
    return StopWhenSure(outcome="revealed", decided=True, line=line, difference="Ada - Bob")


TRUE_LINES = (
    World("two equal agents", (0.5, 0.5), _rate(0.5), 0.5),
    World("four different agents", (0.1, 0.3, 0.7, 0.9), _rate(0.5), 0.5),
    World("a rare reveal", (0.05,) * 4, _rate(0.05), 0.05),
    World("one of four different agents", (0.3, 0.1, 0.7, 0.9), _rate(0.3, agent="Ada"), 0.3),
    World("two equal agents among four", (0.4, 0.4, 0.8, 0.1), _difference(0.0), 0.0),
    World("two that differ by 0.3", (0.6, 0.3), _difference(0.3), 0.3),
    World("a tenth of the conversations fail", (0.1, 0.3, 0.7, 0.9), _rate(0.5), 0.5, failing=0.1),
    World("a hundred linked games", (0.5,) * 4, _rate(0.5), 0.5, talks=600, games=100),
)
"""the truth lies on the line: whatever is decided is wrong"""
OFF = tuple(
    (factor, World(f"{name}, {factor:g} × planned", tuple(rate + factor * PLANNED for rate in rates), _rate(0.5), 0.5))
    for name, rates in (("two agents", (0.5, 0.5)), ("four different agents", (0.2, 0.4, 0.6, 0.8)))
    for factor in (0.5, 1, 2, 4)
)
WIDE = tuple(
    World(f"rate {rate:g}", (rate,) * 4, StopWhenSure(outcome="revealed", half_width=0.03), rate, 2_000)
    for rate in FIXED
)


def prove(runs: int = RUNS, wide_runs: int = WIDE_RUNS) -> Iterator[Measurement]:
    with ProcessPoolExecutor(2) as pool:
        wrong = [pool.submit(told, world, runs) for world in TRUE_LINES]
        saved = [pool.submit(told, world, min(runs, SAVED_RUNS)) for _, world in OFF]
        wide = [pool.submit(told, world, wide_runs) for world in WIDE]
        yield from _wrong([(world, one.result()) for world, one in zip(TRUE_LINES, wrong, strict=True)])
        for (factor, world), one in zip(OFF, saved, strict=True):
            yield from _saved(factor, world, one.result())
        for world, one in zip(WIDE, wide, strict=True):
            yield from _wide(world, one.result())


def _wrong(found: Sequence[tuple[World, list[Stopping]]]) -> Iterator[Measurement]:
    for world, ends in found:
        share = 100 * fmean(one.stopped_at is not None for one in ends)
        yield at_most(f"decided: ever excludes the truth, {world.name}, {len(ends):,} runs", share, "%", 5.0)


def _saved(factor: float, world: World, ends: Sequence[Stopping]) -> Iterator[Measurement]:
    saved = 100 * fmean(1 - (one.stopped_at or one.max) / one.max for one in ends)
    sure = 100 * fmean(one.verdict == "above" for one in ends)
    fixed = {0.5: 29, 1: 80}.get(factor, 100)
    note = f"decided in {sure:.0f} %; a fixed length of the same most finds it in about {fixed} %"
    least = 40.0 if factor >= 2 else 0.0
    yield at_least(f"decided: conversations saved, {world.name}", saved, "%", least, note)


def _wide(world: World, ends: Sequence[Stopping]) -> Iterator[Measurement]:
    covered = [one.interval is not None and one.interval[0] <= world.truth <= one.interval[1] for one in ends]
    length = fmean(one.stopped_at or one.max for one in ends)
    fixed = FIXED[world.truth]
    yield at_least(f"half_width 0.03, {world.name}: coverage, {len(ends):,} runs", 100 * fmean(covered), "%", 93.0)
    note = f"stops after {length:.0f} conversations on average; {fixed} are needed where the rate is known"
    yield at_most(
        f"half_width 0.03, {world.name}: mean length off the fixed one", 100 * abs(length / fixed - 1), "%", 5.0, note
    )
