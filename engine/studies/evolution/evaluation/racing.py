"""Racing by successive halving, as decisions only.

Problems come in rungs, each about as long as all before it. After each rung the weaker half of the
genomes stops being asked. Who has met every problem is asked all of them once more if it leads: the best
of many looks better than it is, and a lucky score would stand in the way of better prompts for
generations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

FIRST_RUNG = 5
"""problems below which a rung would be a lottery"""
MOST_RUNGS = 5
LEAST_KEPT = 2
DOUBT = 40
"""replies' worth of doubt: a score on so few replies counts half, the mean of all scores the other half"""


@dataclass(frozen=True, slots=True)
class Rung:
    """`entrants` genomes meet problems `start` to `end`; then the best `keep` of them go on."""

    start: int
    end: int
    entrants: int
    keep: int
    look: int = 0
    """1: the problems are asked a second time"""


def rungs(problems: int, genomes: int, racing: bool = True, first: int = FIRST_RUNG) -> tuple[Rung, ...]:
    """The first rung has at least `first` problems where there are so many. Without racing, one rung of everything."""
    if not racing:
        return (Rung(0, problems, genomes, genomes),)
    found, start, entrants = [], 0, genomes
    for end in _ends(problems, first):
        keep = min(entrants, max(LEAST_KEPT, (entrants + 1) // 2))
        found.append(Rung(start, end, entrants, keep))
        start, entrants = end, keep
    return (*found, Rung(0, problems, entrants, entrants, look=1))


def _ends(problems: int, first: int) -> list[int]:
    ends = [problems]
    while ends[0] // 2 >= first and len(ends) < MOST_RUNGS:
        ends.insert(0, ends[0] // 2)
    return ends


def calls_in(plan: Sequence[Rung], samples: int = 1) -> int:
    return sum(rung.entrants * (rung.end - rung.start) for rung in plan) * samples


def calls_saved(problems: int, genomes: int, made: int, samples: int = 1) -> int:
    """Against asking every genome every problem."""
    return problems * genomes * samples - made


def survivors(scores: Mapping[int, float | None], keep: int) -> list[int]:
    """Who goes on, the best first, the earlier one among equals.

    A genome without a score was not answered at all. That is not its fault: it takes a place in the middle
    of the field, and meets the next rung if there is room.
    """
    known = sorted(score for score in scores.values() if score is not None)
    middle = known[len(known) // 2] if known else 0.0

    def place(genome: int) -> tuple[float, int]:
        score = scores[genome]
        return -(middle if score is None else score), genome

    return sorted(scores, key=place)[:keep]


def comparable(scores: Sequence[float | None], replies: Sequence[int]) -> list[float]:
    """Scores that can be compared whether they rest on few replies or on many: doubt draws them to the mean.

    Few replies make extreme scores, high and low; without this the lucky would be the elite. A genome that is
    unknown counts as an average one.
    """
    known = [score for score in scores if score is not None]
    mean = fmean(known) if known else 0.0
    return [
        mean if score is None else (count * score + DOUBT * mean) / (count + DOUBT)
        for score, count in zip(scores, replies, strict=True)
    ]
