"""Who said how much, how it was judged, and with which attributes that goes."""

from collections.abc import Mapping
from typing import Any

from tidepool.tui.app.results.blocks import Block, Words, interval, number, p_value, table
from tidepool.tui.app.worker_process.figure import Figure, Series
from tidepool.tui.drawing.plain import one_line


def headline(statistics: Mapping[str, Any]) -> dict[str, str]:
    figures = {
        "messages": f"{statistics['messages']:,}",
        "words": f"{statistics['words']:,}",
        "combinations": f"{statistics['combinations_run']:,} of {statistics['combinations_possible']:,}",
    }
    if judged := statistics["judgements"]:
        figures["mean rating"] = _mean(judged)
    return figures


def tables(statistics: Mapping[str, Any]) -> list[Block]:
    types = [
        (kind, *(f"{row[name]:,}" for name in ("simulations", "completed", "failed", "messages", "words")))
        for kind, row in statistics["by_interaction_type"].items()
    ]
    blocks: list[Block] = [
        Words(
            f"{statistics['combinations_run']:,} of {statistics['combinations_possible']:,} possible combinations have met."
        ),
        table("interactions", ("type", "simulations", "completed", "failed", "messages", "words"), types),
    ]
    if judged := statistics["judgements"]:
        blocks.append(Words(one_line(judged["question"]), "strong"))
        blocks.append(Words(f"{judged['given']:,} ratings, {judged['missing']:,} missing; mean {_mean(judged)}."))
    if statistics.get("entities"):
        blocks.append(_entities(statistics))
    if statistics.get("by_attribute"):
        blocks.append(_attributes(statistics))
    return blocks


def _entities(statistics: Mapping[str, Any]) -> Block:
    rows = [
        (
            name,
            f"{row['simulations']:,}",
            _of(row["words"], 1),
            _bounds(row["words"]),
            _of(row["turns"], 1),
            _of(row["rating"], 2),
            _bounds(row["rating"]),
        )
        for name, row in statistics["entities"].items()
    ]
    return table("entities", ("entity", "talks", "words each", "95 %", "turns each", "rating", "95 %"), rows)


def _attributes(statistics: Mapping[str, Any]) -> Block:
    measure = "rating" if statistics["judgements"] else "words"
    rows = []
    for attribute, entry in statistics["by_attribute"].items():
        test = entry["tests"].get(measure) or {}
        for place, group in enumerate(entry["groups"]):
            rows.append(
                (
                    attribute if place == 0 else "",
                    str(group["value"]),
                    f"{group['entities']:,}",
                    _of(group[measure], 2),
                    _bounds(group[measure]),
                    number(test.get("correlation"), 2) if place == 0 else "",
                    p_value(test.get("p_holm")) if place == 0 else "",
                )
            )
    columns = ("attribute", "value", "entities", measure, "95 %", "correlation", "p (Holm)")
    return table(f"{measure} by attribute", columns, rows, left=2)


def plots(statistics: Mapping[str, Any]) -> list[Block]:
    entities = list(statistics.get("entities", {}).items())[:16]
    blocks: list[Block] = []
    if entities:
        blocks.append(_bar("words a talk", [(name, row["words"]) for name, row in entities], "primary"))
    if judged := statistics["judgements"]:
        spread = judged["distribution"]
        series = Series("times given", tuple(float(times) for times in spread.values()), colour="accent")
        blocks.append(Figure("bars", "ratings given", (series,), labels=tuple(spread)))
        blocks.append(_bar("mean rating", [(name, row["rating"]) for name, row in entities], "done"))
    return blocks


def _bar(title: str, rows: list[tuple[str, Mapping[str, Any] | None]], colour: str) -> Figure:
    means = tuple(row["mean"] if row else None for _, row in rows)
    return Figure("bars", title, (Series(title, means, colour=colour),), labels=tuple(name for name, _ in rows))


def _of(row: Mapping[str, Any] | None, digits: int) -> str:
    return number(row["mean"] if row else None, digits)


def _bounds(row: Mapping[str, Any] | None) -> str:
    return interval(row["ci95"] if row else None)


def _mean(row: Mapping[str, Any]) -> str:
    return f"{number(row['mean'], 2)} ({interval(row['ci95'], 2)})"
