"""Several batches side by side: same meetings are paired, others are two samples."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.studies import game
from tidepool import SecretGame
from tidepool.engine.config.sections import Agent
from tidepool.engine.errors import UsageError
from tidepool.engine.results.comparing import compare, comparison_blocks
from tidepool.engine.run import run_batch


def of_persona(persona: str, size: int = 60, seed: int = 1) -> SecretGame:
    secrets = ("marigold", "lantern")
    return SecretGame(
        agents=[
            Agent(name=name, model=f"simulated:{persona}", secret=s) for name, s in zip("AB", secrets, strict=True)
        ],
        num_interactions=size,
        messages_per_interaction=3,
        seed=seed,
        name=persona,
    )


async def test_the_same_meetings_are_compared_one_by_one(database: Path, tidepool: Any) -> None:
    ids = [(await run_batch(of_persona(persona), database))["batch_id"] for persona in ("guarded", "trusting")]
    found = compare(database, ids)
    assert [batch["name"] for batch in found["batches"]] == ["guarded", "trusting"]
    rows = {row["name"]: row["values"] for row in found["rows"]}
    assert rows["overall.total_interactions"] == [60, 60]
    first, second = rows["overall.secrets_revealed_percentage"]
    assert first < second
    (difference,) = found["differences"]
    assert difference["paired"] and difference["units"] == 60
    assert difference["difference"] == pytest.approx(first - second)
    assert difference["difference_ci95"][1] < 0
    assert difference["p_value"] == difference["p_value_holm"] < 0.001
    shown = " ".join(tidepool("compare", *ids, NO_COLOR="1").stdout.split())
    assert "A: revealed, %" in shown and "sides that revealed, %" in shown
    assert "#1 − #2, sides that revealed, %: -" in shown and "(paired)" in shown
    assert tidepool.json("compare", *ids)["kind"] == "secret_game"


def test_a_difference_without_interval_or_test_is_told_as_such() -> None:
    batch = {"batch_id": "a", "kind": "?", "name": "x", "status": "completed", "seed": 1, "cost_usd": 0.0}
    batch |= {"seconds": 1.0, "simulated": False, "units": {"completed": 1, "total": 1}, "calls": {"total": 1}}
    found = {"batches": ["a", "b"], "measure": "m", "paired": False, "difference": 0.5, "p_value": None}
    for bounds, words in (
        (None, "m: +0.50; no interval and no test"),
        ([0.1, 0.9], "m: +0.50 (+0.10 to +0.90); no test"),
    ):
        told = comparison_blocks([batch, batch | {"batch_id": "b"}], [found | {"difference_ci95": bounds}])
        assert words in str(told[-1])
        assert str(told).count("exploratory") == 1


async def test_a_game_whose_conversations_memory_links_is_paired_with_one_without_memory(database: Path) -> None:
    ids = []
    for memory in ("short", "long"):
        study = of_persona("bargainer")
        study.agents = [agent.model_copy(update={"memory": memory}) for agent in study.agents]
        study.games = 6
        ids.append((await run_batch(study, database))["batch_id"])
    found = compare(database, ids)
    (difference,) = found["differences"]
    assert (difference["paired"], difference["units"], difference["clusters"]) == (True, 60, 6)
    assert difference["difference_ci95"] is not None and difference["estimand"] == "games like these"
    assert "no verdict: 6 games, a test needs 10" in str(comparison_blocks(found["batches"], [difference])[-1])


async def test_batches_of_other_lengths_are_two_samples(database: Path) -> None:
    ids = [
        (await run_batch(study, database))["batch_id"]
        for study in (of_persona("guarded"), of_persona("guarded", 90, 2), of_persona("trusting", 30))
    ]
    found = compare(database, ids)["differences"]
    assert [tuple(row["batches"]) for row in found] == [(ids[0], ids[1]), (ids[0], ids[2]), (ids[1], ids[2])]
    assert not any(row["paired"] for row in found)
    assert found[0]["p_value_holm"] > 0.05 > found[1]["p_value_holm"]
    assert all(row["p_value"] <= row["p_value_holm"] for row in found)


async def test_what_cannot_be_compared_is_refused(database: Path, tidepool: Any) -> None:
    await run_batch(game(1), database)
    with pytest.raises(UsageError, match="at least two"):
        compare(database, ["last", "last"])
    assert tidepool("compare", "last").returncode == 2
