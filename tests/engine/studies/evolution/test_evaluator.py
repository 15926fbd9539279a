"""Racing, stop rules, and what a search finds that was planted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.evaluator import MIN_SURVIVORS, Generation, Rung, rungs, stopped_by, survivors


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
