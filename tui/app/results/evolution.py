"""Did it get better, and can one believe it: champion against baseline, and the way there."""

from collections.abc import Mapping
from typing import Any

from tidepool.tui.app.results.blocks import Block, Words, interval, number, p_value, share, table
from tidepool.tui.app.worker_process.figure import Figure, line
from tidepool.tui.drawing.plain import plain

ROLES = {"champion": "champion", "baseline": "best seed prompt", "random_search": "random search"}


def headline(statistics: Mapping[str, Any]) -> dict[str, str]:
    champion, baseline = statistics["champion"], statistics["baseline"]
    if not champion or not baseline:
        return {"generations": "0"}
    return {
        "strategy": str(statistics["strategy"]),
        "calls of the search": f"{statistics['search_calls']:,}",
        "generations": f"{len(statistics['generations']):,}",
        "champion, held out": f"{share(champion['validation_accuracy'])} ({_bounds(champion)})",
        "best seed, held out": f"{share(baseline['validation_accuracy'])} ({_bounds(baseline)})",
        "p": p_value(statistics["p_value"]),
        "stopped by": str(statistics["stopped_by"] or "–"),
    }


def tables(statistics: Mapping[str, Any]) -> list[Block]:
    rows = [
        (
            title,
            number(row["fitness"], 3),
            share(row["accuracy"]),
            share(row["validation_accuracy"]),
            _bounds(row),
        )
        for role, title in ROLES.items()
        if (row := statistics.get(role))
    ]
    blocks: list[Block] = [
        Words(_verdict(statistics), "strong"),
        table("on problems never used for selection", ("prompt", "fitness", "training", "held out", "95 %"), rows),
        table("generations", ("generation", "best", "mean", "diversity", "calls"), _generations(statistics), left=0),
    ]
    for role in ("champion", "baseline"):
        if row := statistics.get(role):
            blocks += [Words(ROLES[role], "strong"), Words(plain(str(row["prompt"])), "quiet")]
    return blocks


def _verdict(statistics: Mapping[str, Any]) -> str:
    if statistics["p_value"] is None:
        return "Not validated yet: training figures flatter whoever leads."
    if not statistics["pairs"]:
        return "Nothing is known: the held-out problems were not answered."
    gain = 100 * statistics["difference"]
    believed = "more than chance explains" if statistics["p_value"] < 0.05 else "chance alone explains this"
    return f"The champion stands {gain:+.1f} points from the best seed prompt, p = {statistics['p_value']:.2g}: {believed}."


def _generations(statistics: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            f"{row['generation']}",
            number(row["best"], 3),
            number(row["mean"], 3),
            number(row["diversity"], 3),
            f"{row['calls']:,}",
        )
        for row in statistics["generations"]
    ]


def plots(statistics: Mapping[str, Any]) -> list[Block]:
    told = statistics["generations"]
    xs = [float(row["generation"]) for row in told]
    curves = {
        "fitness by generation": (("best", "done"), ("mean", "cached")),
        "diversity by generation": (("diversity", "accent"),),
        "calls by generation": (("calls", "primary"),),
    }
    return [
        Figure("lines", title, tuple(line(name, xs, [row[name] for row in told], colour) for name, colour in series))
        for title, series in curves.items()
    ]


def _bounds(row: Mapping[str, Any]) -> str:
    return interval(row["validation_ci95"], 1, 100.0)
