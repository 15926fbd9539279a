"""What counts as a block, and what a block comes to."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.support.studies import game
from tidepool import UsageError
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.sections import FrozenConfig, StopWhenSure
from tidepool.engine.studies.secret_game.expectations import WatchedGame
from tidepool.engine.studies.secret_game.pairing import Schedule
from tidepool.engine.studies.secret_game.sides import SideOutcome
from tidepool.engine.studies.study import study_from

HALF = StopWhenSure(outcome="revealed", half_width=0.05)
LINE = StopWhenSure(outcome="revealed", decided=True, line=0.5)
APART = StopWhenSure(outcome="revealed", decided=True, difference="Ada - Bob")
SCENARIOS = [{"opener_secret": f"{word} mill", "partner_secret": f"{word} boat"} for word in ("amber", "violet")]


def _frozen(stop: StopWhenSure | None, talks: int = 960, **settings: Any) -> FrozenConfig:
    return freeze(game(talks, stop=stop, **settings), Path("none.db"))


@pytest.mark.parametrize(
    ("stop", "settings", "block"),
    [
        (HALF, {}, 6),  # four agents: all six pairs
        (LINE, {}, 6),
        (APART, {}, 12),  # and both ways round, so that each opens as often
        (APART, {"talks": 300}, 6),  # too few of those
        (LINE, {"pairing": "ordered"}, 16),
        (LINE, {"pairing": "random"}, 2),
        (LINE, {"mode": "retained", "games": 40}, 24),  # whole games: their talks hang together
        (LINE, {"games": 40}, 6),  # nothing links these
    ],
)
def test_blocks_are_alike(stop: StopWhenSure, settings: dict[str, Any], block: int) -> None:
    watched = study_from(_frozen(stop, **settings)).stop_target()
    assert list(islice(watched.ends(), 3)) == [block, 2 * block, 3 * block]


def test_a_round_that_is_cut_short_ends_no_block() -> None:
    assert list(WatchedGame(Schedule(("A", "B", "C", "D"), num_interactions=13), "revealed", rounds=3).ends()) == [
        6,
        12,
    ]


def _sides(number: int, opener: str, partner: str, revealed: tuple[bool, bool]) -> list[SideOutcome]:
    one, other = revealed
    return [
        SideOutcome(number, 1, opener, partner, True, one, other),
        SideOutcome(number, 1, partner, opener, False, other, one),
    ]


def test_a_talk_that_failed_may_have_been_anything() -> None:
    schedule = Schedule(("A", "B"), num_interactions=4)
    played = [
        *_sides(1, "A", "B", (True, False)),
        *_sides(2, "B", "A", (False, True)),
        *_sides(4, "B", "A", (True, True)),
    ]
    assert WatchedGame(schedule, "revealed").take_in_rows(played, 4) == (4 / 8, 6 / 8)
    assert WatchedGame(schedule, "obtained", ("A",)).take_in_rows(played, 4) == (1 / 4, 2 / 4)
    apart = WatchedGame(schedule, "revealed", ("A", "B"), (-1.0, 1.0))
    assert apart.take_in_rows(played, 4) == (3 / 4 - 2 / 4, 4 / 4 - 1 / 4)


@pytest.mark.parametrize(
    ("stop", "settings", "words"),
    [
        (LINE, {"talks": 50}, "Plan 60 or more"),
        (LINE, {"scenarios": SCENARIOS}, "cannot be used with repeated scenarios"),
        (HALF, {"scenarios": SCENARIOS}, "cannot be used with repeated scenarios"),
        (HALF, {"talks": 90}, "could never stop early"),
        (HALF, {"mode": "retained"}, "needs several games"),
        (StopWhenSure(outcome="revealed", agent="Adda", half_width=0.1), {}, "Did you mean 'Ada'"),
        (StopWhenSure(outcome="revealed", difference="Ada - Eve", decided=True), {}, 'For example: "Ada - Dion"'),
        (StopWhenSure(outcome="revealed", line=1.5, decided=True), {}, "Choose a value inside this range"),
        (StopWhenSure(outcome="revealed", half_width=3.0), {}, "0.03 for 3 points"),
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused_before_anything_is_bought(
    stop: StopWhenSure, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        _frozen(stop, **settings)
