"""The statistics of a simulation from simulations.csv and ratings.csv.

What a CSV file does not say, and the config does: the scale of the judge.
"""

import csv
import json
import math
from collections.abc import Iterator
from typing import Any

import pandas
from pandas.api.types import is_numeric_dtype
from scipy import stats

from tests.engine.recomputed.estimators import FEWEST, Interval, correct, jackknife, over_the_run
from tests.engine.recomputed.studies import Published

MEASURES = ("words", "rating")


def recomputed(published: Published) -> dict[str, Any]:
    folder, scale = published.folder, published.scale
    simulations, ratings = (pandas.read_csv(folder / f"{name}.csv") for name in ("simulations", "ratings"))
    rows = speech(simulations[simulations["Status"] == "completed"], ratings)
    failed = simulations[simulations["Status"] == "failed"]
    bounds = {"rating": scale, "words": (0.0, math.inf)}
    rated, unrated = rows["rating"].dropna(), int(rows["rating"].isna().sum())
    return {
        "by_interaction_type": {
            kind: {
                "simulations": len(own),
                "completed": len(own) - int((failed["Interaction Type"] == kind).sum()),
                "failed": int((failed["Interaction Type"] == kind).sum()),
                **{name: int(rows.loc[rows["kind"] == kind, name].sum()) for name in ("messages", "words")},
            }
            for kind, own in simulations.groupby("Interaction Type")
        },
        "combinations_run": rows["combination"].nunique(),
        "words": int(rows["words"].sum()),
        "messages": int(rows["messages"].sum()),
        "judgements": {
            **(mean(rows, "rating", bounds) or {}),
            "given": len(rated),
            "missing": unrated,
            "distribution": {f"{value:g}": int(times) for value, times in rated.value_counts().items()},
        },
        "entities": {
            name: {
                "simulations": own["talk"].nunique(),
                "unrated": int(own["rating"].isna().sum()),
                "failed": sum(name in names_in(cell) for cell in failed["Entity Names"]),
                **{measure: mean(own, measure, bounds, "combination") for measure in MEASURES},
            }
            for name, own in rows.groupby("entity")
        },
        "by_attribute": by_attribute(rows, bounds),
        "over_the_run": drift(rows.dropna(subset="rating"), scale),
        "missing": {"simulations": len(failed), "judgements": unrated},
    }


def speech(completed: pandas.DataFrame, ratings: pandas.DataFrame) -> pandas.DataFrame:
    """A row for each entity of each completed simulation."""
    rows = pandas.DataFrame([row for _, one in completed.iterrows() for row in spoken(one)])
    ratings = ratings.rename(columns={"simulation_id": "talk"})
    return rows.merge(ratings[["talk", "entity", "rating"]], on=["talk", "entity"])


def names_in(cell: str) -> list[str]:
    return next(csv.reader([cell], delimiter=";", skipinitialspace=True))


def spoken(simulation: pandas.Series) -> Iterator[dict[str, Any]]:
    """From the content, in which `Name: text` follows one another with empty lines between."""
    names = names_in(simulation["Entity Names"])
    parts = [part.partition(": ") for part in simulation["Content"].split("\n\n")]
    for name, attributes in zip(names, json.loads(simulation["Attributes"]), strict=True):
        said = [text for speaker, _, text in parts if speaker == name]
        yield {
            "talk": simulation["Simulation ID"],
            "kind": simulation["Interaction Type"],
            "combination": ";".join(sorted(names)),
            "entity": name,
            "attributes": attributes,
            "messages": len(said),
            "words": sum(len(text.split()) for text in said),
        }


def mean(rows: pandas.DataFrame, measure: str, bounds: dict[str, Interval], unit: str = "") -> dict[str, Any] | None:
    """By the jackknife: of one entity each combination is left out, else each entity with all rows of its conversations."""
    known = rows[rows[measure].notna()]
    if known.empty:
        return None
    found = float(known[measure].mean())
    if unit:
        left_out = [known[unit] == one for one in known[unit].unique()]
    else:
        left_out = [known["talk"].isin(own["talk"]) for _, own in known.groupby("entity")]
    if any(out.all() for out in left_out):
        return {"mean": found, "ci95": None}
    without = [float(known.loc[~out, measure].mean()) for out in left_out]
    return {"mean": found, "ci95": jackknife(found, without, len(known), bounds[measure])}


def by_attribute(rows: pandas.DataFrame, bounds: dict[str, Interval]) -> dict[str, Any]:
    attributes = dict(zip(rows["entity"], rows["attributes"], strict=True))
    means = rows.groupby("entity")[list(MEASURES)].mean()
    names = dict.fromkeys(name for own in attributes.values() for name in own)
    values = {name: pandas.Series({one: own[name] for one, own in attributes.items() if name in own}) for name in names}
    tests = {name: {measure: rank_test(own, means[measure]) for measure in MEASURES} for name, own in values.items()}
    correct([test for own in tests.values() for test in own.values()], "p_holm")
    return {name: {"groups": groups(rows, own, bounds), "tests": tests[name]} for name, own in values.items()}


def groups(rows: pandas.DataFrame, values: pandas.Series, bounds: dict[str, Interval]) -> list[dict[str, Any]]:
    """By value; more than five numbers are cut into three groups of about equally many entities."""
    found = values.astype(str)
    if is_numeric_dtype(values) and values.nunique() > 5:
        ordered = sorted(values)
        thirds = sum((values >= ordered[len(values) * third // 3]).astype(int) for third in (1, 2))
        ends = values.groupby(thirds).transform(lambda own: own.min()), values.groupby(thirds).transform("max")
        found = ends[0].astype(str) + "–" + ends[1].astype(str)
    return [
        {
            "value": label,
            "entities": len(members),
            "simulations": len(own),
            **{measure: mean(own, measure, bounds) for measure in MEASURES},
        }
        for label, members in found.groupby(found)
        for own in [rows[rows["entity"].isin(members.index)]]
    ]


def rank_test(values: pandas.Series, means: pandas.Series) -> dict[str, Any]:
    """Spearman's of numbers, Kruskal and Wallis's of groups, over entities' own means."""
    correlation = None
    if is_numeric_dtype(values):
        correlation, p_value = map(float, stats.spearmanr(values, means[values.index]))
    else:
        p_value = stats.kruskal(*(means[own.index] for _, own in values.groupby(values))).pvalue
    return {"correlation": correlation, "p_value": float(p_value) if len(values) >= FEWEST["entities"] else None}


def drift(rated: pandas.DataFrame, scale: Interval) -> dict[str, Any] | None:
    """Mean ratings of conversations, less each entity's own mean."""
    rest = rated["rating"] - rated.groupby("entity")["rating"].transform("mean")
    return over_the_run(rated["rating"].mean() + rest.groupby(rated["talk"], sort=False).mean(), scale)
