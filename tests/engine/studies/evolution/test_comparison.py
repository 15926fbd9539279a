"""Strategies in one table."""

from pathlib import Path
from statistics import fmean

import pytest

from tests.engine.studies.evolution.running import run, study
from tidepool.engine.results.comparing import compare, comparison_blocks
from tidepool.engine.studies.evolution.records import VALIDATION
from tidepool.engine.studies.evolution.results import _compared
from tidepool.storage.file import reading
from tidepool.storage.queries.summary import finding
from tidepool.tui.drawing.blocks import print_blocks
from tidepool.tui.drawing.text import console

SAME = "digest"


def judged(scores: list[float | None], problems: str = SAME) -> dict[str, object]:
    return {"problems": problems, "champion": scores}


def test_the_same_problems_are_compared_one_by_one_and_missing_ones_left_out() -> None:
    found = _compared(judged([1.0] * 10 + [None, 0.0]), judged([0.0] * 10 + [1.0, None]))
    assert found and found["paired"] and (found["problems"], found["difference"]) == (10, 1.0)
    assert found["p_value"] < 0.001 and found["difference_ci95"][0] > 0
    assert found["note"].startswith("only 10 problems") and found["estimand"].endswith("problems like these")


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
        one, other = (finding(connection, number, VALIDATION)["champion"] for number in (1, 2))  # type: ignore[index]
    gaps = [left - right for left, right in zip(one, other, strict=True) if None not in (left, right)]
    assert 10 < len(gaps) == found["differences"][0]["problems"]
    assert found["differences"][0]["difference"] == pytest.approx(fmean(gaps))
    assert all(batch["tokens"]["input"] > 0 for batch in found["batches"])
    print_blocks(console(), comparison_blocks(found["batches"], found["differences"]))
    shown = capsys.readouterr().out
    assert ["strategy", "genetic", "random", "reflective"] in [line.split() for line in shown.splitlines()]
    words = " ".join(shown.split())
    assert f"#1 − #2, held-out accuracy of the champion: {fmean(gaps):+.2f}" in words and "(two samples)" in words
