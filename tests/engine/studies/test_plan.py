"""How long a study is taken to last, before anything is called."""

from pathlib import Path

import pytest

from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.runtime.plans import Plan, PlannedCalls, priced

AGENTS = [{"name": name, "model": "simulated:x", "secret": f"{name} secret"} for name in ("Ada", "Bob")]


@pytest.mark.parametrize(
    ("waves", "calls", "service", "seconds"),
    [
        (5, 100, {"max_concurrent": 10}, 100.0),
        (20, 3, {"max_concurrent": 100}, 40.0),
        (1, 11, {"max_concurrent": 10}, 4.0),
        (2, 30, {"max_concurrent": 30, "requests_per_minute": 6}, 600.0),
    ],
)
def test_waves_follow_one_another_however_many_calls_may_go_at_once(
    waves: int, calls: int, service: dict[str, int], seconds: float
) -> None:
    config = config_from(
        {
            "batch": {"kind": "secret_game"},
            "secret_game": {},
            "agents": AGENTS,
            "service": service,
            "providers": {"simulated": {"latency": 2.0}},
        }
    )
    plan = Plan(calls, tuple(PlannedCalls(wave, "simulated:x", calls, 10, 10) for wave in range(1, waves + 1)))
    assert priced(plan, freeze(config, Path("none.db")))["seconds_live"] == pytest.approx(seconds)
