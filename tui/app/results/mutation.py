"""What was learnt: rewards on held-out queries, the learning curve against its baselines, the operators."""

from collections.abc import Mapping
from typing import Any

from tidepool.tui.app.results.blocks import Block, Words, interval, number, table
from tidepool.tui.app.worker_process.figure import Figure, Series, line

COMPARED = {"policy": "learned policy", "random": "random operator", "best_constant": "best single operator"}


def headline(statistics: Mapping[str, Any]) -> dict[str, str]:
    heldout = statistics["heldout"]
    figures = {
        f"held out, {title}": f"{number(heldout[name]['mean_reward'], 3)} ({interval(heldout[name]['ci95'], 3)})"
        for name, title in COMPARED.items()
        if heldout.get(name)
    }
    return {**figures, "masked steps": f"{statistics['masked_steps']:,}"}


def tables(statistics: Mapping[str, Any]) -> list[Block]:
    heldout = statistics["heldout"] or {}
    blocks: list[Block] = []
    rows = [
        (title, number(row["mean_reward"], 3), interval(row["ci95"], 3))
        for name, title in COMPARED.items()
        if (row := heldout.get(name))
    ]
    if rows:
        blocks.append(table("reward on held-out queries", ("who", "mean reward", "95 %"), rows))
    else:
        blocks.append(Words("Not yet compared on held-out queries.", "quiet"))
    operators = [
        (name, f"{row['uses']:,}", number(row["mean_reward"], 3)) for name, row in statistics["operators"].items()
    ]
    blocks.append(table("operators", ("operator", "uses", "mean reward"), operators))
    blocks.append(
        Words(
            f"{statistics['masked_steps']:,} steps masked because their answers were lost, "
            f"{statistics['fallback_rewrites']:,} rewrites fell back to the query as it was.",
            "quiet",
        )
    )
    return blocks


def plots(statistics: Mapping[str, Any]) -> list[Block]:
    updates = statistics["updates"]
    xs = [float(row["env_steps"]) for row in updates]
    rewards = [line("learned", xs, [row["mean_reward"] for row in updates], "done")]
    for name, baseline in (statistics.get("baselines") or {}).items():
        told = baseline["updates"]
        rewards.append(line(name, [float(row["env_steps"]) for row in told], [row["mean_reward"] for row in told]))
    operators = statistics["operators"]
    return [
        Figure("lines", "mean reward over steps", tuple(rewards), xlabel="steps"),
        Figure(
            "lines",
            "episodes that end well (share)",
            (line("", xs, [row["success_rate"] for row in updates], "accent"),),
        ),
        Figure(
            "bars",
            "how often each operator is used",
            (Series("uses", tuple(float(row["uses"]) for row in operators.values())),),
            labels=tuple(operators),
        ),
    ]
