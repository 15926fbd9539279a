"""A provider batch is never paid for twice, whatever crashes when. The whole table is `make prove ONLY=killed_batches`."""

import pytest

from .kills import POINTS, KillPoint, killed_and_resumed

CHOSEN = {
    ("openai", "inside create: done, its answer on the way"),
    ("anthropic", "inside create: it arrives while the resumed run searches"),
    ("anthropic", "while collecting: half of the rows sent"),
}
CASES = [(provider, point) for point in POINTS for provider in point.providers if (provider, point.step) in CHOSEN]


@pytest.mark.parametrize(("provider", "point"), CASES, ids=lambda value: getattr(value, "step", value))
async def test_killed_and_resumed_every_call_is_bought_once(provider: str, point: KillPoint) -> None:
    verdict = await killed_and_resumed(provider, point)
    assert (verdict.bought, verdict.ratio) == (verdict.needed, 1.0)
    assert verdict.summary["status"] == "completed"
    assert verdict.summary["calls"]["bought"] == verdict.summary["calls"]["total"] == verdict.needed
