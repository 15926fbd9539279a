"""Servers that are slow, small, strict or away: nothing about a reply is odd, and yet calls fail."""

from collections.abc import Iterator

from tests.hostile.case import Case, Fate
from tests.hostile.live_cases import sometimes

ANY, HEALED, KEPT = Fate.ANY, Fate.HEALED, Fate.KEPT
WHOLE = ("completed",)


def cases() -> Iterator[Case]:
    yield from _small()
    yield from _away()
    yield from _hanging()
    yield from _strict()


def _small() -> Iterator[Case]:
    """More calls are allowed than there are slots, and nobody says so: the timeout is three times the mean."""
    for provider in ("openai", "anthropic", "ollama"):
        yield Case(
            "server", f"{provider}, two slots and six calls", {"parallel": 2, "latency": 0.3}, ANY, provider=provider,
            service={"max_concurrent": 6, "timeout": 0.9, "retries": 5}, statuses=WHOLE, most_bought=1.4, unclear=True,
        )  # fmt: skip
    yield Case(
        "server", "one slot, ten calls, all of them slow", {"parallel": 1, "latency": 0.3, "jitter": 0.3}, ANY,
        service={"max_concurrent": 10, "timeout": 1.0}, statuses=WHOLE, most_bought=1.5, unclear=True,
    )  # fmt: skip


def _away() -> Iterator[Case]:
    for provider in ("openai", "anthropic", "ollama"):
        yield Case(
            "server", f"{provider}, away for 6 s in the middle",
            {"outage_after": 15, "outage_seconds": 6.0, "latency": 0.05, "parallel": 4}, ANY,
            "rest|down|away|unreachable|cannot be reached", provider, statuses=WHOLE, unclear=True,
            service={"outage_patience": 30.0, "retries": 1, "max_concurrent": 4}, conversations=20,
        )  # fmt: skip
    yield Case(
        "server", "away for good in the middle", {"outage_after": 15, "outage_seconds": 1e6}, ANY,
        "rest|down|away|unreachable|cannot be reached", statuses=("partial", "failed"), unclear=True,
        service={"outage_patience": 3.0, "retries": 1, "max_concurrent": 4}, conversations=20,
    )  # fmt: skip
    yield Case(
        "server", "500 to everything, for good", {"rates": {"live": {"500": 1.0}}}, ANY, "500",
        statuses=("failed",), service={"outage_patience": 3.0, "retries": 1},
    )  # fmt: skip
    yield Case(
        "server", "500 to everything for a while", {"script": {"live": ["", "", *["500"] * 14]}}, ANY,
        "rest|down|away|unreachable|500", statuses=WHOLE, service={"outage_patience": 30.0, "retries": 1},
    )  # fmt: skip


def _hanging() -> Iterator[Case]:
    brief = {"timeout": 1.0}
    yield Case("server", "a tenth hangs", sometimes("hang", 0.1), HEALED, service=brief, unclear=True)
    lost = sometimes("lost-hang", 0.1)
    yield Case("server", "a tenth hangs and is paid for", lost, HEALED, service=brief, unclear=True, most_bought=1.5)
    yield Case("server", "a tenth is cut", sometimes("cut", 0.1), HEALED, unclear=True, most_bought=1.5)
    yield Case("server", "a third is dropped", sometimes("drop"), HEALED, unclear=True)
    yield Case("server", "a third is a page of a proxy", sometimes("garbage"), HEALED, unclear=True)
    yield Case(
        "server", "all hang", {"rates": {"live": {"hang": 1.0}}}, ANY, "within|timeout|timed out|rest", statuses=("failed",),
        service={"timeout": 0.5, "retries": 1, "outage_patience": 3.0}, unclear=True,
    )  # fmt: skip


def _strict() -> Iterator[Case]:
    for per_minute in (600, 1200):
        yield Case(
            "server", f"{per_minute} requests a minute, enforced in each second",
            {"requests_per_minute": per_minute, "window": 1.0}, ANY, statuses=WHOLE,
            service={"requests_per_minute": per_minute, "max_concurrent": 40}, conversations=per_minute // 20,
        )  # fmt: skip
    yield Case(
        "server", "a limit that nobody has told us", {"requests_per_minute": 300, "minute": 10.0, "window": 1.0}, ANY,
        statuses=WHOLE, conversations=30,
    )  # fmt: skip
