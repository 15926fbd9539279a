"""Racing, stop rules, what a search finds that was planted, and what fitness and verdicts come to."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.config import WeightSettings
from tidepool.engine.studies.evolution.evaluator import MIN_SURVIVORS, Generation, Rung, rungs, stopped_by, survivors
from tidepool.engine.studies.evolution.fitness import Rates, adapt_rates, consistency, fitness_of, mean_distance
from tidepool.engine.studies.evolution.tasks.verdict import Unmarked, Verdict, stored_verdict


def test_a_race_halves_the_field_and_doubles_the_problems() -> None:
    assert rungs(problems=100, genomes=45) == (
        Rung(0, 6, 45, 23),
        Rung(6, 12, 23, 12),
        Rung(12, 25, 12, 6),
        Rung(25, 50, 6, 3),
        Rung(50, 100, 3, 2),
        Rung(0, 100, 2, 2, look=1),
    )


@given(st.integers(1, 300), st.integers(1, 200))
def test_rungs_cover_every_problem_once_before_the_second_look(problems: int, genomes: int) -> None:
    *race, second_look = rungs(problems, genomes)
    assert [place for rung in race for place in range(rung.start, rung.end)] == list(range(problems))
    assert (second_look.start, second_look.end, second_look.look) == (0, problems, 1)
    entrants = [rung.entrants for rung in (*race, second_look)]
    assert entrants == sorted(entrants, reverse=True)
    assert entrants[-1] >= min(genomes, MIN_SURVIVORS)


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


def history(*best: float, diversity: float = 0.5) -> list[Generation]:
    return [Generation(number, value, value / 2, diversity) for number, value in enumerate(best)]


@pytest.mark.parametrize(
    ("past", "reason"),
    [
        ([], None),
        (history(0.5, 0.6), None),
        (history(0.5, 0.85), "target_fitness"),
        (history(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), "max_generations"),
        (history(0.1, 0.2, 0.3, 0.4, 0.5, 0.9), "target_fitness"),
        (history(0.5, 0.5, 0.5, 0.5), "stagnation"),
        (history(0.5, 0.5, 0.5), None),
        (history(0.5, 0.4, 0.5005, 0.4), "stagnation"),
        (history(0.5, 0.5, 0.5, 0.6), None),
        (history(0.5, 0.6, diversity=0.01), "diversity"),
    ],
)
def test_the_rule_that_ends_a_run_is_named(past: list[Generation], reason: str | None) -> None:
    assert stopped_by(past, target_fitness=0.85, most=6, stagnation=3) == reason


# -- fitness and diversity ----------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "mark",
    [
        Verdict("12", True, 5, 1.0),
        Verdict("0.5", False, 5, 0.5, {"unmarked": 3.0, "note": 1.0, "words": 7.0}),
        Verdict(None, None, 5, unclear="no answer could be read"),
        Verdict(None, True, 5, 1.0, unclear="no answer could be read, and a judge has marked it"),
        Verdict("7", True, 5, 1.0, {"unclear": 2.0}),
        Unmarked("the judge gave no clear rating"),
    ],
)
def test_a_mark_is_read_back_as_it_was_whatever_its_metrics_are_called(mark: Verdict | Unmarked) -> None:
    empty = {"extracted": None, "correct": None, "score": None, "details": None}
    assert stored_verdict({**empty, **mark.columns()}, 5) == mark
    assert stored_verdict(empty, 5) is None
