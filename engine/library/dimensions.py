"""What entities of one type differ in. Each dimension draws its own value from the entity's random stream."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from tidepool.engine.library.entities import Attribute

Spread = Literal["uniform", "normal", "skewed"]
Drawn = Mapping[str, Attribute]
"""what the entity already is: its name and the dimensions before this one"""

_BLANK = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class BooleanDimension:
    """True for a share of the entities."""

    name: str
    share: float = 0.5
    """of the entities for whom it is true"""

    def draw(self, rng: Random, drawn: Drawn) -> bool:
        return rng.random() < self.share


@dataclass(frozen=True, slots=True)
class CategoricalDimension:
    """One of several words, each with its weight."""

    name: str
    options: tuple[str, ...]
    weights: tuple[float, ...]

    def draw(self, rng: Random, drawn: Drawn) -> str:
        return rng.choices(self.options, self.weights)[0]


@dataclass(frozen=True, slots=True)
class NumberDimension:
    """A number within a range."""

    name: str
    low: float
    high: float
    whole: bool = True
    spread: Spread = "uniform"
    mean: float | None = None
    """normal: the middle of the range unless told"""
    deviation: float | None = None
    """normal: a sixth of the range unless told"""
    towards: Literal["low", "high"] = "low"
    """skewed: the end where most values lie"""
    decimals: int = 2

    def draw(self, rng: Random, drawn: Drawn) -> int | float:
        if self.whole:
            # Half a step of room on both ends, so that the ends are as likely as their neighbours.
            value = round(self._between(self.low - 0.5, self.high + 0.5, rng))
            return int(min(max(value, self.low), self.high))
        return min(max(round(self._between(self.low, self.high, rng), self.decimals), self.low), self.high)

    def _between(self, low: float, high: float, rng: Random) -> float:
        if self.spread == "uniform" or low == high:
            return low + (high - low) * rng.random()
        if self.spread == "normal":
            return self._normal(low, high, rng)
        far = rng.betavariate(2, 5)
        return low + (high - low) * far if self.towards == "low" else high - (high - low) * far

    def _normal(self, low: float, high: float, rng: Random) -> float:
        mean = (low + high) / 2 if self.mean is None else self.mean
        deviation = (self.high - self.low) / 6 if self.deviation is None else self.deviation
        while True:  # the mean lies in the range and the deviation within its width, so a third of draws fit
            value = rng.normalvariate(mean, deviation)
            if low <= value <= high:
                return value


@dataclass(frozen=True, slots=True)
class TextDimension:
    """A text chosen from a list and filled in, or left for a model to write."""

    name: str
    options: tuple[str, ...] = ()
    """each may hold {name} and dimensions before this one in braces"""
    prompt: str = ""
    """set: a model writes the text, asked this way; the generator leaves it out"""

    def draw(self, rng: Random, drawn: Drawn) -> str | None:
        return filled(rng.choice(self.options), drawn) if self.options else None


Dimension = BooleanDimension | CategoricalDimension | NumberDimension | TextDimension


def blanks(template: str) -> list[str]:
    """The names in braces that a template asks for."""
    return _BLANK.findall(template)


def filled(template: str, drawn: Drawn) -> str:
    """The template with its blanks filled in; never str.format, since templates come from strangers."""
    return _BLANK.sub(lambda blank: in_words(drawn.get(blank[1], blank[0])), template)


def in_words(value: Attribute) -> str:
    """The value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
