from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.evaluator import (
    LEAST_KEPT,
    Rung,
    calls_in,
    calls_saved,
    comparable,
    rungs,
    survivors,
)


def test_a_race_halves_the_field_and_doubles_the_problems() -> None:
    assert rungs(problems=100, genomes=45) == (
        Rung(0, 6, 45, 23),
        Rung(6, 12, 23, 12),
        Rung(12, 25, 12, 6),
        Rung(25, 50, 6, 3),
        Rung(50, 100, 3, 2),
        Rung(0, 100, 2, 2, look=1),
    )


def test_without_racing_everybody_meets_everything_once() -> None:
    assert rungs(100, 45, racing=False) == (Rung(0, 100, 45, 45),)


@given(st.integers(1, 300), st.integers(1, 200))
def test_rungs_cover_every_problem_once_before_the_second_look(problems: int, genomes: int) -> None:
    *race, second_look = rungs(problems, genomes)
    assert [place for rung in race for place in range(rung.start, rung.end)] == list(range(problems))
    assert (second_look.start, second_look.end, second_look.look) == (0, problems, 1)
    entrants = [rung.entrants for rung in (*race, second_look)]
    assert entrants == sorted(entrants, reverse=True)
    assert entrants[-1] >= min(genomes, LEAST_KEPT)


@pytest.mark.parametrize(("problems", "genomes"), [(100, 50), (100, 45), (80, 30), (200, 50)])
def test_racing_asks_at_least_three_times_less(problems: int, genomes: int) -> None:
    made = calls_in(rungs(problems, genomes))
    assert made * 3 <= problems * genomes
    assert calls_saved(problems, genomes, made) == problems * genomes - made


@pytest.mark.parametrize(
    ("scores", "keep", "who"),
    [
        ({0: 0.2, 1: 0.9, 2: 0.5}, 2, [1, 2]),
        ({0: 0.5, 1: 0.5, 2: 0.5}, 2, [0, 1]),
        ({0: 0.1, 1: None, 2: 0.9, 3: 0.5}, 3, [2, 1, 3]),
        ({0: None, 1: None}, 1, [0]),
    ],
)
def test_the_better_half_goes_on(scores: dict[int, float | None], keep: int, who: list[int]) -> None:
    assert survivors(scores, keep) == who


def test_a_perfect_score_on_few_problems_counts_less_than_a_good_one_on_many() -> None:
    lucky, good, poor, unknown = comparable([1.0, 0.85, 0.2, None], [6, 200, 100, 0])
    assert good > lucky > unknown > poor


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 200)), min_size=1))
def test_doubt_never_turns_two_scores_of_equal_weight_around(scored: list[tuple[float, int]]) -> None:
    scores = [score for score, _ in scored]
    after = comparable(scores, [50] * len(scores))
    order = sorted(range(len(scores)), key=scores.__getitem__)
    assert all(after[a] <= after[b] + 1e-12 for a, b in pairwise(order))


def test_a_race_mostly_keeps_the_truly_best() -> None:
    kept = 0
    for seed in range(100):
        rng = Random(seed)
        chances = [0.4 + 0.02 * place for place in range(20)] + [0.95]
        right = [0] * 21
        field = list(range(21))
        for rung in rungs(64, 21)[:-1]:
            for genome in field:
                right[genome] += sum(rng.random() < chances[genome] for _ in range(rung.start, rung.end))
            field = survivors({genome: right[genome] / rung.end for genome in field}, rung.keep)
        kept += 20 in field
    assert kept >= 85
