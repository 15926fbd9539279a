"""The report of a mutation, finished and hardly begun."""

from pathlib import Path

from tests.engine.studies.mutation.studies import mutation
from tidepool import run_batch
from tidepool.engine.exports.export import export_batch
from tidepool.engine.results.blocks import Words
from tidepool.engine.studies.mutation.report import blocks, figures


async def test_a_report_tells_what_the_policy_is_worth_and_how_it_was_learnt(database: Path, tmp_path: Path) -> None:
    summary = await run_batch(mutation(), database)
    text = export_batch(database, "last", "html", tmp_path / "report.html")[0].read_text()
    best = summary["statistics"]["heldout"]["best_constant"]["operator"]
    for told in ("policy (bandit)", f"always {best} (the best)", "policy gains", "answered steps", "ask_for_steps"):
        assert told in text
    assert text.count("<svg") == 4
    begun = {**summary["statistics"], "heldout": {}, "updates": []}
    assert Words("not yet compared on held-out queries") in blocks(begun)


async def test_figures_of_the_whole_and_of_each_operator_are_compared(database: Path) -> None:
    found = figures((await run_batch(mutation(), database))["statistics"])
    assert {"policy on held-out queries", "policy over random", "shorten: uses", "shorten: mean reward"} <= set(found)
