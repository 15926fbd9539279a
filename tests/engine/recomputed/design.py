"""The report of a study with two levels for each factor, from measures.csv alone: its columns name the cell of each value.

Hypotheses were stated in the config. What a CSV file does not say, and the config does: the bounds of the values.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import combinations, product
from math import prod
from pathlib import Path
from typing import Any

import pandas

from tests.engine.recomputed.estimators import (
    UNIT,
    Contrast,
    Interval,
    holm,
    jackknife,
    jackknife_variance,
    paired,
    rate,
    student,
)

COLUMNS = ["batch_id", "unit", "participant", "measure", "value", "cluster", "block", "missing", "replicate"]
Weights = dict[tuple[str, ...], float]
"""of cells"""


Effects = dict[str, list[dict[str, Any]]]
"""by outcome"""


def families(effects: Effects) -> Iterable[list[dict[str, Any]]]:
    """What Holm's correction of the exploratory effects goes over: all outcomes."""
    return [[row for own in effects.values() for row in own]]


def recomputed(folder: Path, scale: Interval, hypotheses: list[Mapping[str, str]], more: list[str]) -> dict[str, Any]:
    """`scale` is that of scores and ratings; `more` are outcomes that are shown beside those of all participants."""
    design = Design(pandas.read_csv(folder / "measures.csv"), scale)
    names = [*(name for name in design.measures if name != "obtained"), *more]
    stated = {(one["outcome"], one["contrast"]) for one in hypotheses}
    effects = {
        outcome: [
            design.effect(outcome, contrast, weights)
            for contrast, weights in design.contrasts().items()
            if (outcome, contrast) not in stated
        ]
        for outcome in names
    }
    for family in families(effects):
        for row, p_value in zip(family, holm(row["p_value"] for row in family), strict=True):
            row["p_value_holm"] = p_value
    return {
        "factors": design.factors,
        "replicates": int(design.rows["replicate"].max()),
        "outcomes": {name: {"cells": design.cells(name), "effects": effects[name]} for name in names},
        "hypotheses": design.tested(hypotheses),
    }


class Design:
    def __init__(self, rows: pandas.DataFrame, scale: Interval) -> None:
        names = [name for name in rows.columns if name not in COLUMNS]
        self.factors = {name: list(dict.fromkeys(rows[name])) for name in names}
        rows["cell"] = rows[names].apply(tuple, axis=1)
        # Conversations of one place in the plan are matched in all cells of a replicate.
        rows["number"] = rows.groupby("batch_id")["unit"].rank(method="dense").astype(int)
        cast = rows.drop_duplicates(["replicate", "number"]).set_index(["replicate", "number"])["cluster"]
        self.members = cast.map(lambda cell: sorted(json.loads(cell)) if cell.startswith("[") else [])
        """of each matched conversation of a simulation"""
        self.rows, self.scale, self.tables = rows, scale, dict[str, pandas.DataFrame]()
        self.measures = [
            name for name in ("revealed", "obtained", "score", "rating") if (rows["measure"] == name).any()
        ]

    def bounds(self, outcome: str) -> Interval:
        return self.scale if outcome.split(" of ")[0] in ("score", "rating") else UNIT

    def unit(self, outcome: str) -> float:
        """100 where it is told in per cent."""
        return 1.0 if self.bounds(outcome) == self.scale else 100.0

    def table(self, outcome: str) -> pandas.DataFrame:
        """A row for each matched conversation, a column for each cell: means over participants, where none is missing."""
        if outcome not in self.tables:
            self.tables[outcome] = self.matched(outcome)
        return self.tables[outcome]

    def matched(self, outcome: str) -> pandas.DataFrame:
        measure, _, owner = outcome.partition(" of ")
        own = self.rows[self.rows["measure"] == measure]
        if owner:
            own = own[own["participant"] == owner]
        values = own.groupby(["replicate", "number", "cell"])["value"].agg(["mean", "count", "size"])
        table = values["mean"].where(values["count"] == values["size"]).unstack("cell")
        return table.set_axis([tuple(cell) for cell in table.columns], axis=1)

    def contrasts(self) -> dict[str, Weights]:
        """Main effects of the second level less the first, and the interaction of every two factors."""
        mains = {name: f"{name}: {levels[1]} - {levels[0]}" for name, levels in self.factors.items()}
        chosen = [(name,) for name in self.factors] + list(combinations(self.factors, 2))
        return {" × ".join(mains[name] for name in names): self.weights(names) for names in chosen}

    def weights(self, names: tuple[str, ...]) -> Weights:
        cells = list(product(*self.factors.values()))
        share = len(cells) / 2 ** len(names)
        return {cell: self.sign(dict(zip(self.factors, cell, strict=True)), names) / share for cell in cells}

    def sign(self, levels: dict[str, str], names: tuple[str, ...]) -> int:
        return prod(1 if levels[name] == self.factors[name][1] else -1 for name in names)

    def effect(self, outcome: str, contrast: str, weights: Weights) -> dict[str, Any]:
        table = self.table(outcome)[list(weights)]
        differences = (table.dropna() * pandas.Series(weights)).sum(axis=1)
        found = self.estimated(outcome, differences, sum(map(abs, weights.values())))
        scale = self.unit(outcome)
        return {
            "contrast": contrast,
            "difference": scale * found.difference,
            "difference_ci95": found.interval and [scale * end for end in found.interval],
            "p_value": found.p_value,
            "method": found.method,
            "number": found.clusters,
            "left_out": int((self.played(outcome) & table.isna().any(axis=1)).sum()),
        }

    def estimated(self, outcome: str, differences: pandas.Series, weight: float) -> Contrast:
        """Over entities where conversations share them, over the combinations of one entity, else over conversations."""
        if outcome == "rating":
            return self.over_entities(differences)
        low, high = self.bounds(outcome)
        clusters = self.combinations(outcome, differences)
        unit = "talks" if clusters is None else "combinations"
        found = paired(differences, unit, clusters, most=(high - low) * weight / 2)
        assert found is not None
        return found

    def over_entities(self, values: pandas.Series) -> Contrast:
        """The jackknife: each entity is left out with all its conversations."""
        without = self.without_entities(values)
        moments = float(values.mean()), jackknife_variance(without)
        return student(moments, len(without) - 1, "entities", len(without), "jackknife")

    def without_entities(self, values: pandas.Series) -> list[float]:
        members = self.members.loc[values.index]
        names = sorted({name for own in members for name in own})
        return [float(values[[name not in own for own in members]].mean()) for name in names]

    def combinations(self, outcome: str, values: pandas.Series) -> pandas.Series | None:
        """Of an entity's own ratings, where one comes twice."""
        if not outcome.startswith("rating of "):
            return None
        combinations = self.members.loc[values.index].map(";".join)
        return combinations if combinations.duplicated().any() else None

    def played(self, outcome: str) -> pandas.Series:
        """Conversations that were to have a value; of one participant, those that have one in any cell."""
        table = self.table(outcome)
        return table.notna().any(axis=1) if " of " in outcome else pandas.Series(True, table.index)

    def cells(self, outcome: str) -> list[dict[str, Any]]:
        table, scale = self.table(outcome), self.unit(outcome)
        met = self.played(outcome)
        rows = []
        for cell in product(*self.factors.values()):
            known = table[cell].dropna()
            ends = self.interval(outcome, known)
            rows.append(
                {
                    "levels": dict(zip(self.factors, cell, strict=True)),
                    "talks": len(known),
                    "missing": int((met & table[cell].isna()).sum()),
                    "mean": scale * float(known.mean()),
                    "ci95": ends and [scale * end for end in ends],
                }
            )
        return rows

    def interval(self, outcome: str, values: pandas.Series) -> Interval | None:
        """Of a cell's mean."""
        if outcome == "rating":
            return jackknife(float(values.mean()), self.without_entities(values), len(values), self.bounds(outcome))
        clusters = self.combinations(outcome, values)
        if clusters is None:
            numbers = pandas.Series(range(len(values)), index=values.index)
            found = rate(values, numbers, self.bounds(outcome), likeness=1.0)
        else:
            found = rate(values, clusters, self.bounds(outcome))
        return found.interval() if found else None

    def tested(self, hypotheses: list[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Confirmatory: a direction makes the test one-sided, and Holm's correction is over all of them."""
        contrasts, rows = self.contrasts(), []
        for one in hypotheses:
            row = self.effect(one["outcome"], one["contrast"], contrasts[one["contrast"]])
            direction = one.get("direction", "two-sided")
            if direction != "two-sided" and row["p_value"] is not None:
                as_stated = row["difference"] < 0 if direction == "less" else row["difference"] > 0
                row["p_value"] = row["p_value"] / 2 if as_stated else 1 - row["p_value"] / 2
            rows.append({"outcome": one["outcome"], **row})
        adjusted = holm(1.0 if row["p_value"] is None else row["p_value"] for row in rows)
        for row, p_value in zip(rows, adjusted, strict=True):
            row["p_value_holm"] = None if row["p_value"] is None else p_value
        return rows
