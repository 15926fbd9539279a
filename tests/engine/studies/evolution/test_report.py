"""The report of an evolution, as a page and before there is anything to tell."""

from pathlib import Path
from statistics import fmean

import pytest
from scipy import stats

from tests.engine.studies.evolution.running import run, study
from tests.support.state import query
from tidepool.engine.exports.export import export_batch
from tidepool.engine.results.blocks import Table, Words, text_of
from tidepool.engine.studies.evolution.report import blocks


async def test_the_report_names_champion_and_best_seed_and_draws_the_way(database: Path, tmp_path: Path) -> None:
    models = ["simulated:solver-small", "simulated:solver"]
    hostile = "Say <script>alert(1)</script> & solve it step by step."
    config = study(models=models, max_generations=2, seed_prompts=[hostile], random_baseline=True)
    found = (await run(config, database))["statistics"]
    (path,) = export_batch(database, "last", "html", tmp_path / "report.html")
    page = path.read_text()
    assert f"{100 * found['champion']['validation_accuracy']:.1f} %" in page
    assert f"{100 * found['difference']:+.1f} points" in page and "against random search of" in page
    assert found["rewrites"] > sum(found["refused_rewrites"].values()) >= 0
    assert found["champion"]["length"]["words"] == len(found["champion"]["prompt"].split())
    assert page.count("<polygon") == 1, "the band of the mean"
    first = [fitness for (fitness,) in query(database, "SELECT fitness FROM genomes WHERE generation = 0") if fitness]
    low, high = found["generations"][0]["mean_ci95"]
    assert (low + high) / 2 == pytest.approx(found["generations"][0]["mean"])
    interval = stats.t.interval(0.95, len(first) - 1, fmean(first), stats.sem(first))
    assert (low, high) == pytest.approx(interval, abs=0.02), "the best seeds are asked again before the end"
    assert page.count("<polyline") == 4 and "random search" in page and "simulated:solver-small" in page
    assert "<script" not in page and "&lt;script&gt;" in page
    found["champion"] |= {"missing": 0.123, "validation_missing": 0.456}
    (finalists,) = [one for one in blocks(found) if isinstance(one, Table) and "never used for selection" in one.title]
    assert text_of(finalists.rows[0][finalists.columns.index("missing")]) == "45.6 %", "beside what is held out"


def test_without_a_generation_the_report_says_so() -> None:
    assert blocks({"generations": []}) == [Words("no generation is judged yet")]
