"""What is taken for true before anything is known: stated, or by default. Three values of each, from least spread to most.

Power hangs on what nobody knows yet, so it is told for a range of worlds and never as one number.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tidepool.engine.design.outcomes import PERCENT, Outcome
from tidepool.engine.errors import UsageError

Three = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One way an outcome may be, in the outcome's own units (shares from 0 to 1)."""

    rate: float | None = None
    """of a share; None: no share"""
    sd: float = 0.0
    """of one value that is no share"""
    correlation: float = 0.0
    matched: float = 0.0
    game: float = 0.0
    scenario: float = 0.0
    entity: float = 0.0
    between: float = 0.0
    talk: float | None = None
    """the variance of a talk's value ÷ that of one value, as seen; None: by the correlation"""
    inside: float | None = None
    """the same among talks of the same two"""
    each: float = 0.0
    """values in a talk of which it was seen"""
    batch: float | None = None
    """the variance of a batch's own value, as seen"""


@dataclass(frozen=True, slots=True)
class _Assumption:
    usual: Three
    low: float
    high: float
    words: str


KNOWN: Mapping[str, _Assumption] = MappingProxyType(
    {
        "rate": _Assumption((0.1, 0.3, 0.5), 0.0, 1.0, "the share itself; of a difference, the share it starts from"),
        "sd": _Assumption((0.15, 0.25, 0.35), 0.0, math.inf, "of one rating, score or reward; by default of its scale"),
        "correlation": _Assumption((0.3, 0.3, 0.3), -1.0, 1.0, "of the values within a talk, such as its two sides"),
        "matched": _Assumption((0.0, 0.0, 0.0), -1.0, 1.0, "of matched talks, problems or batches of two cells"),
        "game": _Assumption((0.05, 0.1, 0.2), 0.0, 1.0, "of talks that one game links"),
        "scenario": _Assumption((0.05, 0.1, 0.2), 0.0, 1.0, "of talks over one scenario"),
        "entity": _Assumption((0.05, 0.1, 0.2), 0.0, 1.0, "of ratings of one entity"),
        "between": _Assumption(
            (0.02, 0.05, 0.1), 0.0, math.inf, "sd of whole batches beyond chance; by default of its scale"
        ),
    }
)
OF_SCALE = ("sd", "between")
"""their defaults are parts of the scale; stated, they are in its units"""


@dataclass(frozen=True, slots=True)
class Assumptions:
    stated: Mapping[str, Three]

    @classmethod
    def read(cls, texts: Iterable[str]) -> "Assumptions":
        """Of `NAME=VALUE`, or two or three values with commas: from least to most."""
        return cls(dict(map(_stated, texts)))

    def values(self, name: str, outcome: Outcome) -> Three | None:
        """None where nothing can be assumed of something without a scale."""
        if name in self.stated:
            return self.stated[name]
        usual, width = KNOWN[name].usual, outcome.bounds[1] - outcome.bounds[0]
        if name not in OF_SCALE:
            return usual
        return (usual[0] * width, usual[1] * width, usual[2] * width) if math.isfinite(width) else None

    def worlds(self, outcome: Outcome) -> tuple[World, ...] | None:
        left_out = {"sd" if outcome.unit == PERCENT else "rate", "between" if outcome.per_talk else ""}
        told = {name: self.values(name, outcome) for name in KNOWN if name not in left_out}
        known = {name: values for name, values in told.items() if values is not None}
        if len(known) < len(told):
            return None
        return tuple(World(**{name: values[place] for name, values in known.items()}) for place in range(3))


def _stated(text: str) -> tuple[str, Three]:
    name, _, written = text.partition("=")
    name = name.strip()
    if name not in KNOWN:
        raise UsageError(f"--assume {text}: {name!r} is nothing that can be assumed; known are {', '.join(KNOWN)}.")
    one = KNOWN[name]
    try:
        values = sorted(float(part) for part in written.split(","))
    except ValueError:
        values = []
    inside = all(one.low <= value <= one.high and math.isfinite(value) for value in values)
    if name in ("rate", "sd"):
        inside = inside and all(one.low < value < one.high for value in values)
    if not 1 <= len(values) <= 3 or not inside:
        bounds = f"between {one.low:g} and {one.high:g}" if math.isfinite(one.high) else f"above {one.low:g}"
        raise UsageError(f"--assume {text}: write one number {bounds}, or two or three with commas, as {name}=0.1,0.3.")
    if name == "rate":
        values.sort(key=lambda rate: rate * (1 - rate))
    if len(values) == 2:
        values.insert(1, sum(values) / 2)
    return name, (values[0], values[len(values) // 2], values[-1])
