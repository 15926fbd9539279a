"""The methods of a batch: what a paper must say of it, from its file alone."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.support.state import change, query
from tests.support.studies import game
from tidepool import run_batch
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.exports.export import export_batch
from tidepool.engine.reports.blocks import Folded, Words
from tidepool.engine.results.methods import methods_of, prompts_of
from tidepool.engine.results.report import report_of
from tidepool.engine.results.summary import summarise
from tidepool.engine.simulated.provider import SimulatedProvider
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.studies import StoredCell


def told(database: Path) -> str:
    methods = report_of(database, summarise(database, "last")).methods
    return "\n".join(block.text for block in methods if isinstance(block, Words))


async def test_models_as_served_what_failed_the_hash_and_every_prompt_are_told(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = SimulatedProvider.answer
    served = {"served_model": "served-1"}
    monkeypatch.setattr(SimulatedProvider, "answer", lambda *call, **how: answer(*call, **how)._replace(**served))
    study = game(30, mode="retained", simulated={"fatal_rate": 0.03}, service={"name": "live", "retries": 0})
    study.agents[0].memory = "long"
    summary = await run_batch(study, database)
    text, units = told(database), summary["units"]
    (config,), (begun,) = (
        query(database, "SELECT config FROM batches")[0],
        query(database, "SELECT created_at FROM batches")[0],
    )
    calls = dict(query(database, "SELECT model, count(*) FROM call GROUP BY model"))
    for sentence in (
        "Simulated data: every reply came from",
        "In a secret game (mode retained), 4 agents (Ada, Bob, Cleo and Dion)",
        "Ada remembered all earlier conversations",
        "All models were sampled with temperature 0.7 and at most 300 tokens a message.",
        f"Of 30 conversations planned, {units['completed']} were completed and {units['failed']} failed.",
        f"simulated:guarded ({calls['simulated:guarded']:,} requests; served as served-1)",
        f"{begun[:10]} {begun[11:16]} UTC",
        "Failures had these reasons: ",
        "Failed conversations were excluded",
        f"the SHA-256 of its frozen config is {sha256(config.encode()).hexdigest()}.",
        "with seed 42",
    ):
        assert sentence in text, sentence
    assert units["failed"] and text.startswith("Simulated data")
    with reading(database) as connection:
        blocks = prompts_of(connection, [StoredCell(find_batch(connection, "last"), {})])
    prompts = [block for block in blocks if isinstance(block, Folded)]
    stored = {prompt for (prompt,) in query(database, "SELECT text FROM prompt")}
    assert {block.text for block in prompts} == stored and f"The {len(stored)} distinct system prompts" in text
    assert sum(int(block.title.split(": ")[1].split()[0]) for block in prompts) == sum(calls.values())
    for name, mark in (("html", "<details><summary>Prompt {}: "), ("markdown", "### Prompt {}: ")):
        page = export_batch(database, "last", name, tmp_path)[0].read_text()
        assert all(mark.format(place) in page for place in range(1, len(stored) + 1))


ALL_FOUR = ["exact", "spelled", "encoded", "fuzzy"]
UNMEASURED = "The accuracy of this set of detectors was not measured."


@pytest.mark.parametrize(
    ("detection", "threshold", "accuracy"),
    [(ALL_FOUR, 90, "These detectors found "), (["exact"], 90, UNMEASURED), (ALL_FOUR, 80, UNMEASURED)],
)
async def test_denials_are_told_always_and_accuracies_of_the_default_detectors(
    detection: list[str], threshold: float, accuracy: str, database: Path
) -> None:
    study = game(2)
    study.detection, study.fuzzy_threshold = detection, threshold
    await run_batch(study, database)
    text = told(database)
    assert "A partner that guessed or repeated the secret" in text and "The detectors did not interpret denials" in text
    assert accuracy in text and (UNMEASURED in text) == (accuracy == UNMEASURED)


async def test_a_stranger_s_config_spoils_no_report(database: Path) -> None:
    summary = await run_batch(game(2), database)
    change(database, "UPDATE batch SET config = json_remove(config, '$.secret_game.mode')")
    (block,) = report_of(database, summary).methods
    assert isinstance(block, Words) and block.level == "warning"


def shares(name: str, value: float) -> dict[str, Any]:
    return {f"{name}_percentage": value, f"{name}_ci95": [value - 5, value + 5]}


async def test_hand_coding_is_told_where_there_is_any(database: Path) -> None:
    summary = await run_batch(game(2), database)
    coding = {
        "sides": {
            "instrument": "any",
            "sample": 100,
            "coded": 98,
            "unclear": 2,
            "coders": {"Eve": {}, "Fay": {}},
            "agreement": [{"coders": ["Eve", "Fay"], "both": 40, "kappa": 0.79}],
            "instruments": {"exact": {"sensitivity_percentage": 80.0, "specificity_percentage": 95.0}},
            "corrected": shares("raw", 40.0) | shares("corrected", 45.0),
        }
    }
    summary["statistics"] = {**summary["statistics"], "coding": coding}
    with reading(database) as connection:
        batch = find_batch(connection, "last")
        blocks = methods_of(connection, batch, StoredConfig(batch["config"]), summary)
    text = "\n".join(block.text for block in blocks if isinstance(block, Words))
    assert "2 coders (Eve and Fay) coded 98 of them by hand" in text
    assert "exact: sensitivity 80.0 %, specificity 95.0 %." in text
    assert "40 % (35–45) of sides revealed. Corrected by the codes" in text and "45 % (40–50)," in text
    assert "assume that the coders' codes are true" in text
    assert "κ of Eve and Fay was 0.79 over 40 sides" in text
