"""The statistics of a secret game from outcomes.csv, verdicts.csv and measures.csv.

What a CSV file does not say, and the config does: whether an agent remembers (`linked`).
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas

from tests.engine.recomputed.estimators import (
    UNIT,
    Contrast,
    Interval,
    Rate,
    holm,
    likeness,
    over_the_run,
    paired,
    rate,
    stratified,
)

THIRD, HEAD = "against third agents", "head to head"
SHARES = {"times_revealed_secret": "revealed", "times_obtained_secret": "obtained", "optimal_strategy": "optimal"}
POINTS = (0.0, 3.0)
"""of a side in mode standard"""
SIGNIFICANT = 0.05


def families(rows: list[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """What Holm's correction goes over: all comparisons of the report."""
    return [rows]


def recomputed(folder: Path, *, linked: bool = False) -> dict[str, Any]:
    return Game(folder, linked=linked).statistics()


class Game:
    def __init__(self, folder: Path, *, linked: bool) -> None:
        sides = pandas.read_csv(folder / "outcomes.csv")
        names = ["revealed", "obtained", "opener"]
        sides[names] = sides[names].astype(bool)
        sides["optimal"] = sides["obtained"] & ~sides["revealed"]
        sides["both"], sides["one"] = sides["revealed"] & sides["obtained"], sides["revealed"] ^ sides["obtained"]
        sides["pair"] = sides[["agent", "opponent"]].min(axis=1) + " & " + sides[["agent", "opponent"]].max(axis=1)
        scenarios = sides["scenario"].nunique()
        self.by_scenario = 1 < scenarios < sides["conversation_id"].nunique()
        self.unit = "games" if linked else "scenarios" if self.by_scenario else "talks"
        column = {"games": "game", "scenarios": "scenario", "talks": "conversation_id"}
        sides["cluster"] = sides[column[self.unit]]
        self.sides, self.folder, self.linked = sides, folder, linked
        self.alike = likeness(sides["revealed"].astype(float), sides["agent"], sides["conversation_id"])

    def statistics(self) -> dict[str, Any]:
        sides, agents = self.sides, {name: self.side_row(own) for name, own in self.sides.groupby("agent")}
        compared = self.comparisons([row["agent"] for row in self.order(agents)])
        return {
            "agents": agents,
            "overall": self.talk_row(sides),
            "pairs": {name: self.pair_row(str(name), own) for name, own in sides.groupby("pair")},
            "missing": self.missing(),
            "inference": {
                "clusters": self.unit,
                "talks": sides["conversation_id"].nunique(),
                "games": sides["game"].nunique(),
                "scenarios": sides["scenario"].nunique(),
            },
            "over_the_run": over_the_run(
                sides.groupby("game" if self.linked else "conversation_id")["revealed"].mean(), UNIT, 100
            ),
            "models": {name: self.side_row(own) for name, own in sides.groupby("model")},
            "openers": {
                "opened": self.side_row(sides[sides["opener"]]),
                "answered": self.side_row(sides[~sides["opener"]]),
            },
            "scenarios": self.scenarios(),
            "ranking": self.ranking(agents, compared),
            "comparisons": compared,
            "verdicts": self.verdicts(),
        }

    # -- shares --------------------------------------------------------------------------------------------------------

    def rate(
        self, rows: pandas.DataFrame, column: str, bounds: Interval = UNIT, alike: float | None = None
    ) -> Rate | None:
        known = rows[rows[column].notna()]
        sides_alike = (self.alike if alike is None else alike) if self.unit == "talks" else None
        return rate(known[column].astype(float), known["cluster"], bounds, likeness=sides_alike)

    def side_row(self, rows: pandas.DataFrame, *, scored: bool = True) -> dict[str, Any]:
        row: dict[str, Any] = {"interactions": len(rows), "score": float(rows["score"].sum())}
        for name, column in SHARES.items():
            found = self.rate(rows, column, alike=0.0 if column == "optimal" else None)
            row |= {name: int(rows[column].sum()), **percentage(name, found)}
        if scored:
            mean = self.rate(rows, "score", POINTS)
            row |= {"score_mean": mean and mean.mean, "score_mean_ci95": mean and mean.interval()}
        return row

    def talk_row(self, rows: pandas.DataFrame) -> dict[str, Any]:
        opened = rows[rows["opener"]]
        return {
            "total_interactions": len(opened),
            "total_secrets_revealed": int(rows["revealed"].sum()),
            "both_revealed_count": int(opened["both"].sum()),
            "one_sided_reveals_count": int(opened["one"].sum()),
            **percentage("secrets_revealed", self.rate(rows, "revealed")),
            **percentage("both_revealed", self.rate(opened, "both", alike=0.0)),
            **percentage("one_sided_reveals", self.rate(opened, "one", alike=0.0)),
        }

    def pair_row(self, name: str, rows: pandas.DataFrame) -> dict[str, Any]:
        sides = {agent: self.side_row(own, scored=False) for agent, own in rows.groupby("agent")}
        return {**self.talk_row(rows), "agents": sorted(name.split(" & ")), "sides": sides}

    def scenarios(self) -> dict[str, Any] | None:
        """Within a scenario its conversations are the clusters."""
        if not self.sides["scenario"].nunique():
            return None
        within = Game(self.folder, linked=self.linked)
        within.unit = "games" if self.linked else "talks"
        within.sides["cluster"] = within.sides["game" if self.linked else "conversation_id"]
        return {str(int(name)): within.talk_row(own) for name, own in within.sides.groupby("scenario")}

    def missing(self) -> dict[str, Any]:
        measures = pandas.read_csv(self.folder / "measures.csv")
        lost = measures[(measures["missing"] == 1) & measures["participant"].isna()]
        failed, played, revealed = lost["unit"].nunique(), len(self.sides), int(self.sides["revealed"].sum())
        total = played + 2 * failed
        bounds = [100 * revealed / total, 100 * (revealed + 2 * failed) / total]
        return {"conversations": failed, "percentage": 200 * failed / total, "secrets_revealed_bounds": bounds}

    def verdicts(self) -> dict[str, Any] | None:
        path = self.folder / "verdicts.csv"
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
            **percentage("revealed", self.rate(rows, "verdict", alike=alike)),
        }

    # -- comparisons ---------------------------------------------------------------------------------------------------

    @staticmethod
    def order(agents: dict[Any, dict[str, Any]]) -> list[dict[str, Any]]:
        rows = [{"agent": name, **row} for name, row in agents.items()]
        return sorted(rows, key=lambda row: (-round(row["score_mean"], 9), row["agent"]))

    def comparisons(self, agents: list[str]) -> list[dict[str, Any]]:
        rows = [row for first, second in combinations(agents, 2) for row in self.compared(first, second)]
        for family in families(rows):
            for row, p_value in zip(family, holm(row["p_value"] for row in family), strict=True):
                row["p_value_holm"] = p_value
        return rows

    def compared(self, first: str, second: str) -> Iterator[dict[str, Any]]:
        two = [first, second]
        apart = self.sides[self.sides["agent"].isin(two) & ~self.sides["opponent"].isin(two)]
        together, theirs = (self.facing(*names) for names in (two, two[::-1]))
        for measure, column, bounds, scale in (
            ("score", "score", POINTS, 1),
            ("revealed %", "revealed", UNIT, 100),
            ("obtained %", "obtained", UNIT, 100),
        ):
            arms = [int((apart["agent"] == name).sum()) for name in two]
            found = [(THIRD, self.apart(apart, column, first, bounds), arms)]
            if column != "obtained":
                gaps = together[column].astype(float) - theirs[column].astype(float)
                head = paired(gaps, self.unit, self.clusters(together), bounds[1] - bounds[0], together["opener"])
                found.append((HEAD, head, [len(together)] * 2))
            for estimand, contrast, sides in found:
                if contrast is not None:
                    names = {"agents": two, "measure": measure, "estimand": estimand, "sides": sides}
                    yield names | within_limit(contrast, bounds, scale)

    def facing(self, agent: str, opponent: str) -> pandas.DataFrame:
        """Its sides against that opponent, by conversation."""
        rows = self.sides[(self.sides["agent"] == agent) & (self.sides["opponent"] == opponent)]
        return rows.set_index("conversation_id").sort_index()

    def clusters(self, rows: pandas.DataFrame) -> pandas.Series | None:
        return None if self.unit == "talks" else rows["cluster"]

    def apart(self, rows: pandas.DataFrame, column: str, first: str, bounds: Interval) -> Contrast | None:
        """Against the others that both met, from the same side, and over the same scenario where these repeat."""
        known = rows[rows[column].notna()]
        strata = known["opponent"] + known["opener"].astype(str)
        if self.by_scenario:
            strata += known["scenario"].astype(str)
        values, is_first = known[column].astype(float), known["agent"] == first
        return stratified(values, is_first, strata, self.unit, self.clusters(known), bounds)

    def ranking(self, agents: dict[Any, dict[str, Any]], compared: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The ranks that no significant difference of scores rules out."""
        scores = [row for row in compared if row["measure"] == "score" and row["p_value_holm"] is not None]
        won = [row for row in scores if row["p_value_holm"] < SIGNIFICANT]
        winners = {tuple(row["agents"] if row["difference"] > 0 else row["agents"][::-1]) for row in won}
        places = []
        for row in self.order(agents):
            name, mean = row["agent"], row["score_mean"]
            rank = 1 + sum(other["score_mean"] > mean + 1e-9 for other in agents.values())
            best = 1 + sum(loser == name for _, loser in winners)
            worst = len(agents) - sum(winner == name for winner, _ in winners)
            known = any(name in score["agents"] for score in scores)
            limits = [min(rank, best), max(rank, worst)] if known else None
            own = {"score_mean": mean, "score_mean_ci95": row["score_mean_ci95"]}
            places.append({"agent": name, "rank": rank, "rank_ci95": limits, **own})
        return places


def percentage(name: str, found: Rate | None) -> dict[str, Any]:
    interval = found.interval() if found else None
    return {
        f"{name}_percentage": found and 100 * found.mean,
        f"{name}_ci95": interval and [100 * end for end in interval],
    }


def within_limit(contrast: Contrast, bounds: Interval, scale: float) -> dict[str, Any]:
    """An interval ends where differences do."""
    limit = max(bounds[1] - bounds[0], abs(contrast.difference))
    ends = contrast.interval and [scale * min(limit, max(-limit, end)) for end in contrast.interval]
    return {
        "difference": scale * contrast.difference,
        "difference_ci95": ends,
        "p_value": contrast.p_value,
        "method": contrast.method,
        "clusters": contrast.clusters,
    }
