import pytest

from tidepool.engine.providers.pool import Parallelism


def _served(parallelism: Parallelism, parallel: int, calls: int, now: float = 0.0) -> list[int]:
    """A busy server that answers `parallel` calls a second at once, and queues what is more; the limits it was given."""
    limits = []
    for _ in range(calls):
        now += 1 / min(parallel, parallelism.limit)
        parallelism.done(1.0, now, full=True)
        limits.append(parallelism.limit)
    return limits


@pytest.mark.parametrize("parallel", [2, 4, 8, 16])
def test_the_number_settles_at_one_more_than_the_server_answers_at_once_and_stays_there(parallel: int) -> None:
    limits = _served(Parallelism(64), parallel, 20_000)
    settled = limits[2_000:]
    assert settled[-1] in (parallel + 1, 2 * parallel)
    assert max(settled) <= 2 * parallel, "more is tried now and then, and given up when it does not help"
    assert sum(limit == parallel + 1 for limit in settled) > 0.8 * len(settled)


def test_the_ceiling_is_kept() -> None:
    assert max(_served(Parallelism(3), 16, 2_000)) == 3


def test_a_server_that_gained_room_is_used_more() -> None:
    parallelism = Parallelism(64)
    _served(parallelism, 4, 2_000)
    assert max(_served(parallelism, 16, 4_000, now=1e6)) >= 17


def test_a_fault_halves_the_number_for_a_while() -> None:
    parallelism = Parallelism(64)
    _served(parallelism, 8, 2_000)
    before = parallelism.limit
    parallelism.failed()
    assert parallelism.limit == before // 2
    assert _served(parallelism, 8, 20_000, now=1e6)[-1] in (9, 10, 16, 18)
