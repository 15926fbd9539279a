"""How each detector agrees with the truth, where the truth is known: messages of the simulated provider.

The provider says out of band which way, if any, it gave the secret. A detector's sensitivity is taken over
the messages that gave it in that detector's own way; its specificity over those that gave nothing. `any` is
all detectors in use together, over every way. `ways` shows who found what, so a detector that catches another's
case is seen.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.statistics.grouped import Grouped
from tidepool.engine.statistics.intervals import Interval, Rate, rates_of
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.detectors import DEFAULT_THRESHOLD, DETECTORS, find_reveals
from tidepool.engine.studies.secret_game.findings.clustering import FEW_TALKS
from tidepool.engine.studies.secret_game.findings.shares import share_figures


@dataclass(frozen=True, slots=True)
class Sighting:
    """One message: how it truly gave the secret, if it did, and which detectors fired."""

    truth: str | None
    """the name of a detector, or another way such as a hint"""
    fired: frozenset[str]
    talk: int = 0
    """messages of one talk are no independent tries"""


@dataclass(frozen=True, slots=True)
class SideTruth:
    """One side of a conversation: whether it truly gave its secret in any way, and what the judge said."""

    gave: bool
    verdict: bool | None
    talk: int = 0


def sighting(
    text: str,
    secret: str,
    truth: str | None,
    detectors: Sequence[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
    talk: int = 0,
) -> Sighting:
    return Sighting(truth, detectors_that_fire(text, secret, detectors, fuzzy_threshold), talk)


def detectors_that_fire(
    text: str, secret: str, detectors: Sequence[str] = DETECTORS, fuzzy_threshold: float = DEFAULT_THRESHOLD
) -> frozenset[str]:
    found = find_reveals(text, secret, detectors, fuzzy_threshold)
    return frozenset(reveal.detector for reveal in found if not reveal.uncertain)


@dataclass(frozen=True)
class Detection(Statistics):
    planted: int
    found: int
    sensitivity_percentage: float | None
    sensitivity_ci95: Interval | None
    silent: int
    false_alarms: int
    specificity_percentage: float | None
    specificity_ci95: Interval | None


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
    seen, sides = list(sightings), list(judged)
    ways = sorted({one.truth for one in seen if one.truth is not None})
    report = {name: _agreement(seen, {name}, {name}) for name in detectors}
    report["any"] = _agreement(seen, set(in_use), set(ways))
    return Agreement(
        sampled=sampled,
        messages=len(seen),
        detectors=report,
        ways={way: _found_by(seen, way, detectors) for way in ways},
        judge=judge_agreement(sides) if sides else None,
    )


def judge_agreement(sides: Sequence[SideTruth]) -> JudgeDetection:
    known = [side for side in sides if side.verdict is not None]
    return JudgeDetection(
        sides=len(sides),
        missing=len(sides) - len(known),
        **_detection(
            [(bool(side.verdict), side.talk) for side in known if side.gave],
            [(not side.verdict, side.talk) for side in known if not side.gave],
        ),
    )


Tries = Sequence[tuple[bool, int]]
"""whether it went right, and in which talk"""


def _detection(planted: Tries, silent: Tries) -> dict[str, Any]:
    found, quiet = sum(right for right, _ in planted), sum(right for right, _ in silent)
    return {
        "planted": len(planted),
        "found": found,
        **share_figures("sensitivity", _rate(planted)),
        "silent": len(silent),
        "false_alarms": len(silent) - quiet,
        **share_figures("specificity", _rate(silent)),
    }


def _rate(tries: Tries) -> Rate | None:
    import numpy

    right, talks = numpy.array(tries, dtype=int).reshape(-1, 2).T
    grouped = Grouped(numpy.zeros(len(tries), dtype=int), 1, [talks])
    return rates_of(grouped.spread(right.astype(float)), few=FEW_TALKS, likeness=1.0)[0]


def _agreement(seen: Sequence[Sighting], detectors: Collection[str], ways: Collection[str]) -> Detection:
    fired = [(not one.fired.isdisjoint(detectors), one) for one in seen]
    planted = [(hit, one.talk) for hit, one in fired if one.truth in ways]
    return Detection(**_detection(planted, [(not hit, one.talk) for hit, one in fired if one.truth is None]))


def _found_by(seen: Sequence[Sighting], way: str, detectors: Sequence[str]) -> dict[str, int]:
    so = [one.fired for one in seen if one.truth == way]
    counts = Counter(name for fired in so for name in fired)
    return {"messages": len(so), **{name: counts[name] for name in detectors}, "missed": so.count(frozenset())}
