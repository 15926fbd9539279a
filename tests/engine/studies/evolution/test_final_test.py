"""The held-out comparison, the choice of the champion, and the final of the seeds."""

from pathlib import Path
from random import Random

import pytest
from scipy import stats

from tests.engine.studies.evolution.running import run, study
from tests.support.state import query
from tidepool.engine.studies.evolution.final_test import compare, held_out
from tidepool.engine.studies.evolution.genome import seed_genomes
from tidepool.engine.studies.evolution.tasks.verdict import Verdict

RIGHT, WRONG, UNCLEAR = Verdict("1", True), Verdict("0", False), Verdict(None, None, unclear="no answer")
MARKS = {"+": RIGHT, "-": WRONG, "?": None, "u": UNCLEAR}


def once(pattern: str) -> list[list[Verdict | None]]:
    return [[MARKS[mark]] for mark in pattern]


@pytest.mark.parametrize(
    ("champion", "baseline", "winner"),
    [
        ("+" * 20, "+" * 20, None),
        ("+" * 2, "-" * 2, None),
        ("+" * 5, "-" * 5, None),
        ("+" * 9 + "?", "-" * 10, None),
        ("+" * 10, "-" * 10, "champion"),
        ("-" * 10, "+" * 10, "baseline"),
        ("+" * 10 + "?", "-" * 10 + "+", "champion"),
        ("+++++-----", "-----+++++", None),
    ],
)
def test_a_winner_is_claimed_only_beyond_chance(champion: str, baseline: str, winner: str | None) -> None:
    (comparison,) = compare(once(champion), [once(baseline)])
    assert comparison["better"] == winner and (comparison["p_value"] is None) == (comparison["pairs"] < 10)
    assert comparison["p_value"] is None or (comparison["p_value"] <= 0.05) == (winner is not None)


def test_two_comparisons_of_a_champion_are_one_family() -> None:
    champion, seed, drawn = (once("+" * (20 - worse) + "-" * worse) for worse in (0, 5, 1))
    (alone,), (first, second) = compare(champion, [seed]), compare(champion, [seed, drawn])
    assert alone["better"] == "champion" and alone["p_value_holm"] == alone["p_value"] == first["p_value"] < 0.05
    assert first["p_value_holm"] == pytest.approx(2 * alone["p_value"]) and first["better"] is None
    assert second["p_value_holm"] == second["p_value"]


@pytest.mark.parametrize(
    ("problems", "accuracy", "unclear", "bounds"),
    [
        (["+", "+", "-", "u"], 2 / 3, 1 / 4, (2 / 4, 3 / 4)),
        (["+", "?", "u"], 1, 1 / 2, (1 / 2, 1)),
        (["u", "u"], None, 1, (0, 1)),
        (["++", "+u", "u-", "uu", "??"], 2 / 3, 4 / 8, (1.5 / 4, 3.5 / 4)),
        (["?"], None, None, None),
    ],
)
def test_unclear_replies_are_neither_right_nor_wrong_but_bound_the_accuracy(
    problems: list[str], accuracy: float | None, unclear: float | None, bounds: tuple[float, float] | None
) -> None:
    found = held_out([[MARKS[mark] for mark in marks] for marks in problems])
    assert (found.accuracy, found.unclear) == (accuracy and pytest.approx(accuracy), unclear)
    assert found.bounds == (bounds and pytest.approx(bounds))


@pytest.mark.parametrize(
    ("champion", "baseline", "winner", "bounds"),
    [
        ("+" * 18 + "uu", "-" * 20, "champion", (0.9, 1.0)),
        ("+" * 30 + "u" * 20, "+" * 14 + "-" * 16 + "u" * 20, None, (-4 / 50, 36 / 50)),
        ("+" * 14 + "-" * 16 + "u" * 20, "+" * 30 + "u" * 20, None, (-36 / 50, 4 / 50)),
        ("-" * 18 + "uu", "+" * 20, "baseline", (-1.0, -0.9)),
        ("+" * 12 + "?u", "-" * 12 + "uu", "champion", (11 / 13, 1.0)),
        ("+" * 30 + "-" * 10 + "u" * 8, "+" * 14 + "-" * 26 + "+" * 7 + "-", None, (9 / 48, 17 / 48)),
    ],
)
def test_no_winner_is_named_that_unclear_replies_could_reverse(
    champion: str, baseline: str, winner: str | None, bounds: tuple[float, float]
) -> None:
    (comparison,) = compare(once(champion), [once(baseline)])
    assert comparison["p_value"] < 0.001, "what could be read tells them apart"
    assert (comparison["better"], comparison["difference_bounds"]) == (winner, pytest.approx(bounds))


def test_the_interval_of_several_replies_a_problem_covers_what_it_should() -> None:
    """Replies to one problem are alike: as independent ones their interval would hold the truth in two of three tables."""
    rng, inside, tables = Random(5), 0, 400
    for _ in range(tables):
        chances = [rng.betavariate(1.2, 0.8) for _ in range(40)]
        found = held_out([[RIGHT if rng.random() < chance else WRONG for _ in range(5)] for chance in chances])
        assert found.ci95
        inside += found.ci95[0] <= 0.6 <= found.ci95[1]
    assert 0.925 <= inside / tables <= 0.98


def test_graded_scores_have_students_interval() -> None:
    grades = [0.2, 0.4, 0.9, 0.6, 0.5]
    found = held_out([[Verdict("", False, score=grade)] for grade in grades])
    assert found.ci95 == pytest.approx(tuple(stats.ttest_1samp(grades, 0.0).confidence_interval(0.95)))


SEEDS = [genome.prompt for genome in seed_genomes()]
WEAK, STRONG = "Be brief. Answer quickly.", "Work step by step. Write out each line. Check the result. Verify it."


async def test_seeds_without_room_in_the_population_are_considered_too(database: Path) -> None:
    config = study(seed_prompts=[WEAK, *SEEDS[:8], STRONG], population_size=4, max_problems=30, max_generations=2)
    summary = await run(config, database)
    baseline = summary["statistics"]["baseline"]
    assert baseline["prompt"] == STRONG and baseline["operator"] == "seed"
    assert query(database, "SELECT generation FROM genomes WHERE genome_id = ?", baseline["genome_id"]) == [(0,)]
    assert summary["statistics"]["baseline_calls"] > 0
    rated = query(database, "SELECT count(*) FROM genomes WHERE operator = 'seed' AND fitness IS NOT NULL")
    assert rated == [(10,)]


async def test_what_a_seed_was_answered_before_is_not_asked_again(database: Path) -> None:
    summary = await run(study(racing=False, population_size=10, max_generations=2), database)
    assert summary["statistics"]["baseline_calls"] == 0
    (asked,) = query(database, "SELECT max(n) FROM (SELECT count(*) AS n FROM call GROUP BY unit_id)")
    assert asked == (20,), "the held-out problems, not the training ones again"
