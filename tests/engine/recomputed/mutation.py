"""The statistics of a mutation from measures.csv, steps.csv and training.csv."""

from pathlib import Path
from typing import Any

import pandas

from tests.engine.recomputed.estimators import holm, mean_of, paired, tested

SMOOTHING = 0.3


def recomputed(folder: Path) -> dict[str, Any]:
    measures, steps = pandas.read_csv(folder / "measures.csv"), pandas.read_csv(folder / "steps.csv")
    training, played = (steps[steps["split"] == split] for split in ("training", "heldout"))
    updates = pandas.read_csv(folder / "training.csv").rename(columns={"update_number": "update"})
    updates["smoothed"] = updates["mean_reward"].ewm(alpha=SMOOTHING, adjust=False).mean()
    (learner,) = set(training["player"]) - {"random"}
    by_learner, by_chance = (training[training["player"] == name] for name in (learner, "random"))
    operators = sorted(set(by_learner["operator"]) | set(by_chance["operator"]))
    return {
        "learner": learner,
        "updates": updates.drop(columns="batch_id").to_dict("records"),
        "operators": by_operator(by_learner, operators),
        "heldout_operators": by_operator(played[played["player"] == "policy"], operators),
        "baselines": {"random": {"operators": by_operator(by_chance, operators)}},
        "heldout": held_out(measures, operators),
        "masked_steps": int(steps["reward"].isna().sum()),
        "fallback_rewrites": int(steps["fell_back"].sum()),
        "phases": {"training": losses(by_learner), "heldout": losses(played), "random": losses(by_chance)},
    }


def by_operator(steps: pandas.DataFrame, operators: list[str]) -> dict[str, Any]:
    rewards = {name: steps.loc[steps["operator"] == name, "reward"].dropna() for name in operators}
    return {
        name: {"uses": len(own), "mean_reward": float(own.mean()) if len(own) else None}
        for name, own in rewards.items()
    }


def losses(steps: pandas.DataFrame) -> dict[str, int]:
    return {
        "episodes": steps["conversation_id"].nunique(),
        "env_steps": int(steps["reward"].notna().sum()),
        "masked_steps": int(steps["reward"].isna().sum()),
        "fallback_rewrites": int(steps["fell_back"].sum()),
    }


def held_out(measures: pandas.DataFrame, operators: list[str]) -> dict[str, Any]:
    """A query's score is the mean over its episodes; queries that any contender lost are left out."""
    table = measures.pivot_table("value", "cluster", "participant", dropna=False)
    scores = table.dropna()
    best = max(operators, key=lambda name: float(scores[name].mean()))
    baselines = {"random": "random", "best_constant": best, "unchanged": "noop"}
    gains = differences(scores, baselines, len(operators))
    return {
        **{name: reward(scores[column]) for name, column in {"policy": "policy", **baselines}.items()},
        "best_constant": {**reward(scores[best]), "operator": best},
        "differences": gains,
        "others": {name: reward(scores[name]) for name in operators},
        "queries": len(scores),
        "missing": len(table) - len(scores),
    }


def difference(gain: dict[str, Any]) -> dict[str, Any]:
    return {name: gain[name] for name in ("difference", "ci95")}


def reward(scores: pandas.Series) -> dict[str, Any]:
    found = mean_of(scores.to_numpy(), "talks")
    ends = found.interval if found else None
    return {"mean_reward": float(scores.mean()), "ci95": ends and [max(0.0, ends[0]), min(1.0, ends[1])]}


def differences(scores: pandas.DataFrame, baselines: dict[str, str], operators: int) -> dict[str, Any]:
    """Query by query. That the luckiest operator is ahead is a claim about all of them."""
    gains = {}
    for name, column in baselines.items():
        found = paired(scores["policy"] - scores[column], "talks")
        luckiest = name == "best_constant" and found.difference < 0
        p_value = min(1.0, (operators if luckiest else 1) * found.p_value)
        known = tested("pairs", found.clusters)
        gains[name] = {
            "difference": found.difference,
            "ci95": found.interval,
            "p_value": p_value if known else None,
        }
    for gain, p_value in zip(gains.values(), holm(gain["p_value"] for gain in gains.values()), strict=True):
        gain["p_value_holm"] = p_value
    return gains
