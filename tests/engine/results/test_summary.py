"""What a summary says of how a batch went, beyond its counters."""

from pathlib import Path

from tests.engine.studies.simulation.panels import panel
from tidepool import run_batch


async def test_failures_are_told_by_reason_with_where_to_read_the_first(database: Path) -> None:
    summary = await run_batch(panel(num_simulations=6, simulated={"fatal_rate": 0.3, "retries": 0}), database)
    (failure,) = summary["failures"]
    assert 0 < failure["units"] == summary["units"]["failed"] < 6
    assert 1 <= failure["first"] <= 6 and failure["error"]


async def test_the_latency_is_that_of_live_calls_alone(database: Path) -> None:
    """Some of what a provider batch was to answer expires there and goes live."""
    slow = {"batch_expire_rate": 0.4, "latency": 0.02}
    summary = await run_batch(panel(num_simulations=6, n_turns=2, service="auto", simulated=slow), database)
    assert "batch+live" in {wave["transport"] for wave in summary["waves"]} and not summary["failures"]
    assert 0.02 <= summary["performance"]["mean_latency"] < 0.2
