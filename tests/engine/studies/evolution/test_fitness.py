"""Fitness, objectives and diversity as tables of cases."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.studies.evolution.running import run, study
from tidepool.engine.config.loading import config_from
from tidepool.engine.errors import RunError, UsageError
from tidepool.engine.studies.evolution.fitness import (
    Rates,
    adapted,
    consistency,
    crowding,
    dominates,
    fitness_of,
    fronts,
    length_penalty,
    mean_distance,
    objective,
    scores,
    weights_from,
)
from tidepool.engine.studies.evolution.tasks.verdict import Verdict

RIGHT, WRONG, SILENT = Verdict("4", True, 150), Verdict("5", False, 150), Verdict(None, False, 150)


def test_fitness_is_the_weighted_sum() -> None:
    fitness = fitness_of([[RIGHT], [WRONG], [SILENT], [RIGHT]], "Think.", 0.6)
    assert fitness is not None
    assert (fitness.accuracy, fitness.consistency, fitness.efficiency) == (0.5, 0.75, 0.5)
    assert fitness.total == pytest.approx(0.7 * 0.5 + 0.15 * 0.75 + 0.1 * 0.5 + 0.05 * 0.6)


def test_what_is_missing_is_not_wrong() -> None:
    whole = fitness_of([[RIGHT], [WRONG]] * 5, "Think.", 0.5)
    holed = fitness_of([[RIGHT], [WRONG]] * 5 + [[None]] * 5, "Think.", 0.5)
    assert whole is not None and holed is not None
    assert holed.total == whole.total
    assert (holed.replies, holed.missing) == (10, pytest.approx(1 / 3))


@given(st.lists(st.lists(st.sampled_from([RIGHT, WRONG, SILENT, None]), min_size=1, max_size=3), min_size=1))
def test_every_part_is_between_nothing_and_all(problems: list[list[Verdict | None]]) -> None:
    fitness = fitness_of(problems, "Think. " * 200, 1.0)
    if fitness is not None:
        parts = (
            fitness.accuracy,
            fitness.consistency,
            fitness.efficiency,
            fitness.length_penalty,
            fitness.missing,
        )
        assert all(0 <= part <= 1 for part in parts)


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


def test_the_length_penalty_starts_late_and_ends() -> None:
    assert length_penalty("word " * 120) == 0
    assert length_penalty("word " * 130) == pytest.approx(0.01)
    assert length_penalty("word " * 5000) == 0.2


@pytest.mark.parametrize(
    ("given_weights", "words"),
    [
        ({"acuracy": 1}, "no 'acuracy'"),
        ({"accuracy": -0.1}, "at least 0"),
        ({"accuracy": float("nan")}, "at least 0"),
        ({"accuracy": 0, "consistency": 0, "efficiency": 0, "diversity": 0}, "all 0"),
    ],
)
def test_weights_that_make_no_sense_are_refused(given_weights: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        weights_from(given_weights)


POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


def test_who_is_beaten_in_nothing_stands_on_the_front() -> None:
    points = [(1.0, 9.0), (5.0, 5.0), (9.0, 1.0), (4.0, 4.0), (1.0, 1.0)]
    assert fronts(points) == [[0, 1, 2], [3], [4]]


@given(POINTS)
def test_nobody_scores_above_one_that_beats_him_in_everything(points: list[tuple[int, int]]) -> None:
    found = scores(points)
    assert sorted(found, reverse=True) == sorted(
        {1 - place / len(points) for place in range(len(points))}, reverse=True
    )
    for one, mine in enumerate(points):
        for other, theirs in enumerate(points):
            assert not (dominates(mine, theirs) and found[other] > found[one])


@given(POINTS)
def test_every_point_is_in_one_front_and_the_first_is_beaten_by_nobody(points: list[tuple[int, int]]) -> None:
    found = fronts(points)
    assert sorted(index for front in found for index in front) == list(range(len(points)))
    assert not any(dominates(other, points[one]) for one in found[0] for other in points)


def test_the_lonely_and_the_ends_come_before_the_crowded() -> None:
    far = crowding([(0.0, 10.0), (4.0, 6.0), (5.0, 5.0), (6.0, 4.0), (10.0, 0.0)])
    assert far[0] == far[-1] == float("inf")
    assert far[1] > far[2] < far[3]


def test_a_minus_says_that_less_is_better() -> None:
    assert (objective("-tokens").name, objective(" - tokens").smaller, objective("accuracy").smaller) == (
        "tokens",
        True,
        False,
    )


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"objectives": ["accuracy"]}, "two or more"),
        ({"objectives": ["accuracy", "-accuracy"]}, "twice"),
        ({"objectives": ["accuracy", "charm"]}, "no measure"),
        ({"objectives": ["accuracy", "-tokens"], "strategy": "gepa"}, "front of its own"),
    ],
)
def test_objectives_that_are_none_are_refused(wrong: dict[str, object], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        config_from({"batch": {"kind": "evolution"}, "evolution": wrong})


async def test_a_front_of_trades_meets_the_held_out_problems(tmp_path: Path) -> None:
    summary = await run(study(objectives=["accuracy", "-tokens"], target_fitness=2.0), tmp_path / "study.db")
    found = summary["statistics"]
    front = found["front"]
    assert found["objectives"] == ["accuracy", "-tokens"] and len(front) > 1
    assert found["champion"]["genome_id"] == front[0]["genome_id"]
    searched = [(one["objectives"]["accuracy"], -one["objectives"]["tokens"]) for one in front]
    assert len(fronts(searched)[0]) >= len(front) - 1  # doubt may move one that was asked less
    for one in front:
        low, high = one["held_out"]["tokens"]["ci95"]
        assert low <= one["held_out"]["tokens"]["value"] <= high


async def test_an_objective_that_the_scorer_never_gives_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mark.py").write_text("def mark(reply, answer):\n    return {'score': 1, 'said': len(reply)}\n")
    wrong = study(
        scorer="mark.py:mark", objectives=["accuracy", "-sad"], population_size=2, max_problems=2, elite_size=1
    )
    with pytest.raises(RunError, match=r"objectives names 'sad'.* \(it gave: said\)"):
        await run(wrong, tmp_path / "study.db")


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
    rates = adapted(Rates(crossover, mutation), diversity)
    assert 0.5 * mutation <= rates.mutation <= max(mutation, min(0.9, 3 * mutation)) + 1e-12
    assert 0.7 * crossover - 1e-12 <= rates.crossover <= min(1.0, 1.1 * crossover) + 1e-12
