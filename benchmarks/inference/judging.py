"""When a claim keeps its promise: its interval covers in 93 % of tables, its test errs in 6 %, in every world by itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

TABLES = 2_000
AGAIN = 4
"""times as many tables, of other seeds, judge a claim that misses"""
LEAST, ALARMS = 93.0, 6.0


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One claim in one world, in per cent of the tables; None where it has no interval, or no test of what is not there."""

    coverage: float | None = None
    alarms: float | None = None
    warned: bool = False
    """the report warns beside the interval that it rests on few"""
    tables: int

    @property
    def missed(self) -> bool:
        uncovered = self.coverage is not None and self.coverage < LEAST and not self.warned
        return uncovered or (self.alarms is not None and self.alarms > ALARMS)


J = TypeVar("J", bound=Judged)


def settled(draw: Callable[[int, int], dict[Any, J]], tables: int = TABLES) -> dict[Any, J]:
    """What `draw(tables, seed)` finds of each claim. The worst of hundreds misses by chance too, so claims that miss are judged
    by other tables alone."""
    found = draw(tables, 1)
    doubtful = [key for key, one in found.items() if one.missed]
    again = draw(AGAIN * tables, 2) if doubtful else {}
    return found | {key: again[key] for key in doubtful}


def settled_one(draw: Callable[[int, int], J], tables: int = TABLES) -> J:
    return settled(lambda number, seed: {"": draw(number, seed)}, tables)[""]


def per_cent(hits: list[bool]) -> float:
    return 100 * sum(hits) / len(hits)
