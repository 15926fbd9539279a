"""The terminal report of an evolution, as a reader sees it."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.engine.studies.evolution.running import run, study
from tidepool.engine.studies.evolution.statistics import report
from tidepool.storage.file import reading
from tidepool.tui.app.results import evolution as pages
from tidepool.tui.command.reports.evolution import print_statistics, verdict
from tidepool.tui.drawing.charts import whole_ticks


def printed(statistics: dict[str, Any], width: int = 80) -> str:
    out = io.StringIO()
    print_statistics(Console(file=out, width=width, markup=False, highlight=False), statistics)
    return out.getvalue()


async def test_the_report_tells_who_won_and_what_it_took(database: Path) -> None:
    summary = await run(study(random_baseline=True), database)
    found = summary["statistics"]
    shown = printed(found)
    for role in ("champion", "baseline", "random_search"):
        assert f"{100 * found[role]['validation_accuracy']:.1f} %" in shown
    assert f"{found['baseline_calls']:,} calls more" in shown and f"{found['search_calls']:,} calls;" in shown
    assert f"against random search of {found['random_search']['calls']:,} calls" in shown
    assert "calls by generation" in shown
    assert pages.headline(found)["strategy"] == "genetic"
    assert f"{100 * found['difference']:+.1f} points" in str(pages.tables(found)[0])
    with reading(database) as connection:
        assert report(connection, 1)["champion"] == found["champion"]


async def test_a_study_that_was_never_answered_claims_nothing(database: Path) -> None:
    found = (await run(study(simulated={"fatal_rate": 1.0}), database))["statistics"]
    assert "nothing is known" in verdict({**found, "baseline": BASELINE})
    assert "not answered" in str(pages.tables(found)[0]) and "champion" in printed(found)


def test_before_the_first_generation_there_is_nothing_to_tell() -> None:
    assert printed({"generations": []}) == "no generation is judged yet\n"


CHAMPION, BASELINE = {"genome_id": "a"}, {"genome_id": "b"}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"p_value": None}, "not validated yet"),
        ({"p_value": 1.0, "baseline": CHAMPION}, "no prompt was found that does better"),
        ({"p_value": 1.0, "difference": 0.0, "better": None, "pairs": 0}, "nothing is known"),
        ({"p_value": 0.4, "difference": 0.1, "better": None, "pairs": 9}, "+10.0 points, p = 0.4: chance alone"),
        ({"p_value": 0.01, "difference": 0.2, "better": "champion", "pairs": 9}, "the champion is better"),
        ({"p_value": 0.01, "difference": -0.2, "better": "baseline", "pairs": 9}, "the champion is worse"),
    ],
    ids=str,
)
def test_the_verdict_says_no_more_than_the_held_out_problems_allow(found: dict[str, Any], words: str) -> None:
    assert words in verdict({"champion": CHAMPION, "baseline": BASELINE, **found})


@pytest.mark.parametrize(
    ("xs", "ticks"),
    [
        ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
        (range(20), [0, 3, 6, 9, 12, 15, 18]),
        ([7], [7]),
        ([0.5, 1.0], []),
        ([], []),
    ],
    ids=str,
)
def test_what_is_counted_has_whole_numbers_on_its_axis(xs: Any, ticks: list[int]) -> None:
    assert whole_ticks(xs) == ticks
