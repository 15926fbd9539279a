"""Fitness and diversity as tables of cases."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.config import WeightSettings
from tidepool.engine.studies.evolution.fitness import Rates, adapt_rates, consistency, fitness_of, mean_distance
from tidepool.engine.studies.evolution.tasks.verdict import Verdict

RIGHT, WRONG, SILENT = Verdict("4", True, 150), Verdict("5", False, 150), Verdict(None, False, 150)


def test_fitness_is_the_weighted_sum() -> None:
    fitness = fitness_of([[RIGHT], [WRONG], [SILENT], [RIGHT]], "Think.", 0.6, WeightSettings())
    assert fitness is not None
    assert (fitness.accuracy, fitness.consistency, fitness.efficiency) == (0.5, 0.75, 0.5)
    assert fitness.total == pytest.approx(0.7 * 0.5 + 0.15 * 0.75 + 0.1 * 0.5 + 0.05 * 0.6)


@pytest.mark.parametrize(
    ("answered", "agreement"),
    [
        ([[RIGHT], [SILENT]], 0.5),
        ([[RIGHT, RIGHT, WRONG, SILENT]], 0.5),
        ([[WRONG, WRONG]], 1.0),
        ([[SILENT, SILENT]], 0.0),
        ([[RIGHT, RIGHT], [SILENT]], 1.0),
    ],
)
def test_consistency_is_agreement_or_having_an_answer(answered: list[list[Verdict]], agreement: float) -> None:
    assert consistency(answered) == agreement


@pytest.mark.parametrize(
    ("prompts", "distance"),
    [
        ([], 0.0),
        (["abc"], 0.0),
        (["abc", "abc"], 0.0),
        (["abcd", "abcx"], 0.25),
        (["aaaa", "bbbb"], 1.0),
        (["ab", "ab", "cd"], 2 / 3),
    ],
)
def test_distance_is_the_mean_over_pairs(prompts: list[str], distance: float) -> None:
    assert mean_distance(prompts, Random(1)) == pytest.approx(distance)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_rates_stay_within_their_bounds(crossover: float, mutation: float, diversity: float) -> None:
    rates = adapt_rates(Rates(crossover, mutation), diversity)
    assert 0.5 * mutation <= rates.mutation <= max(mutation, min(0.9, 3 * mutation)) + 1e-12
    assert 0.7 * crossover - 1e-12 <= rates.crossover <= min(1.0, 1.1 * crossover) + 1e-12
