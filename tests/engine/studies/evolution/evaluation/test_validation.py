from math import comb
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.final_test import (
    compare,
    held_out,
    independent_replies,
    paired_p_value,
    wilson,
)
from tidepool.engine.studies.evolution.tasks.verdict import Verdict

RIGHT, WRONG = Verdict("1", True), Verdict("0", False)


def once(pattern: str) -> list[list[Verdict | None]]:
    return [[{"+": RIGHT, "-": WRONG, "?": None}[mark]] for mark in pattern]


def coverage(count: int, share: float) -> float:
    """Exact: the chance that the interval of `count` answers holds the true share."""
    total = 0.0
    for right in range(count + 1):
        low, high = wilson(right / count, count)
        if low <= share <= high:
            total += comb(count, right) * share**right * (1 - share) ** (count - right)
    return total


@pytest.mark.parametrize("count", [30, 50, 100, 200])
@pytest.mark.parametrize("centre", [0.55, 0.75, 0.88, 0.93])
def test_the_interval_covers_the_truth_in_93_to_97_of_a_hundred(count: int, centre: float) -> None:
    shares = [centre + 0.002 * step for step in range(-15, 16)]
    assert 0.93 <= sum(coverage(count, share) for share in shares) / len(shares) <= 0.97


@given(st.floats(0, 1), st.integers(1, 1000))
def test_the_interval_lies_around_the_share(share: float, count: int) -> None:
    low, high = wilson(share, count)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1


def test_missing_answers_are_left_out_and_counted() -> None:
    result = held_out(once("++-?+?"))
    assert (result.accuracy, result.problems, result.missing) == (0.75, 4, pytest.approx(1 / 3))
    assert result.ci95 == wilson(0.75, 4)


def test_nothing_answered_is_unknown() -> None:
    result = held_out(once("??"))
    assert (result.accuracy, result.ci95, result.missing) == (None, None, 1.0)
    comparison = compare(once("??"), once("+-"))
    assert (comparison.p_value, comparison.better, comparison.pairs) == (1.0, None, 0)


def test_samples_that_only_repeat_each_other_count_once() -> None:
    scores = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    assert independent_replies(scores, 32) == 8
    assert 24 <= independent_replies([0.5, 0.75, 0.5, 0.75, 0.75, 0.5, 0.75, 0.5], 32) <= 32


@pytest.mark.parametrize(
    ("champion", "baseline", "p_value", "winner"),
    [
        ("+" * 20, "+" * 20, 1.0, None),
        ("+" * 5, "-" * 5, 0.0625, None),
        ("+" * 6, "-" * 6, 0.03125, "champion"),
        ("-" * 6, "+" * 6, 0.03125, "baseline"),
        ("+" * 6 + "?", "-" * 6 + "+", 0.03125, "champion"),
        ("+++---", "---+++", 1.0, None),
    ],
)
def test_a_winner_is_claimed_only_beyond_chance(
    champion: str, baseline: str, p_value: float, winner: str | None
) -> None:
    comparison = compare(once(champion), once(baseline))
    assert comparison.p_value == pytest.approx(p_value)
    assert comparison.better == winner


def test_shares_of_samples_are_tested_by_sign_flips() -> None:
    assert paired_p_value([0.5] * 6) == pytest.approx(2 / 64)
    assert paired_p_value([0.5, -0.5, 0.25, -0.25]) == pytest.approx(1.0)
    assert paired_p_value([0.5] * 30 + [-0.5] * 5, seed=1) < 0.001
    assert paired_p_value([0.5, 0.25] * 20, seed=1) == paired_p_value([0.5, 0.25] * 20, seed=1)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([-1, 0, 1]), max_size=40))
def test_the_test_does_not_care_which_side_is_which(differences: list[int]) -> None:
    assert paired_p_value(differences) == pytest.approx(paired_p_value([-one for one in differences]))


@pytest.mark.parametrize("samples", [1, 3])
def test_of_equal_prompts_hardly_one_in_twenty_wins(samples: int) -> None:
    rng, claims, runs = Random(1), 0, 300 if samples == 1 else 60
    for run in range(runs):
        chances = [rng.random() for _ in range(30)]
        ours, theirs = (
            [[RIGHT if rng.random() < chance else WRONG for _ in range(samples)] for chance in chances]
            for _ in range(2)
        )
        claims += compare(ours, theirs, seed=run).better is not None
    assert claims <= 0.05 * runs + 4
