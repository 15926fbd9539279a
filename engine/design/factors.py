"""The factors of a design as they were frozen, and the cells that they span."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Literal

from tidepool.engine.errors import UsageError

Cell = tuple[str, ...]
"""the level of each factor, in the design's order"""
MOST_CELLS = 100_000
DRAWING = frozenset(
    {
        *("seed", "pairing", "scenarios", "games", "rounds", "interaction_size"),
        *("entities", "entity_ids", "entity_file", "agents", "agent_ids"),
    }
)
"""keys that say who meets whom over what, and how often; and all that begin with `num_`"""


@dataclass(frozen=True, slots=True)
class Factor:
    name: str
    levels: tuple[str, ...]
    """the first is the reference"""
    keys: frozenset[str] = frozenset()
    """of the config, that any level sets"""

    @property
    def redraws(self) -> bool:
        """Whether a level may change who or what is drawn: then talks of one number are no matched talks."""
        last = {key.rpartition(".")[2] for key in self.keys}
        return bool(last & DRAWING) or any(key.startswith("num_") for key in last)


@dataclass(frozen=True, slots=True)
class Factors:
    factors: tuple[Factor, ...]
    mode: Literal["full", "paired"] = "full"
    """paired: the lists of levels go in step"""

    @classmethod
    def of(cls, design: Mapping[str, Any]) -> "Factors":
        """Of the design's JSON, which may be a stranger's."""
        try:
            factors = tuple(map(_factor, design.get("factors", ())))
        except (AttributeError, KeyError, TypeError):
            raise UsageError("The study's own design cannot be read: its file was changed, or is damaged.") from None
        return cls(factors, "paired" if design.get("mode") == "paired" else "full")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(factor.name for factor in self.factors)

    def place(self, name: str) -> int:
        return self.names.index(name)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All that were planned, in order."""
        levels = [factor.levels for factor in self.factors]
        if self.mode == "full" and prod(map(len, levels)) > MOST_CELLS:
            raise UsageError(f"The design has more than {MOST_CELLS:,} cells. Cross fewer factors, or fewer levels.")
        if self.mode == "paired" and levels:
            return tuple(dict.fromkeys(zip(*levels, strict=False)))
        return tuple(product(*(dict.fromkeys(one) for one in levels)))


def _factor(told: Mapping[str, Any]) -> Factor:
    levels: Sequence[Mapping[str, Any]] = told.get("levels", ())
    keys = frozenset(str(key) for level in levels for key in level.get("set", {}))
    return Factor(str(told["name"]), tuple(str(level["level"]) for level in levels), keys)
