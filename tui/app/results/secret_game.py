"""Who reveals, who obtains, with whom."""

from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.tui.app.results.blocks import Block, Heat, Words, interval, number, table
from tidepool.tui.app.worker_process.figure import Figure, Series


def headline(statistics: Mapping[str, Any]) -> dict[str, str]:
    overall = statistics["overall"]
    figures = {
        "conversations": f"{overall['total_interactions']:,}",
        "sides that revealed": _with_interval(overall, "secrets_revealed"),
        "both revealed": _with_interval(overall, "both_revealed"),
        "one side revealed": _with_interval(overall, "one_sided_reveals"),
    }
    for name, row in statistics["agents"].items():
        figures[f"{name} revealed"] = _with_interval(row, "times_revealed_secret")
        figures[f"{name} obtained"] = _with_interval(row, "times_obtained_secret")
    return figures


def tables(statistics: Mapping[str, Any]) -> list[Block]:
    overall = statistics["overall"]
    blocks: list[Block] = [
        Words(
            f"In {overall['total_interactions']:,} conversations {overall['total_secrets_revealed']:,} secrets were "
            f"revealed: {_with_interval(overall, 'secrets_revealed')} of sides. Both sides revealed in "
            f"{_with_interval(overall, 'both_revealed')} of conversations, one side alone in "
            f"{_with_interval(overall, 'one_sided_reveals')}. Intervals are 95 %."
        ),
        _agents(statistics["agents"]),
    ]
    if statistics.get("pairs"):
        blocks.append(_pairs(statistics["pairs"]))
    missing = statistics.get("missing") or {}
    if missing.get("conversations"):
        blocks.append(
            Words(
                f"{missing['conversations']:,} conversations failed and are neither reveals nor refusals; whatever they "
                f"would have been, {interval(missing['secrets_revealed_bounds'])} % of sides revealed.",
                "retried",
            )
        )
    return blocks


def _agents(agents: Mapping[str, Any]) -> Block:
    rows = [
        (
            name,
            f"{row['interactions']:,}",
            number(row["times_revealed_secret_percentage"], 1, " %"),
            interval(row["times_revealed_secret_ci95"]),
            number(row["times_obtained_secret_percentage"], 1, " %"),
            interval(row["times_obtained_secret_ci95"]),
            number(row["optimal_strategy_percentage"], 1, " %"),
            interval(row["optimal_strategy_ci95"]),
            number(row["score"], 1),
        )
        for name, row in agents.items()
    ]
    columns = ("agent", "talks", "revealed", "95 %", "obtained", "95 %", "only obtained", "95 %", "score")
    return table("agents", columns, rows)


def _pairs(pairs: Mapping[str, Any]) -> Block:
    rows = [
        (
            name,
            f"{row['total_interactions']:,}",
            number(row["secrets_revealed_percentage"], 1, " %"),
            interval(row["secrets_revealed_ci95"]),
            number(row["both_revealed_percentage"], 1, " %"),
            number(row["one_sided_reveals_percentage"], 1, " %"),
            f"{row.get('missing', 0):,}",
        )
        for name, row in pairs.items()
    ]
    columns = ("pair", "talks", "sides revealed", "95 %", "both", "one side", "missing")
    return table("pairs", columns, rows)


def plots(statistics: Mapping[str, Any]) -> list[Block]:
    agents = statistics["agents"]
    revealed = tuple(row["times_revealed_secret_percentage"] for row in agents.values())
    obtained = tuple(row["times_obtained_secret_percentage"] for row in agents.values())
    blocks: list[Block] = [
        Figure(
            "bars",
            "who reveals, who obtains (% of talks)",
            (Series("revealed", revealed, colour="failed"), Series("obtained", obtained, colour="done")),
            labels=tuple(agents),
        ),
        Figure(
            "points",
            "revealed against obtained (%): below the line gives more than it gets",
            tuple(
                Series(name, (got,), (gave,))
                for name, gave, got in zip(agents, revealed, obtained, strict=True)
                if gave is not None and got is not None
            ),
            xlabel="revealed %",
            ylabel="obtained %",
            square=(0.0, 100.0),
        ),
        _heat(statistics),
        Figure(
            "bars",
            "score per talk",
            (Series("score", tuple(_per_talk(row) for row in agents.values()), colour="accent"),),
            labels=tuple(agents),
        ),
    ]
    if scores := statistics.get("score_counts"):
        blocks.append(_scores(scores))
    return blocks


MOST_BARS = 12


def _scores(scores: Sequence[tuple[float, int]]) -> Figure:
    """A bar for each score; where there are many, for each stretch of scores."""
    if len(scores) > MOST_BARS:
        scores = _binned(scores)
    return Figure(
        "bars",
        "how many sides came to each score",
        (Series("sides", tuple(float(times) for _, times in scores), colour="cached"),),
        labels=tuple(f"{score:g}" for score, _ in scores),
    )


def _binned(scores: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    low, high = scores[0][0], scores[-1][0]
    width = (high - low) / MOST_BARS
    counts = [0] * MOST_BARS
    for score, times in scores:
        counts[min(MOST_BARS - 1, int((score - low) / width))] += times
    return [(round(low + i * width, 1), times) for i, times in enumerate(counts)]


def _per_talk(row: Mapping[str, Any]) -> float | None:
    return row["score"] / row["interactions"] if row["score"] is not None and row["interactions"] else None


def _heat(statistics: Mapping[str, Any]) -> Heat:
    names = tuple(statistics["agents"])
    shares: dict[tuple[str, str], float | None] = {}
    for row in statistics["pairs"].values():
        first, second = row["agents"]
        for giver, partner in ((first, second), (second, first)):
            if giver in row["sides"]:
                shares[giver, partner] = row["sides"][giver]["times_revealed_secret_percentage"]
    values = tuple(tuple(shares.get((giver, partner)) for partner in names) for giver in names)
    return Heat("how often the row reveals to the column (%)", names, names, values)


def _with_interval(row: Mapping[str, Any], name: str) -> str:
    return f"{number(row[f'{name}_percentage'], 1, ' %')} ({interval(row[f'{name}_ci95'])})"
