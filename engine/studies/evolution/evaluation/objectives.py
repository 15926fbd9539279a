"""Several measures to be good at together: who is beaten in none of them stands on the front.

Order and crowding are those of NSGA-II: front by front, and within a front the lonely before the crowded, so that a population
keeps all the trades there are between the measures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidepool.engine.studies.evolution.evaluation.fitness import Fitness

MEASURES = ("accuracy", "consistency", "efficiency", "diversity", "tokens", "words")
"""tokens of a reply, words of a prompt; a scorer may bring others"""
MOST_ON_FRONT = 8
"""prompts of a front that meet the held-out problems"""
Point = Sequence[float]
"""every measure so that more is better"""


@dataclass(frozen=True, slots=True)
class Objective:
    name: str
    smaller: bool
    """is better"""

    @property
    def text(self) -> str:
        return f"{'fewer' if self.name in ('tokens', 'words') else 'less'} {self.name}" if self.smaller else self.name

    def of(self, fitness: Fitness | None) -> float | None:
        """So that more is better."""
        value = self.measured(fitness)
        return None if value is None else -value if self.smaller else value

    def measured(self, fitness: Fitness | None) -> float | None:
        if fitness is None:
            return None
        return fitness.metrics.get(self.name) if self.name not in MEASURES else float(getattr(fitness, self.name))


def objective(text: str) -> Objective:
    return Objective(text.strip().lstrip("-").strip(), text.strip().startswith("-"))


def objectives(texts: Sequence[str]) -> tuple[Objective, ...]:
    return tuple(map(objective, texts))


def dominates(one: Point, other: Point) -> bool:
    return all(mine >= theirs for mine, theirs in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def fronts(points: Sequence[Point]) -> list[list[int]]:
    """Indexes: those whom nobody beats in everything, then those whom only they beat, and so on."""
    left, found = list(range(len(points))), []
    while left:
        first = [one for one in left if not any(dominates(points[other], points[one]) for other in left)]
        found.append(first)
        left = [one for one in left if one not in set(first)]
    return found


def crowding(points: Sequence[Point]) -> list[float]:
    """How far each is from its neighbours; the ends of every measure are infinitely far."""
    distance = [0.0] * len(points)
    for measure in range(len(points[0]) if points else 0):
        order = sorted(range(len(points)), key=lambda index: points[index][measure])
        low, high = points[order[0]][measure], points[order[-1]][measure]
        distance[order[0]] = distance[order[-1]] = float("inf")
        for before, index, after in zip(order, order[1:], order[2:], strict=False):
            if high > low:
                distance[index] += (points[after][measure] - points[before][measure]) / (high - low)
    return distance


def scores(points: Sequence[Point]) -> list[float]:
    """One score for each point, from 1 for the loneliest of the first front down: selection needs no more."""
    order: list[int] = []
    for front in fronts(points):
        far = dict(zip(front, crowding([points[index] for index in front]), strict=True))
        order += sorted(front, key=lambda index: (-far[index], index))
    place: Mapping[int, int] = {index: number for number, index in enumerate(order)}
    return [1 - place[index] / len(points) for index in range(len(points))]
