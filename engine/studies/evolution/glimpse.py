"""The champion on held-out problems where it has met them, else the best prompt in training; and the search so far: the best
and the mean of each generation, and the front where there are several objectives."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.results.blocks import Block, Figure, Number, Series
from tidepool.engine.results.glimpse import Told
from tidepool.engine.studies.evolution.evaluation.objectives import Objective, dominates, objectives
from tidepool.engine.studies.evolution.front_report import named, scaled
from tidepool.engine.studies.evolution.records.finding_names import GENERATION, RESULT
from tidepool.engine.studies.evolution.report import generation_figures, generations_table, held_out
from tidepool.engine.studies.evolution.statistics import GenerationStatistics, Portrait
from tidepool.storage.queries.learning import judged_since
from tidepool.storage.queries.summary import finding, findings_after


class EvolutionGlimpse:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._goals = objectives(settings.get("objectives") or ())[:2]
        self._generations: dict[str, GenerationStatistics] = {}
        self._champion: Portrait | None = None
        """as it stands on held-out problems"""
        self._genomes = 0
        self._last_genome = 0
        self._front: list[tuple[float, float]] = []
        """of the first two objectives, so that more is better"""

    def take_in(self, connection: sqlite3.Connection, batch_number: int) -> bool:
        last = max(self._generations, default=GENERATION)
        for name, content in findings_after(connection, batch_number, GENERATION, last):
            self._generations[name] = GenerationStatistics.from_json(content)
        for number, details in judged_since(connection, batch_number, self._last_genome):
            self._last_genome = number
            self._genomes += 1
            if point := _point(self._goals, json.loads(details or "{}")):
                self._meet(point)
        champion = (finding(connection, batch_number, RESULT) or {}).get("champion")
        self._champion = Portrait.from_json(champion) if champion else None
        return False

    def _meet(self, point: tuple[float, float]) -> None:
        if point not in self._front and not any(dominates(one, point) for one in self._front):
            self._front = [*(one for one in self._front if not dominates(point, one)), point]

    def told(self) -> Told | None:
        if not self._generations:
            return None
        generations = [self._generations[name] for name in sorted(self._generations)]
        blocks = tuple(self._blocks(generations))
        if self._champion is not None and self._champion.validation_accuracy is not None:
            n = f"n = {self._champion.validation_problems or 0:,} problems"
            return Told("held out", held_out(self._champion), n, blocks)
        n = f"generation {generations[-1].generation:,}, n = {self._genomes:,} prompts"
        best = max(one.best for one in generations)
        return Told("training fitness", Number(best, 3), n, blocks)

    def _blocks(self, generations: list[GenerationStatistics]) -> Iterator[Block]:
        yield from list(generation_figures(generations))[:1]
        if len(self._goals) > 1 and self._front:
            first, second = self._goals
            ups, acrosses = zip(*sorted(self._front, key=lambda point: point[1]), strict=True)
            yield Figure(
                "points",
                f"the front so far: {first.text} and {second.text}",
                (Series("prompts", _drawn(first, ups), _drawn(second, acrosses)),),
                xlabel=named(second.name),
                ylabel=named(first.name),
                caption="In training, which chose them: without intervals.",
            )
        yield generations_table(generations)


def _point(goals: tuple[Objective, ...], details: dict[str, Any]) -> tuple[float, float] | None:
    """What the first two objectives come to, so that more is better."""
    if len(goals) < 2:
        return None
    up, across = (_measured(goal, details) for goal in goals)
    return None if up is None or across is None else (up, across)


def _measured(goal: Objective, details: dict[str, Any]) -> float | None:
    value = details.get(goal.name, (details.get("metrics") or {}).get(goal.name))
    if not isinstance(value, int | float):
        return None
    return float(-value if goal.smaller else value)


def _drawn(goal: Objective, values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(scaled(goal.name, -value if goal.smaller else value) or 0.0 for value in values)
