"""The statistics of a simulation from simulations.csv and ratings.csv.

What a CSV file does not say, and the config does: the scale of the judge.
"""

import csv
import json
import math
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas
from scipy import stats

from tests.engine.recomputed.estimators import Interval, holm, jackknife, over_the_run, tested

MEASURES = ("words", "rating")


def families(tests: list[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """What Holm's correction goes over: all attributes and both measures."""
    return [tests]


def recomputed(folder: Path, scale: Interval) -> dict[str, Any]:
    simulations = pandas.read_csv(folder / "simulations.csv")
    speech = Speech(simulations, pandas.read_csv(folder / "ratings.csv"), scale)
    rated, unrated = speech.rows["rating"].dropna(), int(speech.rows["rating"].isna().sum())
    return {
        "by_interaction_type": {
            kind: {
                "simulations": len(own),
                "completed": int((own["Status"] == "completed").sum()),
                "failed": int((own["Status"] == "failed").sum()),
                **{
                    name: int(speech.rows.loc[speech.rows["kind"] == kind, name].sum())
                    for name in ("messages", "words")
                },
            }
            for kind, own in simulations.groupby("Interaction Type")
        },
        "combinations_run": speech.rows["combination"].nunique(),
        "words": int(speech.rows["words"].sum()),
        "messages": int(speech.rows["messages"].sum()),
        "judgements": {
            **(speech.mean("rating", set(speech.rows["entity"])) or {}),
            "given": len(rated),
            "missing": unrated,
            "distribution": {f"{value:g}": int(times) for value, times in rated.value_counts().items()},
        },
        "entities": speech.by_entity(simulations.loc[simulations["Status"] == "failed", "Entity Names"]),
        "by_attribute": speech.by_attribute(),
        "over_the_run": speech.over_the_run(scale),
        "missing": {"simulations": int((simulations["Status"] == "failed").sum()), "judgements": unrated},
    }


class Speech:
    """A row for each entity of each completed simulation."""

    def __init__(self, simulations: pandas.DataFrame, ratings: pandas.DataFrame, scale: Interval) -> None:
        done = simulations[simulations["Status"] == "completed"]
        rows = pandas.DataFrame([row for _, one in done.iterrows() for row in spoken(one)])
        self.rows = rows.merge(
            ratings.rename(columns={"simulation_id": "talk"})[["talk", "entity", "rating"]], on=["talk", "entity"]
        )
        self.attributes: dict[str, dict[str, Any]] = dict(zip(rows["entity"], rows["attributes"], strict=True))
        self.bounds = {"rating": scale, "words": (0.0, math.inf)}

    def mean(self, measure: str, members: set[str]) -> dict[str, Any] | None:
        """Over the rows of these entities; each one is left out together with all rows of its conversations."""
        known = self.rows[self.rows["entity"].isin(members) & self.rows[measure].notna()]
        if known.empty:
            return None
        units = [known.loc[known["entity"] == name, "talk"] for name in known["entity"].unique()]
        return self._jackknife(measure, known, [known["talk"].isin(talks) for talks in units])

    def own_mean(self, measure: str, entity: str) -> dict[str, Any] | None:
        """Over its own rows; each combination of entities is left out with all its conversations."""
        known = self.rows[(self.rows["entity"] == entity) & self.rows[measure].notna()]
        if known.empty:
            return None
        return self._jackknife(measure, known, [known["combination"] == one for one in known["combination"].unique()])

    def _jackknife(self, measure: str, known: pandas.DataFrame, left_out: list[pandas.Series]) -> dict[str, Any]:
        mean = float(known[measure].mean())
        if any(out.all() for out in left_out):
            return {"mean": mean, "ci95": None}
        without = [float(known.loc[~out, measure].mean()) for out in left_out]
        ends = jackknife(mean, without, len(known), self.bounds[measure])
        return {"mean": mean, "ci95": ends and list(ends)}

    def by_entity(self, failed: pandas.Series) -> dict[str, Any]:
        lost = pandas.Series([name for cell in failed for name in names_in(cell)], dtype=str)
        return {
            str(name): {
                "simulations": own["talk"].nunique(),
                "unrated": int(own["rating"].isna().sum()),
                "failed": int((lost == name).sum()),
                **{measure: self.own_mean(measure, str(name)) for measure in MEASURES},
            }
            for name, own in self.rows.groupby("entity")
        }

    def by_attribute(self) -> dict[str, Any]:
        names = dict.fromkeys(name for own in self.attributes.values() for name in own)
        values = {name: {entity: own[name] for entity, own in self.attributes.items() if name in own} for name in names}
        tests = self.tests(values)
        return {
            name: {
                "groups": [
                    {
                        "value": label,
                        "entities": len(members),
                        "simulations": int(self.rows["entity"].isin(members).sum()),
                        **{measure: self.mean(measure, members) for measure in MEASURES},
                    }
                    for label, members in groups(own).items()
                ],
                "tests": {test["measure"]: test["found"] for test in tests if test["attribute"] == name},
            }
            for name, own in values.items()
        }

    def over_the_run(self, scale: Interval) -> dict[str, Any] | None:
        """Mean ratings of conversations, less each entity's own mean."""
        rated = self.rows.dropna(subset="rating")
        rest = rated["rating"] - rated.groupby("entity")["rating"].transform("mean")
        by_talk = rest.groupby(rated["talk"], sort=False).mean()
        return over_the_run(rated["rating"].mean() + by_talk, scale)

    def tests(self, values: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
        """Of entities' own means."""
        tests = [
            {
                "attribute": name,
                "measure": measure,
                "found": rank_test(own, self.rows.groupby("entity")[measure].mean()),
            }
            for name, own in values.items()
            for measure in MEASURES
        ]
        for family in families(tests):
            for test, p_value in zip(family, holm(test["found"]["p_value"] for test in family), strict=True):
                test["found"]["p_holm"] = p_value
        return tests


def names_in(cell: str) -> list[str]:
    return next(csv.reader([cell], delimiter=";", skipinitialspace=True))


def spoken(simulation: pandas.Series) -> Iterator[dict[str, Any]]:
    """From the content, in which `Name: text` follows one another with empty lines between."""
    names = names_in(simulation["Entity Names"])
    said: dict[str, list[str]] = {name: [] for name in names}
    for part in simulation["Content"].split("\n\n"):
        name, _, text = part.partition(": ")
        said[name].append(text)
    for name, own in zip(names, json.loads(simulation["Attributes"]), strict=True):
        yield {
            "talk": simulation["Simulation ID"],
            "kind": simulation["Interaction Type"],
            "combination": ";".join(sorted(names)),
            "entity": name,
            "attributes": own,
            "messages": len(said[name]),
            "words": sum(len(text.split()) for text in said[name]),
        }


def is_numeric(values: Iterable[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def groups(values: dict[str, Any]) -> dict[str, set[str]]:
    """By value; more than five numbers are cut into three groups of about equally many entities."""
    distinct = sorted(set(values.values()))
    if not is_numeric(distinct) or len(distinct) <= 5:
        return {str(value): {name for name, own in values.items() if own == value} for value in distinct}
    ordered = sorted(values.values())
    edges = [ordered[len(ordered) * third // 3] for third in (1, 2)]
    cut: dict[int, set[str]] = {0: set(), 1: set(), 2: set()}
    for name, value in values.items():
        cut[sum(value >= edge for edge in edges)].add(name)
    ends = {place: [values[name] for name in members] for place, members in cut.items() if members}
    return {f"{min(own)}–{max(own)}": cut[place] for place, own in ends.items()}


def rank_test(values: dict[str, Any], means: pandas.Series) -> dict[str, Any]:
    """Spearman's of numbers, Kruskal and Wallis's of groups."""
    names = [name for name in values if name in means.index]
    if is_numeric(values.values()):
        correlation, p_value = stats.spearmanr([values[name] for name in names], means[names])
    else:
        ordered = sorted(names, key=lambda name: str(values[name]))
        samples = [means[list(own)] for _, own in groupby(ordered, key=values.__getitem__)]
        correlation, p_value = None, stats.kruskal(*samples).pvalue
    may_test = tested("entities", len(names))
    return {
        "correlation": None if correlation is None else float(correlation),
        "p_value": float(p_value) if may_test else None,
    }
