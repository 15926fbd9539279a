"""All journeys, two at a time."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

from benchmarks.journeys.hands import HANDS, KINDS
from benchmarks.journeys.journey import STAGES, Journey, go
from benchmarks.journeys.stage import Missing
from tidepool.engine.bench import Measurement, at_least

AT_ONCE = 2
HERE = (sys.executable, "-P", "-m", "tidepool")
"""the command, as this very Python has it"""


@dataclass(frozen=True, slots=True)
class Ended:
    journey: Journey
    seconds: float = 0.0
    lost: str = ""
    """what went wrong, and the screen"""
    missing: str = ""
    """why it was not made"""

    @property
    def good(self) -> bool:
        return not (self.lost or self.missing)

    def __str__(self) -> str:
        if self.missing:
            return f"{self.journey}: not tried, {self.missing}"
        return f"{self.journey}: LOST\n{self.lost}" if self.lost else f"{self.journey}: good, {self.seconds:.1f} s"


def every_journey(
    kinds: Iterable[str] = KINDS, stages: Iterable[str] = STAGES, hands: Iterable[str] = HANDS
) -> list[Journey]:
    return [Journey(kind, stage, hand) for stage, hand, kind in product(stages, hands, kinds)]


def run(journeys: Iterable[Journey], command: Sequence[str] = HERE) -> Iterator[Ended]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(lambda journey: _ended(journey, command), journeys)


def _ended(journey: Journey, command: Sequence[str]) -> Ended:
    try:
        return Ended(journey, go(journey, command))
    except Missing as missing:
        return Ended(journey, missing=str(missing))
    except Exception as error:  # of the browser's too: each is a journey that did not arrive
        return Ended(journey, lost=f"{type(error).__name__}: {error}")


def prove() -> Iterator[Measurement]:
    journeys = every_journey()
    ended = []
    for one in run(journeys):
        if not one.good:
            print(one, flush=True)
        ended.append(one)
    slowest = max(one.seconds for one in ended)
    yield at_least(
        "journeys of all four kinds, keys at 80×24 and mouse at 160×48, in a terminal and in a browser",
        sum(one.good for one in ended),
        f"of {len(journeys)}",
        len(journeys),
        f"from an empty file to an export; the slowest in {slowest:.0f} s, two at a time",
    )
