"""How each detector agrees with the truth, where the truth is known: messages of the simulated provider.

The provider says out of band which way, if any, it gave the secret. A detector's sensitivity is taken over
the messages that gave it in that detector's own way; its specificity over those that gave nothing. `any` is
all detectors in use together, over every way. `ways` shows who found what, so a detector that catches another's
case is seen.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.detectors import DEFAULT_THRESHOLD, DETECTORS, find_reveals
from tidepool.engine.studies.secret_game.findings.shares import share_figures


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


@dataclass(frozen=True)
class Detection(Statistics):
    planted: int
    found: int
    sensitivity_percentage: float | None
    sensitivity_ci95: Interval
    silent: int
    false_alarms: int
    specificity_percentage: float | None
    specificity_ci95: Interval


@dataclass(frozen=True)
class _Judged:
    sides: int
    missing: int


@dataclass(frozen=True)
class JudgeDetection(Detection, _Judged):
    """The judge reads whole sides, so it is held against sides; those without a verdict are missing."""


@dataclass(frozen=True)
class Agreement(Statistics):
    LEFT_OUT = frozenset({"judge"})

    sampled: bool
    messages: int
    detectors: Mapping[str, Detection]
    ways: Mapping[str, Mapping[str, int]]
    judge: JudgeDetection | None = None


def agreement(
    sightings: Iterable[Sighting],
    detectors: Sequence[str] = DETECTORS,
    in_use: Sequence[str] = DETECTORS,
    judged: Iterable[SideTruth] = (),
    *,
    sampled: bool = False,
) -> Agreement:
    """By detector, and for those in use together."""
    times, sides = Counter(sightings), Counter(judged)
    ways = sorted({seen.truth for seen in times if seen.truth is not None})
    report = {name: _agreement(times, frozenset({name}), frozenset({name})) for name in detectors}
    report["any"] = _agreement(times, frozenset(in_use), frozenset(ways))
    return Agreement(
        sampled=sampled,
        messages=times.total(),
        detectors=report,
        ways={way: _found_by(times, way, detectors) for way in ways},
        judge=judge_agreement(sides) if sides else None,
    )


def judge_agreement(times: Counter[SideTruth]) -> JudgeDetection:
    gave = times[SideTruth(True, True)], times[SideTruth(True, False)]
    kept = times[SideTruth(False, True)], times[SideTruth(False, False)]
    return JudgeDetection(
        sides=times.total(),
        missing=times[SideTruth(True, None)] + times[SideTruth(False, None)],
        **_detection(gave[0], sum(gave), kept[1], sum(kept)),
    )


def _detection(found: int, planted: int, quiet: int, silent: int) -> dict[str, Any]:
    return {
        "planted": planted,
        "found": found,
        **share_figures("sensitivity", found, planted),
        "silent": silent,
        "false_alarms": silent - quiet,
        **share_figures("specificity", quiet, silent),
    }


def _agreement(times: Counter[Sighting], detectors: frozenset[str], ways: frozenset[str]) -> Detection:
    planted = found = silent = quiet = 0
    for seen, count in times.items():
        fired = not seen.fired.isdisjoint(detectors)
        if seen.truth is None:
            silent += count
            quiet += count * (not fired)
        elif seen.truth in ways:
            planted += count
            found += count * fired
    return Detection(**_detection(found, planted, quiet, silent))


def _found_by(times: Counter[Sighting], way: str, detectors: Sequence[str]) -> dict[str, int]:
    seen_so = {seen: count for seen, count in times.items() if seen.truth == way}
    counts = {name: sum(count for seen, count in seen_so.items() if name in seen.fired) for name in detectors}
    missed = sum(count for seen, count in seen_so.items() if not seen.fired)
    return {"messages": sum(seen_so.values()), **counts, "missed": missed}
