"""The HTML report of a mutation, finished and hardly begun."""

from pathlib import Path

from tests.engine.studies.mutation.studies import mutation
from tidepool import run_batch
from tidepool.engine.exports.export import export_batch
from tidepool.engine.studies.mutation.html_report import sections


async def test_a_report_tells_what_the_policy_is_worth_and_how_it_was_learnt(database: Path, tmp_path: Path) -> None:
    summary = await run_batch(mutation(), database)
    text = export_batch(database, "last", "html", tmp_path / "report.html")[0].read_text()
    best = summary["statistics"]["heldout"]["best_constant"]["operator"]
    for told in ("policy (bandit)", f"always {best} (the best)", "policy gains", "answered steps", "ask_for_steps"):
        assert told in text
    assert text.count("<svg") == 2
    begun = {**summary["statistics"], "heldout": None, "updates": []}
    assert "Not yet compared" in "".join(sections(begun))
