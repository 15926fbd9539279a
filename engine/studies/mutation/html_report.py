"""A mutation's part of an HTML report: what the policy is worth on held-out queries, and how it was learnt."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.exports.drawings import curves, means_with_intervals
from tidepool.engine.exports.html import Content, Html, element, section, table

Row = Mapping[str, Any]


def sections(statistics: Mapping[str, Any]) -> Iterator[Html]:
    yield section("On held-out queries", *_heldout(statistics), _losses(statistics))
    if statistics["updates"]:
        yield section("Reward while learning, smoothed", _curve(statistics))
        yield section("Updates", _updates(statistics["updates"]))
    yield section("Operators", _operators(statistics["operators"], statistics["updates"]))


def _heldout(statistics: Mapping[str, Any]) -> Iterator[Html]:
    heldout = statistics["heldout"]
    if not heldout:
        yield element("p", "Not yet compared on held-out queries.")
        return
    found = {f"policy ({statistics['learner']})": heldout["policy"], "random": heldout["random"]}
    found[f"always {heldout['best_constant']['operator']} (the best)"] = heldout["best_constant"]
    found |= {name: heldout["others"][name] for name in statistics["baselines"] if name in heldout["others"]}
    gains = ["", _estimate(heldout["policy_over_random"], "difference")]
    gains += [_estimate(heldout["policy_over_best_constant"], "difference")] + [""] * (len(found) - 3)
    rows: list[list[Content]] = [
        [name, _estimate(row), gain] for (name, row), gain in zip(found.items(), gains, strict=True)
    ]
    missing = f", {heldout['missing']:,} left out because answers are missing" if heldout["missing"] else ""
    yield element("p", f"{heldout['queries']:,} queries never trained on{missing}; reward {statistics['reward']}.")
    yield table(["who", "mean reward (95 %)", "policy gains (95 %)"], rows)
    yield means_with_intervals(
        [(name, row["mean_reward"], row["ci95"]) for name, row in found.items() if row["mean_reward"] is not None]
    )


def _losses(statistics: Mapping[str, Any]) -> Html:
    masked, fallen = statistics["masked_steps"], statistics["fallback_rewrites"]
    told = f"{masked:,} steps masked, as their answers were lost; {fallen:,} rewrites fell back to the query as it was."
    return element("p", told, class_="soft")


def _curve(statistics: Mapping[str, Any]) -> Html:
    series = {statistics["learner"]: statistics["updates"]}
    series |= {name: baseline["updates"] for name, baseline in statistics["baselines"].items()}
    return curves({name: [update["smoothed"] for update in updates] for name, updates in series.items()})


def _updates(updates: list[Row]) -> Html:
    rows: list[list[Content]] = [
        [row["update"], f"{row['env_steps']:,}", f"{row['mean_reward']:.3f}", f"{100 * row['success_rate']:.0f} %"]
        for row in updates
    ]
    return table(["update", "answered steps", "mean reward", "episodes that ended well"], rows)


def _operators(operators: Mapping[str, Row], updates: list[Row]) -> Html:
    total = sum(row["uses"] for row in operators.values())
    rows: list[list[Content]] = []
    for name, row in operators.items():
        reward = "–" if row["mean_reward"] is None else f"{row['mean_reward']:.3f}"
        ends = [_share(one["uses"].get(name, 0), sum(one["uses"].values())) for one in (updates[:1] + updates[-1:])]
        rows.append([name, f"{row['uses']:,}", _share(row["uses"], total), *(ends or ["–", "–"]), reward])
    return table(["operator", "uses", "share", "at first", "at last", "mean reward"], rows)


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.0f} %" if total else "–"


def _estimate(found: Row, name: str = "mean_reward") -> str:
    if found[name] is None:
        return "–"
    sign = "+" if name == "difference" else ""
    low, high = found["ci95"]
    return f"{found[name]:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"
