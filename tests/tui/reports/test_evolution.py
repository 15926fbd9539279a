"""The terminal report of an evolution, as a reader sees it."""

import json
from pathlib import Path
from typing import Any

from tests.engine.studies.evolution.running import run, study
from tests.tui.studies import printed
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.studies.evolution.results import EvolutionResults, verdict
from tidepool.storage.file import reading


async def test_a_study_that_was_never_answered_claims_nothing(database: Path) -> None:
    found = (await run(study(simulated={"fatal_rate": 1.0}), database))["statistics"]
    assert "No result" in verdict(judged(database, baseline="another")) and "champion" in printed(
        EvolutionResults().blocks(found)
    )


def judged(database: Path, baseline: str = "", **changed: Any) -> dict[str, Any]:
    with reading(database) as connection:
        config = StoredConfig(json.dumps({"evolution": {"strategy": "genetic", "weights": {}}}))
        found = EvolutionResults().statistics(connection, {"number": 1}, config)
    changed |= {"p_value_holm": changed["p_value"]} if "p_value" in changed else {}
    return {**found, "baseline": {**found["baseline"], "genome_id": baseline}, **changed}


async def test_the_verdict_says_no_more_than_the_held_out_problems_allow(database: Path) -> None:
    champion = (await run(study(max_generations=2), database))["statistics"]["champion"]["genome_id"]
    for changed, words in CASES:
        assert words in verdict(judged(database, **{"baseline": "another", **changed})), words
    assert "No prompt is better" in verdict(judged(database, baseline=champion, p_value=1.0))


CASES: list[tuple[dict[str, Any], str]] = [
    ({"difference": None}, "Not validated yet"),
    ({"p_value": None, "difference": 1.0, "pairs": 5, "difference_ci95": None}, "too few pairs for a verdict"),
    ({"p_value": 1.0, "difference": 0.0, "better": None, "pairs": 0}, "No result"),
    (
        {"p_value": 0.4, "difference": 0.1, "difference_ci95": (-0.1, 0.3), "better": None, "pairs": 9},
        "On 9 held-out problems, the two are not distinguishable, p = 0.400",
    ),
    (
        {"p_value": 0.03, "difference": 0.1, "difference_bounds": (-0.02, 0.2), "better": None, "pairs": 50},
        "no verdict, since unclear replies could reverse it (-2.0 to +20.0 points), p = 0.030",
    ),
    ({"p_value": 0.01, "difference": 0.2, "better": "champion", "pairs": 9}, "the champion is better, p = 0.010"),
    ({"p_value": 0.01, "difference": -0.2, "better": "baseline", "pairs": 9}, "the champion is worse"),
]
