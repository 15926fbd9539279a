"""The report of a study with two levels for each factor, from measures.csv alone: its columns name the cell of each value.

Hypotheses were stated in the config. What a CSV file does not say, and the config does: the bounds of the values.
"""

import json
from collections.abc import Mapping
from itertools import combinations, product
from math import prod
from typing import Any

import pandas

from tests.engine.recomputed.estimators import (
    UNIT,
    Contrast,
    Interval,
    correct,
    jackknife,
    jackknife_variance,
    paired,
    rate,
    student,
)
from tests.engine.recomputed.studies import Published

COLUMNS = ["batch_id", "unit", "participant", "measure", "value", "cluster", "block", "missing", "replicate"]
Weights = dict[tuple[str, ...], float]
"""of cells"""


def recomputed(published: Published) -> dict[str, Any]:
    """Of all participants, and of the one that a factor or a hypothesis names."""
    design = Design(pandas.read_csv(published.folder / "measures.csv"), published.scale)
    hypotheses = published.config["design"]["hypotheses"]
    scored = "score" in set(design.rows["measure"])
    more = [f"{name} of Ada" for name in ("revealed", "obtained", "score")] if scored else ["rating of Hypatia"]
    names = [name for name in ("revealed", "score", "rating") if name in set(design.rows["measure"])] + more
    stated = {(one["outcome"], one["contrast"]) for one in hypotheses}
    effects = {
        outcome: [
            design.effect(outcome, contrast, weights)
            for contrast, weights in design.contrasts().items()
            if (outcome, contrast) not in stated
        ]
        for outcome in names
    }
    correct([row for own in effects.values() for row in own])
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
        self.rows, self.scale = rows, scale

    def bounds(self, outcome: str) -> Interval:
        return self.scale if outcome.split(" of ")[0] in ("score", "rating") else UNIT

    def unit(self, outcome: str) -> float:
        """100 where it is told in per cent."""
        return 1.0 if self.bounds(outcome) == self.scale else 100.0

    def table(self, outcome: str) -> pandas.DataFrame:
        """A row for each matched conversation, a column for each cell: means over participants, where none is missing."""
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
        table, scale, (low, high) = self.table(outcome)[list(weights)], self.unit(outcome), self.bounds(outcome)
        differences = (table.dropna() * pandas.Series(weights)).sum(axis=1)
        if outcome == "rating":
            found = over_entities(differences, self.members)
        else:
            clusters = self.combinations(outcome, differences)
            unit = "talks" if clusters is None else "combinations"
            found = paired(differences, unit, clusters, (high - low) * sum(map(abs, weights.values())) / 2)
        return {
            "contrast": contrast,
            **found.row(scale),
            "number": found.clusters,
            **self.missing("left_out", outcome, table.isna().any(axis=1)),
        }

    def combinations(self, outcome: str, values: pandas.Series) -> pandas.Series | None:
        """Of an entity's own ratings, where one comes twice."""
        if not outcome.startswith("rating of "):
            return None
        combinations = self.members.loc[values.index].map(";".join)
        return combinations if combinations.duplicated().any() else None

    def missing(self, name: str, outcome: str, lost: pandas.Series) -> dict[str, int]:
        """Of conversations that were to have a value. Who met in a game that failed no CSV file says."""
        measure, _, owner = outcome.partition(" of ")
        if owner and measure != "rating":
            return {}
        own = self.members[[not owner or owner in names for names in self.members]].index
        return {name: len(own) - int((~lost).sum())}

    def cells(self, outcome: str) -> list[dict[str, Any]]:
        table, scale, rows = self.table(outcome), self.unit(outcome), []
        for cell in product(*self.factors.values()):
            known = table[cell].dropna()
            ends = self.interval(outcome, known)
            rows.append(
                {
                    "levels": dict(zip(self.factors, cell, strict=True)),
                    "talks": len(known),
                    **self.missing("missing", outcome, table[cell].isna()),
                    "mean": scale * float(known.mean()),
                    "ci95": ends and [scale * end for end in ends],
                }
            )
        return rows

    def interval(self, outcome: str, values: pandas.Series) -> Interval | None:
        """Of a cell's mean."""
        bounds, clusters = self.bounds(outcome), self.combinations(outcome, values)
        if outcome == "rating":
            return jackknife(float(values.mean()), without_entities(values, self.members), len(values), bounds)
        talks = pandas.Series(range(len(values)), index=values.index)
        found = rate(values, talks, bounds, likeness=1.0) if clusters is None else rate(values, clusters, bounds)
        return found.interval() if found else None

    def tested(self, hypotheses: list[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Confirmatory: a direction makes the test one-sided, and Holm's correction is over all of them."""
        contrasts, rows = self.contrasts(), []
        for one in hypotheses:
            row = self.effect(one["outcome"], one["contrast"], contrasts[one["contrast"]])
            sign = {"less": -1, "greater": 1}.get(one.get("direction", ""))
            if sign and row["p_value"] is not None:
                as_stated = sign * row["difference"] > 0
                row["p_value"] = row["p_value"] / 2 if as_stated else 1 - row["p_value"] / 2
            rows.append({"outcome": one["outcome"], **row})
        correct(rows, untested=1.0)
        return rows


def over_entities(values: pandas.Series, members: pandas.Series) -> Contrast:
    """The jackknife: each entity is left out with all its conversations."""
    without = without_entities(values, members)
    moments = float(values.mean()), jackknife_variance(without)
    return student(moments, len(without) - 1, "entities", len(without), "jackknife")


def without_entities(values: pandas.Series, members: pandas.Series) -> list[float]:
    casts = members.loc[values.index]
    names = sorted({name for own in casts for name in own})
    return [float(values[[name not in own for own in casts]].mean()) for name in names]
