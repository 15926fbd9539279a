"""Cheap chance for simulated responders: a call's seed stretched by splitmix64, at a fraction of what a Random
costs.
"""

from collections.abc import Sequence
from typing import TypeVar

_MASK = (1 << 64) - 1
_Thing = TypeVar("_Thing")


def mix(seed: int) -> int:
    """A seed in, 64 well-mixed bits out."""
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class Dice:
    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed

    def unit(self) -> float:
        """In [0, 1)."""
        self._state = mix(self._state)
        return (self._state >> 11) * 2.0**-53

    def pick(self, things: Sequence[_Thing]) -> _Thing:
        return things[int(self.unit() * len(things))]
