"""The statistics of a mutation from measures.csv, steps.csv and training.csv."""

from typing import Any

import pandas

from tests.engine.recomputed.estimators import FEWEST, UNIT, correct, mean_interval, paired
from tests.engine.recomputed.studies import Published

SMOOTHING = 0.3


def recomputed(published: Published) -> dict[str, Any]:
    folder = published.folder
    measures, steps = pandas.read_csv(folder / "measures.csv"), pandas.read_csv(folder / "steps.csv")
    training, played = (steps[steps["split"] == split] for split in ("training", "heldout"))
    updates = pandas.read_csv(folder / "training.csv").rename(columns={"update_number": "update"})
    updates["smoothed"] = updates["mean_reward"].ewm(alpha=SMOOTHING, adjust=False).mean()
    (learner,) = set(training["player"]) - {"random"}
    by_learner, by_chance = (training[training["player"] == name] for name in (learner, "random"))
    operators = sorted(set(training["operator"]))
    return {
        "learner": learner,
        "updates": updates.drop(columns="batch_id").to_dict("records"),
        "operators": by_operator(by_learner, operators),
        "heldout_operators": by_operator(played[played["player"] == "policy"], operators),
        "baselines": {"random": {"operators": by_operator(by_chance, operators)}},
        "heldout": held_out(measures.pivot_table("value", "cluster", "participant", dropna=False), operators),
        **losses(steps),
        "phases": {
            name: {"episodes": own["conversation_id"].nunique(), "env_steps": int(own["reward"].count()), **losses(own)}
            for name, own in (("training", by_learner), ("heldout", played), ("random", by_chance))
        },
    }


def by_operator(steps: pandas.DataFrame, operators: list[str]) -> dict[str, Any]:
    rewards = {name: steps.loc[steps["operator"] == name, "reward"].dropna() for name in operators}
    return {
        name: {"uses": len(own), "mean_reward": float(own.mean()) if len(own) else None}
        for name, own in rewards.items()
    }


def losses(steps: pandas.DataFrame) -> dict[str, int]:
    return {"masked_steps": int(steps["reward"].isna().sum()), "fallback_rewrites": int(steps["fell_back"].sum())}


def held_out(table: pandas.DataFrame, operators: list[str]) -> dict[str, Any]:
    """A query's score is the mean over its episodes; queries that any contender lost are left out."""
    scores = table.dropna()
    best = max(operators, key=lambda name: float(scores[name].mean()))
    columns = {"random": "random", "best_constant": best, "unchanged": "noop"}
    gains = {name: gain(scores["policy"] - scores[column]) for name, column in columns.items()}
    if gains["best_constant"]["difference"] < 0:  # That the luckiest operator is ahead is a claim about all of them.
        gains["best_constant"]["p_value"] = min(1.0, len(operators) * gains["best_constant"]["p_value"])
    correct(list(gains.values()))
    rewards = {
        name: {"mean_reward": float(own.mean()), "ci95": mean_interval(own, UNIT)} for name, own in scores.items()
    }
    return {
        **{name: rewards[column] for name, column in {"policy": "policy", **columns}.items()},
        "best_constant": {**rewards[best], "operator": best},
        "differences": gains,
        "others": {name: rewards[name] for name in operators},
        "queries": len(scores),
        "missing": len(table) - len(scores),
    }


def gain(differences: pandas.Series) -> dict[str, Any]:
    """Query by query."""
    found = paired(differences)
    p_value = found.p_value if found.clusters >= FEWEST["pairs"] else None
    return {"difference": found.difference, "ci95": found.interval, "p_value": p_value}
