"""The assumptions of a power plan, by default or as stated, for low, medium and high variance."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from tidepool.engine.errors import UsageError
from tidepool.engine.inference.measures import PERCENT, Outcome
from tidepool.engine.inference.power import World

Three = tuple[float, float, float]


class _Assumption(NamedTuple):
    usual: Three
    low: float
    high: float
    words: str


KNOWN: Mapping[str, _Assumption] = MappingProxyType(
    {
        "rate": _Assumption((0.1, 0.3, 0.5), 0.0, 1.0, "a share; differences start from it"),
        "sd": _Assumption(
            (0.15, 0.25, 0.35), 0.0, math.inf, "of one rating, score or reward; default as part of its scale"
        ),
        "correlation": _Assumption(
            (0.3, 0.3, 0.3), -1.0, 1.0, "of values within a conversation, such as its two sides"
        ),
        "matched": _Assumption(
            (0.0, 0.0, 0.0), -1.0, 1.0, "of matched conversations, problems or batches of two cells"
        ),
        "game": _Assumption((0.05, 0.1, 0.2), 0.0, 1.0, "of conversations that one game links"),
        "scenario": _Assumption((0.05, 0.1, 0.2), 0.0, 1.0, "of conversations over one scenario"),
        "entity": _Assumption((0.3, 0.6, 0.9), 0.0, 1.0, "of ratings of one entity: the share between entities"),
        "reaction": _Assumption((0.02, 0.05, 0.1), 0.0, 1.0, "of ratings: how differently entities react"),
        "between": _Assumption(
            (0.02, 0.05, 0.1), 0.0, math.inf, "sd of batches beyond chance; default as part of its scale"
        ),
    }
)
OF_SCALE = ("sd", "between")
"""their defaults are parts of the scale; stated values are in its units"""


@dataclass(frozen=True, slots=True)
class Assumptions:
    stated: Mapping[str, Three]

    @classmethod
    def read(cls, texts: Iterable[str]) -> "Assumptions":
        """Parses `NAME=VALUE`, or two or three values with commas, from low to high variance."""
        return cls(dict(map(_stated, texts)))

    def values(self, outcome: Outcome) -> dict[str, Three]:
        """By name. A spread without a scale is left out unless it is stated."""
        without = {"sd" if outcome.unit == PERCENT else "rate", "between" if outcome.per_talk else ""}
        values: dict[str, Three] = {}
        for name in KNOWN.keys() - without:
            low, middle, high = KNOWN[name].usual
            scale = outcome.bounds[1] - outcome.bounds[0] if name in OF_SCALE else 1.0
            values[name] = self.stated.get(name, (low * scale, middle * scale, high * scale))
        return {name: three for name, three in values.items() if math.isfinite(three[2])}

    def worlds(self, outcome: Outcome) -> tuple[World, ...] | None:
        """None if the outcome has no scale and no spread is stated."""
        values = self.values(outcome)
        if not values.keys() & {"sd", "rate"} or (not outcome.per_talk and "between" not in values):
            return None
        return tuple(World(**{name: three[index] for name, three in values.items()}) for index in range(3))


def _stated(text: str) -> tuple[str, Three]:
    name, _, numbers = text.partition("=")
    name = name.strip()
    if name not in KNOWN:
        raise UsageError(f"--assume {text}: unknown assumption {name!r}. Use one of {', '.join(KNOWN)}.")
    spec = KNOWN[name]
    try:
        values = sorted(map(float, numbers.split(",")))
    except ValueError:
        values = []
    ends = () if name in ("rate", "sd") else (spec.low, spec.high)
    inside = [math.isfinite(value) and (spec.low < value < spec.high or value in ends) for value in values]
    if not 1 <= len(values) <= 3 or not all(inside):
        bounds = f"between {spec.low:g} and {spec.high:g}" if math.isfinite(spec.high) else f"above {spec.low:g}"
        raise UsageError(
            f"--assume {text}: write one number {bounds}, or two or three with commas. For example, {name}=0.1,0.3."
        )
    if name == "rate":
        values.sort(key=lambda rate: rate * (1 - rate))
    middle = values[1] if len(values) == 3 else (values[0] + values[-1]) / 2
    return name, (values[0], middle, values[-1])
