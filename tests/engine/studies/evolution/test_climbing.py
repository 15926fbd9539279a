"""The rules together, on the solver's landscape: no engine, no storage, every call answered at once."""

from functools import lru_cache
from random import Random
from statistics import fmean

import pytest

from tests.engine.studies.evolution.pure_evolution import Outcome, PureEvolution
from tests.support.solver_truth import true_accuracy
from tidepool.engine.studies.evolution.problems.problem_set import generate

SEEDS = range(3)
QUESTIONS = tuple(problem.question for problem in generate("arithmetic", 600, Random(99)))


def truth(prompt: str) -> float:
    return true_accuracy(prompt, QUESTIONS)


@lru_cache(maxsize=1)
def raced() -> list[Outcome]:
    return [PureEvolution(seed, population=30, generations=10, training=80).run() for seed in SEEDS]


def test_the_champion_beats_the_best_seed_on_held_out_problems() -> None:
    assert sum(run.comparison.better == "champion" for run in raced()) >= len(SEEDS) - 1


def test_evolution_beats_random_search_of_equal_budget() -> None:
    wins = 0
    for seed, run in zip(SEEDS, raced(), strict=True):
        random = PureEvolution(seed, population=30, training=80).random_search(run.calls)
        assert random.calls >= run.calls
        wins += truth(run.champion.prompt) > truth(random.champion.prompt)
    assert wins >= len(SEEDS) - 1


def test_racing_finds_as_good_a_champion_with_three_times_fewer_calls() -> None:
    full = [PureEvolution(seed, population=30, generations=10, training=80, racing=False).run() for seed in range(2)]
    with_racing = raced()[:2]
    assert sum(run.calls for run in full) >= 3 * sum(run.calls for run in with_racing)
    lost = fmean(truth(run.champion.prompt) for run in full) - fmean(truth(run.champion.prompt) for run in with_racing)
    assert lost < 0.04


def test_the_same_seed_evolves_the_same_champion() -> None:
    first, second = (PureEvolution(5, population=12, generations=4, training=20).run() for _ in range(2))
    assert first == second


def test_the_reported_interval_covers_the_true_accuracy() -> None:
    covered, runs = 0, 40
    for seed in range(runs):
        run = PureEvolution(seed, population=8, generations=3, training=10, validation=60).run()
        low, high = run.comparison.champion.ci95 or pytest.fail("nothing was answered")
        covered += low <= truth(run.champion.prompt) <= high
    assert 0.90 <= covered / runs <= 0.99


def test_on_the_flat_landscape_hardly_anything_is_claimed() -> None:
    runs = 40
    found = [
        PureEvolution(seed, 8, 3, training=10, validation=60, model="flat-solver").run().comparison.better
        for seed in range(runs)
    ]
    assert sum(better is not None for better in found) <= 0.05 * runs
