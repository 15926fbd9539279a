"""What is measured of speed, and what is only called so."""

from pathlib import Path

from tests.support.studies import game
from tidepool import Evolution, run_batch
from tidepool.engine.bench import compare
from tidepool.engine.config.sections import Providers, SimulatedSettings


def test_an_evolution_one_by_one_and_in_waves_finds_the_same() -> None:
    study = Evolution(population_size=4, max_generations=2, max_problems=4, validation_problems=4, seed_final=False)
    study.providers = Providers(simulated=SimulatedSettings(latency=0.001))
    gain = compare(study.as_config())
    assert gain["same_statistics"]


async def test_a_run_tells_its_calls_in_flight_and_no_speed_up(database: Path) -> None:
    study = game(12, 2, service={"name": "live", "max_concurrent": 4}, simulated={"latency": 0.03})
    performance = (await run_batch(study, database)).performance
    assert performance.calls_in_flight_mean is not None and 1 < performance.calls_in_flight_mean <= 4
    assert performance.speedup_over_sequential is None
