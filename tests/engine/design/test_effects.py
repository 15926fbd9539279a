"""Effects are worked out block by block, and blocks are what is independent."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy
import pytest
from scipy import stats

from tidepool.engine.inference.effects import (
    CellBatch,
    Effect,
    OutcomeTable,
    cell_mean,
    effect,
    in_direction,
    tables_of,
)
from tidepool.engine.inference.hypotheses import Factor, Factors, Weighing, parse_contrast, weigh
from tidepool.engine.inference.measures import PERCENT, BatchValues, Outcome, Talk

TWO = Factors((Factor("a", ("0", "1")),))
CROSSED = Factors((Factor("a", ("0", "1")), Factor("b", ("0", "1"))))
SHARE = Outcome(name="revealed", words="sides that revealed", unit=PERCENT, bounds=(0.0, 1.0))
POINTS = Outcome(name="score", words="points", bounds=(0.0, 10.0))
ONE_NUMBER = Outcome(name="accuracy", words="accuracy", bounds=(0.0, 1.0), per_talk=False)
Batches = Sequence[Sequence[float | None]]
"""by cell; of one replicate"""


def table_of(
    factors: Factors,
    replicates: Sequence[Batches],
    outcome: Outcome = POINTS,
    talks_in_game: int = 0,
    drawn: Any = lambda cell, number: "Ada and Bob",
) -> OutcomeTable:
    batches = []
    for replicate, cells in enumerate(replicates, 1):
        for cell, values in zip(factors.cells, cells, strict=True):
            talks = [
                Talk(number, number // talks_in_game if talks_in_game else 0, 0, drawn(cell, number))
                for number in range(len(values))
            ]
            linked = BatchValues(talks=talks, by_talk={outcome.name: values}, linked=talks_in_game > 0)
            batches.append(CellBatch(cell, replicate, linked))
    return tables_of([outcome], factors.cells, batches)[outcome.name]


def runs_of(factors: Factors, runs: Batches) -> OutcomeTable:
    """One number a batch: by cell, a list over replicates."""
    batches = [
        CellBatch(cell, replicate, BatchValues(of_batch={ONE_NUMBER.name: value}))
        for cell, values in zip(factors.cells, runs, strict=True)
        for replicate, value in enumerate(values, 1)
    ]
    return tables_of([ONE_NUMBER], factors.cells, batches)[ONE_NUMBER.name]


def asked(text: str, factors: Factors) -> Weighing:
    found = weigh(parse_contrast(text, factors), factors, factors.cells)
    assert found is not None
    return found


def drawn_values(number: int, seed: int = 0) -> list[float]:
    return [float(value) for value in numpy.random.default_rng(seed).integers(0, 11, number)]


def as_student(found: Effect, differences: Sequence[float]) -> None:
    expected = stats.ttest_1samp(differences, 0)
    assert found.difference == pytest.approx(numpy.mean(differences))
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_talks_that_a_game_links_are_one_difference_a_game() -> None:
    first, second = drawn_values(48), drawn_values(48, 1)
    found = effect(table_of(TWO, [[first, second]], talks_in_game=4), asked("a: 1 - 0", TWO))
    gaps = numpy.array(second) - numpy.array(first)
    as_student(found, gaps.reshape(12, 4).mean(axis=1).tolist())
    assert (found.units, found.number) == ("games", 12)
    assert found.note == "only 12 games: below 24, intervals can be too narrow"


def test_four_games_have_an_interval_and_no_verdict() -> None:
    table = table_of(TWO, [[drawn_values(16), drawn_values(16, 1)]], talks_in_game=4)
    found = effect(table, asked("a: 1 - 0", TWO))
    assert found.interval and found.p_value is None and found.note.startswith("no verdict: 4 games, a test needs 10")


def test_two_entities_have_no_verdict() -> None:
    table = table_of(TWO, [[drawn_values(12), drawn_values(12, 1)]])
    found = effect(replace(table, members=numpy.array([[0, 1]] * 12)), asked("a: 1 - 0", TWO))
    assert (found.units, found.number, found.estimand) == ("entities", 2, "entities like these")
    assert found.p_value is None and found.note.startswith("no verdict: 2 entities, a test needs 10")


@pytest.mark.parametrize("entities", [12, 22])
def test_an_entity_that_is_in_every_conversation_leaves_no_verdict(entities: int) -> None:
    table = table_of(TWO, [[drawn_values(30), drawn_values(30, 1)]])
    members = numpy.array([[0, 1 + number % (entities - 1)] for number in range(30)])
    found = effect(replace(table, members=members), asked("a: 1 - 0", TWO))
    assert found.interval is found.p_value is None and found.note == "no verdict: one entity is in every conversation"


def test_games_of_several_replicates_are_different_games() -> None:
    replicates = [[drawn_values(4, seed), drawn_values(4, seed + 50)] for seed in range(10)]
    found = effect(table_of(TWO, replicates, talks_in_game=4), asked("a: 1 - 0", TWO))
    assert (found.units, found.number) == ("games", 10) and found.p_value is not None


def test_talks_in_which_others_met_are_not_matched_so_replicates_count() -> None:
    replicates = [[drawn_values(5, seed), drawn_values(5, seed + 50)] for seed in range(6)]
    unlike = table_of(TWO, replicates, drawn=lambda cell, number: f"{cell[0]} meets {number}")
    found = effect(unlike, asked("a: 1 - 0", TWO))
    as_student(found, [numpy.mean(second) - numpy.mean(first) for first, second in replicates])
    assert (found.units, found.number) == ("replicates", 6)


def test_a_talk_that_failed_leaves_the_others_matched() -> None:
    """Nobody knows over what it would have been, since its scenario is not in the file."""
    values = [[1.0, 0.0, None, *[1.0] * 9], [0.0] * 12]
    table = table_of(
        TWO, [values], drawn=lambda cell, number: "" if (cell, number) == (("0",), 2) else f"over {number}"
    )
    found = effect(table, asked("a: 1 - 0", TWO))
    assert (found.units, found.number, found.left_out) == ("talks", 11, 1)


def test_other_factors_may_change_who_meets() -> None:
    """A difference is taken within their levels, where the same met."""
    cells = [drawn_values(25, seed) for seed in range(4)]
    table = table_of(CROSSED, [cells], drawn=lambda cell, number: f"{cell[1]} meets {number}")
    assert effect(table, asked("a: 1 - 0", CROSSED)).units == "talks"
    assert effect(table, asked("b: 1 - 0", CROSSED)).units == "replicates"


def test_a_level_that_says_how_many_are_drawn_makes_replicates_the_units() -> None:
    counted = Factors((Factor("a", ("0", "1"), frozenset({"secret_game.num_interactions"})),))
    found = effect(table_of(counted, [[drawn_values(25), drawn_values(25, 1)]] * 2), asked("a: 1 - 0", counted))
    assert (found.units, found.number) == ("replicates", 2)
    shorter = table_of(counted, [[[1.0, None], [1.0, 2.0, 3.0, 4.0]]])
    assert [cell_mean(shorter, cell).missing for cell in counted.cells] == [1, 0], (
        "what was never planned is not missing"
    )


@pytest.mark.parametrize(("number", "note"), [(5, "too few for a verdict: 5 of 6 replicates"), (6, "")])
def test_one_number_a_batch_is_counted_by_replicates_and_six_have_a_verdict(number: int, note: str) -> None:
    runs = [[0.1 * value for value in drawn_values(number, seed)] for seed in (3, 4)]
    found = effect(runs_of(TWO, runs), asked("a: 1 - 0", TWO))
    assert found.interval and found.note == note and (found.p_value is None) == bool(note)
    expected = stats.ttest_rel(runs[1], runs[0])
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_one_replicate_has_a_difference_and_no_interval() -> None:
    found = effect(runs_of(TWO, [[0.5], [0.6]]), asked("a: 1 - 0", TWO))
    assert found.difference == pytest.approx(0.1) and found.interval is None and found.p_value is None


def test_replicates_that_all_give_the_same_difference_have_no_verdict() -> None:
    found = effect(runs_of(TWO, [[0.5] * 6, [0.75] * 6]), asked("a: 1 - 0", TWO))
    assert found.p_value is None and found.note == "no verdict: every replicate gave the same difference"


def test_nothing_in_common_is_told() -> None:
    found = effect(table_of(TWO, [[[1.0, None], [None, 2.0]]]), asked("a: 1 - 0", TWO))
    assert (found.difference, found.number, found.left_out) == (None, 0, 2) and found.note.startswith("no result")


@pytest.mark.parametrize(("direction", "p_value"), [("two-sided", 0.04), ("less", 0.02), ("greater", 0.98)])
def test_a_direction_halves_the_p_value_or_turns_it_round(direction: Any, p_value: float) -> None:
    assert in_direction(0.04, -1.0, direction) == pytest.approx(p_value)
    assert in_direction(None, -1.0, direction) is None


def test_the_mean_of_a_cell_is_over_its_replicates_and_its_interval_by_what_hangs_together() -> None:
    open_talks, closed = [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]
    replicates: list[Batches] = [[values, values] for values in (open_talks, closed) * 6]
    alone = cell_mean(table_of(TWO, replicates, SHARE), ("0",))
    linked = cell_mean(table_of(TWO, replicates, SHARE, talks_in_game=4), ("0",))
    assert alone.mean == linked.mean == 0.5 and alone.talks == 48
    assert alone.interval and linked.interval
    assert linked.interval[1] - linked.interval[0] > 1.8 * (alone.interval[1] - alone.interval[0])


def test_an_outcome_without_bounds_has_students_intervals() -> None:
    free = Outcome(name="score", words="points")
    values = drawn_values(25)
    table = table_of(TWO, [[values, drawn_values(25, 1)]], free)
    found = cell_mean(table, ("0",))
    expected = stats.t.interval(0.95, 24, numpy.mean(values), stats.sem(values))
    assert found.interval == pytest.approx(expected)
    assert effect(table, asked("a: 1 - 0", TWO)).p_value is not None
