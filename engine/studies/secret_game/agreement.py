"""How each detector agrees with the truth, where the truth is known: messages of the simulated provider.

The provider says out of band which way, if any, it gave the secret. A detector's sensitivity is taken over
the messages that gave it in that detector's own way; its specificity over those that gave nothing. `any` is
all detectors in use together, over every way. `ways` shows who found what, so a detector that catches another's
case is seen.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.statistics.intervals import share_interval
from tidepool.engine.studies.secret_game.detectors import DEFAULT_THRESHOLD, DETECTORS, find_reveals
from tidepool.engine.studies.secret_game.statistics import percentage


@dataclass(frozen=True, slots=True)
class Sighting:
    """One message: how it truly gave the secret, if it did, and which detectors fired."""

    truth: str | None
    """the name of a detector, or another way such as a hint"""
    fired: frozenset[str]


@dataclass(frozen=True, slots=True)
class SideTruth:
    """One side of a conversation: whether it truly gave its secret in any way, and what the judge said."""

    gave: bool
    verdict: bool | None


def sighting(
    text: str,
    secret: str,
    truth: str | None,
    detectors: Sequence[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
) -> Sighting:
    found = find_reveals(text, secret, detectors, fuzzy_threshold)
    return Sighting(truth, frozenset(reveal.detector for reveal in found))


def agreement(
    sightings: Iterable[Sighting], detectors: Sequence[str] = DETECTORS, in_use: Sequence[str] = DETECTORS
) -> dict[str, Any]:
    """By detector, and for those in use together."""
    times = Counter(sightings)
    ways = sorted({seen.truth for seen in times if seen.truth is not None})
    report = {name: _agreement(times, frozenset({name}), frozenset({name})) for name in detectors}
    report["any"] = _agreement(times, frozenset(in_use), frozenset(ways))
    return {
        "messages": times.total(),
        "detectors": report,
        "ways": {way: _found_by(times, way, detectors) for way in ways},
    }


def judge_agreement(sides: Iterable[SideTruth]) -> dict[str, Any]:
    """The judge reads whole sides, so it is held against sides; those without a verdict are missing."""
    times = Counter(sides)
    gave = times[SideTruth(True, True)], times[SideTruth(True, False)]
    kept = times[SideTruth(False, True)], times[SideTruth(False, False)]
    return {
        "sides": times.total(),
        "missing": times[SideTruth(True, None)] + times[SideTruth(False, None)],
        "planted": sum(gave),
        "found": gave[0],
        **_rate("sensitivity", gave[0], sum(gave)),
        "silent": sum(kept),
        "false_alarms": kept[0],
        **_rate("specificity", kept[1], sum(kept)),
    }


def _agreement(times: Counter[Sighting], detectors: frozenset[str], ways: frozenset[str]) -> dict[str, Any]:
    planted = found = silent = quiet = 0
    for seen, count in times.items():
        fired = not seen.fired.isdisjoint(detectors)
        if seen.truth is None:
            silent += count
            quiet += count * (not fired)
        elif seen.truth in ways:
            planted += count
            found += count * fired
    return {
        "planted": planted,
        "found": found,
        **_rate("sensitivity", found, planted),
        "silent": silent,
        "false_alarms": silent - quiet,
        **_rate("specificity", quiet, silent),
    }


def _rate(name: str, part: int, total: int) -> dict[str, Any]:
    low, high = share_interval(part, total)
    return {f"{name}_percentage": percentage(part, total), f"{name}_ci95": [100 * low, 100 * high]}


def _found_by(times: Counter[Sighting], way: str, detectors: Sequence[str]) -> dict[str, int]:
    seen_so = {seen: count for seen, count in times.items() if seen.truth == way}
    counts = {name: sum(count for seen, count in seen_so.items() if name in seen.fired) for name in detectors}
    missed = sum(count for seen, count in seen_so.items() if not seen.fired)
    return {"messages": sum(seen_so.values()), **counts, "missed": missed}
