"""The report of a mutation, finished and hardly begun."""

from pathlib import Path
from typing import Any

from tests.engine.studies.mutation.studies import mutation
from tidepool import run_batch
from tidepool.engine.exports.export import export_batch
from tidepool.engine.reports.blocks import Table, Words, text_of
from tidepool.engine.studies.mutation.results import MutationResults


async def test_a_report_tells_what_the_policy_is_worth_and_how_it_was_learnt(database: Path, tmp_path: Path) -> None:
    summary = await run_batch(mutation(), database)
    text = export_batch(database, "last", "html", tmp_path / "report.html")[0].read_text()
    best = summary["statistics"]["heldout"]["best_constant"]["operator"]
    for told in ("policy (bandit)", f"always {best} (the best)", "policy gains", "answered steps", "ask_for_steps"):
        assert told in text
    assert "(weight 0.3 for the newest update)." in text
    assert text.count("<svg") == 2
    begun = {**summary["statistics"], "heldout": {}, "updates": []}
    assert Words("The comparison on held-out queries is not done yet.") in MutationResults().blocks(begun)


def _difference(difference: float, p_value: float) -> dict[str, Any]:
    bounds = [difference - 0.1, difference + 0.1]
    return {"difference": difference, "ci95": bounds, "p_value": p_value / 4, "p_value_holm": p_value}


def test_a_policy_that_is_beaten_is_told_so_and_no_difference_is_claimed_that_is_none() -> None:
    differences = {
        "random": _difference(0.2, 0.0004),
        "unchanged": _difference(0.05, 0.057),
        "bandit": _difference(-0.09, 0.004),
    }
    row = {"mean_reward": 0.5, "ci95": [0.4, 0.6], "operator": "shorten"}
    heldout = dict.fromkeys(("policy", "random", "best_constant", "unchanged"), row)
    heldout |= {"differences": differences}
    found = MutationResults().blocks(
        {
            "learner": "ppo",
            "reward": "similarity",
            "masked_steps": 0,
            "fallback_rewrites": 0,
            "updates": [],
            "operators": {},
            "heldout_operators": {},
            "baselines": {},
            "phases": {},
            "heldout": {**heldout, "others": {}, "queries": 36, "missing": 0},
        }
    )
    told = [(one.text, one.level) for one in found if isinstance(one, Words) and "lower mean reward" in one.text]
    assert told == [
        ('The policy has a lower mean reward than "bandit": -0.09 (-0.19 to +0.01), p = 0.004 (Holm).', "warning")
    ]
    assert any("Gains are exploratory" in one.text for one in found if isinstance(one, Words))
    (gains,) = (block for block in found if isinstance(block, Table))
    assert [[text_of(cell) for cell in row[2:]] for row in gains.rows] == [
        ["", ""],
        ["+0.20 (+0.10 to +0.30)", "< 0.001"],
        ["", ""],
        ["+0.05 (-0.05 to +0.15)", "0.057"],
    ]
