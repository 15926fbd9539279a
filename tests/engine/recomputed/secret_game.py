"""The statistics of a secret game from outcomes.csv, verdicts.csv and measures.csv.

What a CSV file does not say, and the config does: whether an agent remembers (`linked`).
"""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas

from tests.engine.recomputed.estimators import (
    FEWEST,
    UNIT,
    Contrast,
    Interval,
    Rate,
    correct,
    likeness,
    over_the_run,
    paired,
    rate,
    stratified,
)
from tests.engine.recomputed.studies import Published

SHARES = {"times_revealed_secret": "revealed", "times_obtained_secret": "obtained", "optimal_strategy": "optimal"}
POINTS = (0.0, 3.0)
"""of a side in mode standard"""
COMPARED = {"score": ("score", POINTS, 1), "revealed %": ("revealed", UNIT, 100), "obtained %": ("obtained", UNIT, 100)}
SIGNIFICANT = 0.05
COLUMN = {"games": "game", "scenarios": "scenario", "talks": "conversation_id"}
"""of the clusters"""


def recomputed(published: Published) -> dict[str, Any]:
    folder, linked = published.folder, any(agent.get("memory") == "long" for agent in published.config["agents"])
    sides = pandas.read_csv(folder / "outcomes.csv")
    names = ["revealed", "obtained", "opener"]
    sides[names] = sides[names].astype(bool)
    sides["optimal"] = sides["obtained"] & ~sides["revealed"]
    sides["both"], sides["one"] = sides["revealed"] & sides["obtained"], sides["revealed"] ^ sides["obtained"]
    sides["pair"] = sides[["agent", "opponent"]].min(axis=1) + " & " + sides[["agent", "opponent"]].max(axis=1)
    talks, scenarios = sides["conversation_id"].nunique(), sides["scenario"].nunique()
    within = "games" if linked else "talks"
    game = Game(sides, "scenarios" if 1 < scenarios < talks and not linked else within)
    agents = {name: game.side_row(own) for name, own in sides.groupby("agent")}
    ranked = sorted(agents, key=lambda name: (-round(agents[name]["score_mean"], 9), name))
    compared = [row for two in combinations(ranked, 2) for row in game.compared(*two)]
    correct(compared)
    sides["steady"] = revealed = sides["revealed"].astype(float)
    if game.unit == "scenarios":
        sides["steady"] = revealed.mean() + revealed - revealed.groupby(sides["scenario"]).transform("mean")
    drift = sides.groupby(COLUMN[within])["steady"].mean()
    return {
        "agents": agents,
        "overall": game.talk_row(sides),
        "pairs": {name: game.pair_row(str(name), own) for name, own in sides.groupby("pair")},
        "missing": missing(pandas.read_csv(folder / "measures.csv"), sides),
        "inference": {"clusters": game.unit, "talks": talks, "games": sides["game"].nunique(), "scenarios": scenarios},
        "over_the_run": over_the_run(drift, UNIT, 100),
        "models": {name: game.side_row(own) for name, own in sides.groupby("model")},
        "openers": {
            name: game.side_row(sides[sides["opener"] == opened])
            for name, opened in (("opened", True), ("answered", False))
        },
        # Within a scenario its conversations are the clusters.
        "scenarios": {str(int(name)): Game(sides, within).talk_row(own) for name, own in sides.groupby("scenario")}
        or None,
        "ranking": ranking(ranked, agents, compared),
        "comparisons": compared,
        "verdicts": game.verdicts(folder / "verdicts.csv"),
    }


class Game:
    def __init__(self, sides: pandas.DataFrame, unit: str) -> None:
        self.unit, self.sides = unit, sides.assign(cluster=sides[COLUMN[unit]])
        self.alike = likeness(sides["revealed"].astype(float), sides["agent"], sides["conversation_id"])

    # -- shares --------------------------------------------------------------------------------------------------------

    def rate(self, rows: pandas.DataFrame, column: str, alike: float, bounds: Interval = UNIT) -> Rate | None:
        known = rows[rows[column].notna()]
        likely = alike if self.unit == "talks" else None
        return rate(known[column].astype(float), known[COLUMN[self.unit]], bounds, likeness=likely)

    def side_row(self, rows: pandas.DataFrame, *, scored: bool = True) -> dict[str, Any]:
        row: dict[str, Any] = {"interactions": len(rows), "score": float(rows["score"].sum())}
        for name, column in SHARES.items():
            found = self.rate(rows, column, 0.0 if column == "optimal" else self.alike)
            row |= {name: int(rows[column].sum()), **percentage(name, found)}
            if not scored and len(rows) < FEWEST["pairs"]:
                row[f"{name}_ci95"] = None
        if scored:
            mean = self.rate(rows, "score", self.alike, POINTS)
            row |= {"score_mean": mean and mean.mean, "score_mean_ci95": mean and mean.interval()}
        return row

    def talk_row(self, rows: pandas.DataFrame) -> dict[str, Any]:
        opened = rows[rows["opener"]]
        return {
            "total_interactions": len(opened),
            "total_secrets_revealed": int(rows["revealed"].sum()),
            "both_revealed_count": int(opened["both"].sum()),
            "one_sided_reveals_count": int(opened["one"].sum()),
            **percentage("secrets_revealed", self.rate(rows, "revealed", self.alike)),
            **percentage("both_revealed", self.rate(opened, "both", 0.0)),
            **percentage("one_sided_reveals", self.rate(opened, "one", 0.0)),
        }

    def pair_row(self, name: str, rows: pandas.DataFrame) -> dict[str, Any]:
        sides = {agent: self.side_row(own, scored=False) for agent, own in rows.groupby("agent")}
        return {**self.talk_row(rows), "agents": sorted(name.split(" & ")), "sides": sides}

    def verdicts(self, path: Path) -> dict[str, Any] | None:
        if not path.exists():
            return None
        keys = ["conversation_id", "agent", "opponent", "opener"]
        judged = pandas.read_csv(path).astype({"opener": bool})[[*keys, "verdict"]]
        sides = self.sides.merge(judged, on=keys, how="left")
        alike = likeness(sides["verdict"].fillna(0.0), sides["agent"], sides["conversation_id"])
        agents = {name: self.verdict_row(own, alike) for name, own in sides.groupby("agent")}
        return {"overall": self.verdict_row(sides, alike), "agents": agents}

    def verdict_row(self, rows: pandas.DataFrame, alike: float) -> dict[str, Any]:
        return {
            "sides": len(rows),
            "revealed": int((rows["verdict"] == 1).sum()),
            "only_judge": int(((rows["verdict"] == 1) & ~rows["revealed"]).sum()),
            "only_wording": int(((rows["verdict"] == 0) & rows["revealed"]).sum()),
            "missing": int(rows["verdict"].isna().sum()),
            **percentage("revealed", self.rate(rows, "verdict", alike)),
        }

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def compared(self, *two: str) -> Iterator[dict[str, Any]]:
        sides = self.sides[self.sides["agent"].isin(two)]
        apart, together = (sides[sides["opponent"].isin(two) == met] for met in (False, True))
        head = together[together["agent"] != together["opponent"]].set_index("conversation_id").sort_index()
        ours, theirs = (head[head["agent"] == name] for name in two)
        for measure, (column, bounds, scale) in COMPARED.items():
            found = {"against third agents": self.apart(apart, column, two[0], bounds)}
            arms = [int((apart["agent"] == name).sum()) for name in two]
            if column != "obtained":
                gaps, clusters = ours[column].astype(float) - theirs[column].astype(float), ours["cluster"]
                own = None if self.unit == "talks" else clusters
                found["head to head"] = paired(gaps, self.unit, own, bounds[1] - bounds[0], ours["opener"])
            for question, contrast in found.items():
                if contrast is not None:
                    number = [len(ours)] * 2 if question == "head to head" else arms
                    names = {"agents": list(two), "measure": measure, "question": question, "sides": number}
                    yield names | contrast.row(scale, bounds[1] - bounds[0]) | {"clusters": contrast.clusters}

    def apart(self, rows: pandas.DataFrame, column: str, first: str, bounds: Interval) -> Contrast | None:
        """Against the others that both met, from the same side, and over the same scenario where these repeat."""
        known = rows[rows[column].notna()]
        strata = known["opponent"] + known["opener"].astype(str)
        if self.unit == "scenarios":
            strata += known["scenario"].astype(str)
        values, is_first = known[column].astype(float), known["agent"] == first
        return stratified(known.assign(value=values, first=is_first, stratum=strata), self.unit, bounds)


def missing(measures: pandas.DataFrame, sides: pandas.DataFrame) -> dict[str, Any]:
    lost = measures[(measures["missing"] == 1) & measures["participant"].isna()]
    failed, revealed = lost["unit"].nunique(), int(sides["revealed"].sum())
    total = len(sides) + 2 * failed
    bounds = [100 * revealed / total, 100 * (revealed + 2 * failed) / total]
    return {"conversations": failed, "percentage": 200 * failed / total, "secrets_revealed_bounds": bounds}


def ranking(ranked: list[Any], agents: dict[Any, Any], compared: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ranks that no significant difference of scores rules out."""
    scores = [row for row in compared if row["measure"] == "score" and row["p_value_holm"] is not None]
    won = [row for row in scores if row["p_value_holm"] < SIGNIFICANT]
    winners = {tuple(row["agents"] if row["difference"] > 0 else row["agents"][::-1]) for row in won}
    places = []
    for name in ranked:
        own = {key: agents[name][key] for key in ("score_mean", "score_mean_ci95")}
        rank = 1 + sum(other["score_mean"] > own["score_mean"] + 1e-9 for other in agents.values())
        best = 1 + sum(loser == name for _, loser in winners)
        worst = len(agents) - sum(winner == name for winner, _ in winners)
        known = any(name in score["agents"] for score in scores)
        limits = [min(rank, best), max(rank, worst)] if known else None
        places.append({"agent": name, "rank": rank, "rank_ci95": limits, **own})
    return places


def percentage(name: str, found: Rate | None) -> dict[str, Any]:
    interval = found.interval() if found else None
    return {
        f"{name}_percentage": found and 100 * found.mean,
        f"{name}_ci95": interval and [100 * end for end in interval],
    }
