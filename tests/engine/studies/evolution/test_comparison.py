"""Strategies in one table."""

from pathlib import Path
from statistics import fmean

import numpy
import pytest

from tests.engine.studies.evolution.running import run, study
from tidepool.engine.inference.significance import pairwise, withhold_reversible
from tidepool.engine.reports.blocks import Estimate, Figure, Table, Words
from tidepool.engine.reports.seeds import Group, Score, seed_differences
from tidepool.engine.results.comparing import compare, comparison_blocks
from tidepool.engine.studies.evolution.records import VALIDATION
from tidepool.engine.studies.evolution.results import RUNS, _compared
from tidepool.storage.file import reading
from tidepool.storage.queries.summary import finding
from tidepool.tui.drawing.blocks import print_blocks
from tidepool.tui.drawing.text import console

SAME = "digest"


def judged(scores: list[float | None], problems: str = SAME, unclear: int = 0) -> dict[str, object]:
    """The last `unclear` problems that have no score were answered, but not readably."""
    ends = [[*scores[: len(scores) - unclear], *[worth] * unclear] for worth in (0.0, 1.0)]
    return {"problems": problems, "champion": {"known": scores, "lowest": ends[0], "highest": ends[1]}}


def test_the_same_problems_are_compared_one_by_one_and_missing_ones_left_out() -> None:
    found = _compared(judged([1.0] * 10 + [None, 0.0]), judged([0.0] * 10 + [1.0, None]))
    assert found and found["paired"] and (found["problems"], found["difference"]) == (10, 1.0)
    assert found["p_value"] < 0.001 and found["difference_ci95"][0] > 0
    assert found["note"].startswith("only 10 problems") and found["estimand"].endswith("problems like these")


@pytest.mark.parametrize("problems", [SAME, "other"])
@pytest.mark.parametrize(
    ("right", "wrong", "unclear", "found", "bounds"),
    [(30, 6, 4, True, (0.4, 0.5)), (20, 0, 20, False, (0.15, 0.65)), (14, 0, 26, False, (0.0, 0.65))],
)
def test_no_verdict_that_unclear_replies_could_reverse(
    problems: str, right: int, wrong: int, unclear: int, found: bool, bounds: tuple[float, float]
) -> None:
    """By the bounds alone the second would have one: even the lower of them is above zero."""
    ours = judged([1.0] * right + [0.0] * wrong + [None] * unclear, unclear=unclear)
    rows = pairwise(["a", "b"], [ours, judged([0.0, 1.0] * 14 + [0.0] * 12, problems)], _compared, "")
    assert rows[0]["p_value"] < 0.05
    withhold_reversible(rows)
    assert (rows[0]["p_value"] is not None) == (rows[0]["p_value_holm"] is not None) == found
    assert rows[0]["difference_bounds"] == pytest.approx(bounds) and "p_value_bounded" not in rows[0]
    assert ("could reverse it" in rows[0].get("verdict", "")) != found


def test_equal_prompts_of_which_one_is_unclear_where_it_is_wrong_get_no_verdict() -> None:
    """An eighth of one's replies are unclear, all of them wrong: of what could be read, two in five would differ."""
    rng, verdicts, significant, tables = numpy.random.default_rng(5), 0, 0, 150
    for _ in range(tables):
        chances = rng.beta(1, 1, 600)
        right, other, silent = (rng.random((3, 600)) < (chances, chances, numpy.full(600, 0.24))).tolist()
        worths = [None if not one and quiet else float(one) for one, quiet in zip(right, silent, strict=True)]
        ends = [[worth if one is None else one for one in worths] for worth in (0.0, 1.0)]
        ours = {"problems": SAME, "champion": {"known": worths, "lowest": ends[0], "highest": ends[1]}}
        rows = pairwise(["a", "b"], [ours, judged(list(map(float, other)))], _compared, "")
        significant += rows[0]["p_value"] <= 0.05
        withhold_reversible(rows)
        verdicts += rows[0]["p_value"] is not None and rows[0]["p_value"] <= 0.05
    assert significant / tables > 0.3 and verdicts / tables <= 0.06


def test_other_problems_are_two_samples() -> None:
    found = _compared(judged([1.0] * 30 + [0.0] * 10), judged([1.0] * 10 + [0.0] * 30, "other"))
    assert found and not found["paired"] and found["problems"] == [40, 40]
    assert found["difference"] == pytest.approx(0.5) and found["p_value"] < 0.001
    few = _compared(judged([1.0] * 9 + [None]), judged([0.0] * 30, "other"))
    assert few and few["problems"] == [9, 30] and few["difference_ci95"][0] > 0 and few["p_value"] is None


def test_a_batch_that_is_not_at_its_end_or_was_not_answered_is_not_compared() -> None:
    assert _compared(None, judged([1.0])) is None
    assert _compared(judged([None]), judged([1.0])) is None
    assert _compared(judged([None]), judged([1.0], "other")) is None


async def test_strategies_stand_in_one_table(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = []
    for strategy, seed in (("genetic", 7), ("random", 7), ("reflective", 8)):
        summary = await run(study(strategy=strategy, seed=seed, max_generations=3), database)
        ids.append(summary["batch_id"])
    found = compare(database, ids)
    assert [batch["statistics"]["strategy"] for batch in found["batches"]] == ["genetic", "random", "reflective"]
    assert [row["paired"] for row in found["differences"]] == [True, False, False]
    with reading(database) as connection:
        one, other = (finding(connection, number, VALIDATION)["champion"]["known"] for number in (1, 2))  # type: ignore[index]
    gaps = [left - right for left, right in zip(one, other, strict=True) if None not in (left, right)]
    assert 10 < len(gaps) == found["differences"][0]["problems"]
    assert found["differences"][0]["difference"] == pytest.approx(fmean(gaps))
    assert all(batch["tokens"]["input"] > 0 for batch in found["batches"])
    print_blocks(console(), comparison_blocks(found["batches"], found["differences"]))
    shown = capsys.readouterr().out
    assert ["strategy", "genetic", "random", "reflective"] in [line.split() for line in shown.splitlines()]
    assert ["champion,", "unclear"] in [line.split()[:2] for line in shown.splitlines()]
    words = " ".join(shown.split())
    assert words.count("exploratory") == 1
    assert (
        f"#1 − #2, held-out accuracy of the champion: {100 * fmean(gaps):+.0f} points (" in words
        and "(two samples)" in words
    )


async def test_over_seeds_a_champion_gains_what_its_own_report_says_and_means_stay_on_the_scale(database: Path) -> None:
    ids = [(await run(study(seed=seed, max_generations=2), database))["batch_id"] for seed in (1, 2)]
    found = compare(database, ids)
    statistics = [batch["statistics"] for batch in found["batches"]]
    (against_seed,) = found["differences"]
    assert against_seed["by_seed"] == [one["difference"] for one in statistics]
    assert against_seed["difference_bounds"] == pytest.approx(
        [fmean(ends) for ends in zip(*(one["difference_bounds"] for one in statistics), strict=True)]
    )
    blocks = comparison_blocks(found["batches"], found["differences"])
    (held_out,) = (one for one in blocks if isinstance(one, Table) and "over seeds" in one.title)
    (_, _, mean, unclear) = held_out.rows[0]
    assert isinstance(mean, Estimate) and mean.interval and 0 <= mean.interval[0] < mean.interval[1] <= 100
    assert getattr(unclear, "value", None) == pytest.approx(
        fmean(100 * one["champion"]["unclear"] for one in statistics)
    )
    bands = [band for one in blocks if isinstance(one, Figure) for series in one.series for band in series.intervals]
    assert all(high <= (100 if high > 1.5 else 1) for band in bands if band for high in band[1:])
    told = " ".join(one.text for one in blocks if isinstance(one, Words))
    assert told.count("exploratory") == 1 and " points" in told


@pytest.mark.parametrize(("low", "verdict"), [(0.45, "better"), (0.28, "no verdict, since unclear")])
def test_no_verdict_over_seeds_that_unclear_replies_could_reverse(low: float, verdict: str) -> None:
    groups = [Group({"strategy": name}, name, [name]) for name in ("genetic", "random")]
    for seed in range(8):
        mean = 0.5 + seed / 500
        groups[0].values.setdefault("champion", {})[seed] = Score(mean, (low + seed / 200, 0.7))
        groups[1].values.setdefault("champion", {})[seed] = Score(mean - 0.2, (0.3, 0.3))
    (found,) = seed_differences(groups, RUNS)
    assert found["verdict"].startswith(verdict) and (found["p_value"] is None) == verdict.startswith("no")
