"""What a summary says of how a batch went, beyond its counters."""

from pathlib import Path

import pytest

from tests.engine.studies.simulation.panels import panel
from tests.support.state import query
from tests.support.studies import game
from tidepool import run_batch
from tidepool.engine.results.summary import read_summary
from tidepool.storage.file import writing
from tidepool.storage.queries import summary as figures


async def test_failures_are_told_by_reason_with_where_to_read_the_first(database: Path) -> None:
    summary = await run_batch(panel(num_simulations=6, simulated={"fatal_rate": 0.3, "retries": 0}), database)
    (failure,) = summary["failures"]
    assert 0 < failure["units"] == summary["units"]["failed"] < 6
    assert 1 <= failure["first"] <= 6 and failure["error"]


async def test_the_latency_is_that_of_live_calls_alone(database: Path) -> None:
    """Some of what a provider batch was to answer expires there and goes live."""
    slow = {"batch_expire_rate": 0.2, "latency": 0.02}
    summary = await run_batch(panel(num_simulations=6, n_turns=2, service="auto", simulated=slow), database)
    assert "batch+live" in {wave["transport"] for wave in summary["waves"]} and not summary["failures"]
    assert 0.02 <= summary["performance"]["mean_latency"] < 0.2


async def test_a_large_batch_keeps_which_models_it_asked_and_says_the_same_by_counting(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "MANY_CALLS", 10)
    summary = await run_batch(game(10), database)
    ((kept,),) = query(database, "SELECT content FROM finding")
    assert "simulated:guarded" in kept and list(summary["roles"]) == list(read_summary("last", database)["roles"])
    with writing(database) as connection:
        connection.execute("UPDATE finding SET content = replace(content, 'guarded', 'other')")
    assert "simulated:other" in str(read_summary("last", database)["roles"]), "it is not counted again"
    with writing(database) as connection:
        connection.execute("DELETE FROM call WHERE id = 1")
        connection.execute("UPDATE progress SET calls = calls - 1")
    counted = read_summary("last", database)
    assert "simulated:other" not in str(counted["roles"]), "what is kept is of other calls"


@pytest.mark.parametrize("content", ["{}", "[1]", '[["a", "b"]]', '[["a", 1, "c"]]', "[[]]"])
async def test_what_a_stranger_kept_of_models_is_counted_instead(database: Path, content: str) -> None:
    summary = await run_batch(game(3), database)
    with writing(database) as connection:
        connection.execute("INSERT INTO finding VALUES (1, 'asked models', ?)", (content,))
    assert read_summary("last", database)["roles"] == summary["roles"]
