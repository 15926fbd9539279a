"""Which sides of a batch people code: a stratified sample, one side a talk, drawn once.

Of every talk one side is drawn by lot: first one of the strata that its sides are in, then one of the sides in it. Of
these the sample takes so many of each stratum, again by lot. So no two sides of a sample are of one talk, and within a stratum
a side's chance is known: `lots` over its number. The order is random over all strata: whoever stops early has coded a
smaller sample of the same kind.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

POSITIVE, UNCERTAIN, NEGATIVE = "positive", "uncertain", "negative"
UNCERTAIN_PART = 4
"""one in so many of the negatives is taken of the uncertain ones: where errors are likeliest"""
MOST_STRATA = 9
"""of ratings; where there are more different ones, neighbours share a stratum"""

Unit = Literal["sides", "messages"]
Instrument = Literal["detectors", "judge", "marks"]
"""of a game's sides, of a judge's, or of an evolution's answers"""
Place = tuple[int, int, int]
"""sequence number of the talk, side from 0, turn of the message; turn 0: the side as a whole"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What could be coded, and the stratum that the instrument puts it in."""

    place: Place
    stratum: str


@dataclass(frozen=True, slots=True)
class Sampled:
    place: Place
    stratum: str
    weight: float
    """how many of the batch it stands for"""


@dataclass(frozen=True, slots=True)
class Sample:
    unit: Unit
    instrument: Instrument
    draw: int
    """1 for the first; each one that is drawn anew has a number of its own, and with it its own lots"""
    strata: Mapping[str, int]
    """how many of the batch are in each"""
    talks: int
    chosen: tuple[Sampled, ...] = field(repr=False, default=())
    """in the order in which they are coded"""

    @property
    def noun(self) -> str:
        """What it is a sample of, for people."""
        return "answers" if self.instrument == "marks" else self.unit

    @property
    def population(self) -> int:
        return sum(self.strata.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "instrument": self.instrument,
            "draw": self.draw,
            "strata": dict(self.strata),
            "talks": self.talks,
            "chosen": [[*one.place, one.stratum, one.weight] for one in self.chosen],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Sample":
        """The file may be a stranger's: what is not as it is written here raises."""
        chosen = tuple(
            Sampled((int(number), int(side), int(turn)), str(stratum), float(weight))
            for number, side, turn, stratum, weight in data["chosen"]
        )
        strata = {str(name): int(count) for name, count in data["strata"].items()}
        unit: Unit = "messages" if data["unit"] == "messages" else "sides"
        said = data["instrument"]
        instrument: Instrument = "judge" if said == "judge" else "marks" if said == "marks" else "detectors"
        return cls(unit, instrument, int(data["draw"]), strata, int(data["talks"]), chosen)


def drawn(
    frame: Sequence[Candidate], size: int, random: Random, unit: Unit, instrument: Instrument, draw: int = 1
) -> Sample:
    """At most one of each talk, so at most as many as there are talks. With the same lots, a larger sample holds a smaller."""
    lots = _one_a_talk(frame, random)
    by_stratum: defaultdict[str, list[tuple[Place, int]]] = defaultdict(list)
    for candidate, times in lots:
        by_stratum[candidate.stratum].append((candidate.place, times))
    ranks: dict[Place, float] = {}
    for name in sorted(by_stratum):
        random.shuffle(by_stratum[name])
        ranks |= {place: random.random() for place, _ in by_stratum[name]}
    strata = Counter(candidate.stratum for candidate in frame)
    sizes = allocation({name: len(found) for name, found in by_stratum.items()}, strata, size)
    chosen = [
        Sampled(place, name, strata[name] * times / sum(each for _, each in by_stratum[name][: sizes[name]]))
        for name in sorted(by_stratum)
        for place, times in by_stratum[name][: sizes[name]]
    ]
    ordered = tuple(sorted(chosen, key=lambda one: ranks[one.place]))
    return Sample(unit, instrument, draw, dict(sorted(strata.items())), len({one.place[0] for one in frame}), ordered)


def _one_a_talk(frame: Sequence[Candidate], random: Random) -> list[tuple[Candidate, int]]:
    """Each with how many lots it was drawn from: 2 where both sides of a talk might have been."""
    talks: defaultdict[int, defaultdict[str, list[Candidate]]] = defaultdict(lambda: defaultdict(list))
    for candidate in frame:
        talks[candidate.place[0]][candidate.stratum].append(candidate)
    found = []
    for number in sorted(talks):
        strata = talks[number]
        among = strata[random.choice(sorted(strata))]
        found.append((random.choice(among), len(strata) * len(among)))
    return found


def allocation(there: Mapping[str, int], strata: Mapping[str, int], size: int) -> dict[str, int]:
    """How many of each stratum. Verdicts: half positive, half negative, the uncertain among these; ratings: equal parts.
    What one stratum lacks the others give."""
    if not set(there) <= {POSITIVE, UNCERTAIN, NEGATIVE}:
        return _level(there, size)
    positives = there.get(POSITIVE, 0)
    negatives = {name: there[name] for name in (UNCERTAIN, NEGATIVE) if name in there}
    halves = _level({POSITIVE: positives, NEGATIVE: sum(negatives.values())}, size)
    below = halves[NEGATIVE]
    part = strata.get(UNCERTAIN, 0) / max(1, strata.get(UNCERTAIN, 0) + strata.get(NEGATIVE, 0))
    doubtful = min(negatives.get(UNCERTAIN, 0), max(round(below * part), below // UNCERTAIN_PART))
    doubtful = max(doubtful, below - negatives.get(NEGATIVE, 0))
    sizes = {POSITIVE: halves[POSITIVE], UNCERTAIN: doubtful, NEGATIVE: below - doubtful}
    return {name: sizes[name] for name in there}


def _level(there: Mapping[str, int], size: int) -> dict[str, int]:
    """Equal parts, as far as there is enough of each; one more goes to those that come first."""
    sizes = dict.fromkeys(there, 0)
    left = min(size, sum(there.values()))
    while left:
        open_ones = [name for name in there if sizes[name] < there[name]]
        each = max(1, left // len(open_ones))
        for name in open_ones:
            more = min(each, there[name] - sizes[name], left)
            sizes[name] += more
            left -= more
    return sizes


def rating_strata(ratings: Sequence[float]) -> dict[float, str]:
    """The stratum of each rating: its own, or where there are many different ones one of `MOST_STRATA` of like size."""
    values = sorted(set(ratings))
    if len(values) <= MOST_STRATA:
        return {value: f"{value:g}" for value in values}
    ordered = sorted(ratings)
    edges = sorted({ordered[len(ordered) * part // MOST_STRATA] for part in range(MOST_STRATA)})
    found: dict[float, str] = {}
    for value in values:
        place = max(place for place, edge in enumerate(edges) if edge <= value)
        last = edges[place + 1] if place + 1 < len(edges) else None
        found[value] = f"{edges[place]:g} to under {last:g}" if last is not None else f"{edges[place]:g} or more"
    return found
