"""A measured promise: what was measured, what was promised, and whether it holds."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Measurement:
    name: str
    value: float
    unit: str
    target: float
    at_least: bool
    """whether the target is a floor or a ceiling"""
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value >= self.target if self.at_least else self.value <= self.target

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def at_least(name: str, value: float, unit: str, target: float, note: str = "") -> Measurement:
    return Measurement(name, value, unit, target, True, note)


def at_most(name: str, value: float, unit: str, target: float, note: str = "") -> Measurement:
    return Measurement(name, value, unit, target, False, note)
