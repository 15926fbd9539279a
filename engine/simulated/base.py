"""Shared code of simulated responders: the reply, random draws from a call's seed, and the texts.

`texts.json` contains the responders' phrases, riddles, explanations and toy tasks as data.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tidepool.engine.call import Message

_MASK = (1 << 64) - 1
_Thing = TypeVar("_Thing")


class SimulatedReply(NamedTuple):
    """The text of a simulated responder, and hidden facts about it that no study may read."""

    text: str
    truth: str | None = None


Speak = Callable[[str, str, Sequence[Message], int], SimulatedReply]
"""model name, system prompt, messages and seed → reply"""


@dataclass(frozen=True, slots=True)
class Responder:
    """One role of the simulated provider."""

    speak: Speak
    recognises: Callable[[str], bool] = lambda system: False
    """whether a system prompt is meant for this responder, if several share a model name"""


def mix(seed: int) -> int:
    """Maps a seed to 64 well-mixed bits (splitmix64): much faster than a Random for a dozen choices."""
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class Dice:
    """Random draws from a seed."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed

    def unit(self) -> float:
        """In [0, 1)."""
        self._state = mix(self._state)
        return (self._state >> 11) * 2.0**-53

    def pick(self, choices: Sequence[_Thing]) -> _Thing:
        return choices[int(self.unit() * len(choices))]


def texts(section: str) -> Any:
    """A section of `texts.json`, with tuples for lists."""
    return _as_tuples(_all_texts()[section])


@cache
def _all_texts() -> Any:
    return json.loads((Path(__file__).parent / "texts.json").read_text(encoding="utf-8"))


def _as_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_tuples(part) for name, part in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
