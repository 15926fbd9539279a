"""Who said how much, how it was judged, and with which attributes that goes: tables with intervals and bars."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidepool.tui.command.report import number
from tidepool.tui.drawing.charts import bars
from tidepool.tui.drawing.terminal import printable

MOST_ENTITIES = 12
MOST_ATTRIBUTES = 6


def print_statistics(out: Console, statistics: dict[str, Any]) -> None:
    _print_overall(out, statistics)
    if statistics["judgements"]:
        _print_judgements(out, statistics["judgements"])
    if statistics["entities"]:
        out.print()
        _print_entities(out, statistics)
    if statistics["by_attribute"]:
        out.print()
        _print_attributes(out, statistics)


def _print_overall(out: Console, statistics: dict[str, Any]) -> None:
    for kind, row in statistics["by_interaction_type"].items():
        out.print(
            Text(
                f"{kind}: {row['completed']:,} of {row['simulations']:,} simulations completed, {row['failed']:,} failed, "
                f"{row['messages']:,} messages, {row['words']:,} words"
            )
        )
    out.print(
        Text(
            f"combinations: {statistics['combinations_run']:,} of {statistics['combinations_possible']:,} possible ones "
            "have met"
        )
    )
    if statistics["unsplit_scenes"]:
        out.print(Text(f"{statistics['unsplit_scenes']:,} narrated rounds name no speaker; they are kept as (scene)"))


def _print_judgements(out: Console, judgements: dict[str, Any]) -> None:
    low, high = judgements["scale"]
    out.print()
    out.print(Text(printable(judgements["question"]), style="bold"))
    mean = f"; mean {number(judgements['mean'], 2)} ({_interval(judgements)})" if judgements["given"] else ""
    told = f"{judgements['given']:,} ratings from {low:g} to {high:g}, {judgements['missing']:,} missing{mean}"
    out.print(Text(told))
    spread = judgements["distribution"]
    if 1 < len(spread) <= 20:
        chart = bars("ratings", list(spread), {"times given": list(spread.values())}, width=min(out.width, 76))
        out.print(Text.from_ansi(chart))


def _print_entities(out: Console, statistics: dict[str, Any]) -> None:
    judged = statistics["judgements"] is not None
    rows = sorted(statistics["entities"].items(), key=lambda item: -_mean(item[1], "rating" if judged else "words"))
    table = Table(box=None, pad_edge=False)
    table.add_column("entity")
    for name in ("talks", "words each", "95 %", "turns each", *(("rating", "95 %") if judged else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for name, row in rows[:MOST_ENTITIES]:
        rating = (number(_of(row, "rating"), 2), _interval(row["rating"])) if judged else ()
        table.add_row(
            Text(printable(name)),
            f"{row['simulations']:,}",
            number(_of(row, "words"), 1),
            _interval(row["words"]),
            number(_of(row, "turns"), 1),
            *rating,
        )
    out.print(table)
    if len(rows) > MOST_ENTITIES:
        out.print(Text(f"… and {len(rows) - MOST_ENTITIES:,} more entities"))


def _print_attributes(out: Console, statistics: dict[str, Any]) -> None:
    """The attributes that go with the rating, or without a judge with the words, the clearest first."""
    measure = "rating" if statistics["judgements"] else "words"
    ranked = sorted(statistics["by_attribute"].items(), key=lambda item: _doubt(item[1]["tests"][measure]))
    table = Table(box=None, pad_edge=False)
    for name in ("attribute", "value"):
        table.add_column(name)
    for name in ("entities", measure, "95 %", "correlation", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    for attribute, entry in ranked[:MOST_ATTRIBUTES]:
        test = entry["tests"][measure] or {}
        for place, group in enumerate(entry["groups"]):
            first = place == 0
            table.add_row(
                Text(printable(attribute) if first else ""),
                Text(printable(group["value"])),
                f"{group['entities']:,}",
                number(_of(group, measure), 2),
                _interval(group[measure]),
                number(test.get("correlation"), 2) if first else "",
                _p_value(test.get("p_holm")) if first else "",
            )
    out.print(table)
    if len(ranked) > MOST_ATTRIBUTES:
        out.print(Text(f"… and {len(ranked) - MOST_ATTRIBUTES:,} more attributes in `tidepool stats --json`"))
    clearest, entry = ranked[0]
    _plot_clearest(out, clearest, entry, measure)


def _plot_clearest(out: Console, attribute: str, entry: dict[str, Any], measure: str) -> None:
    groups = [group for group in entry["groups"] if group[measure]]
    if len(groups) > 1:
        out.print()
        values = {f"mean {measure}": [_mean(group, measure) for group in groups]}
        title = f"{measure} by {printable(attribute)}"
        labels = [printable(group["value"]) for group in groups]
        out.print(Text.from_ansi(bars(title, labels, values, width=min(out.width, 76))))


COMPARED = {
    "combinations_run": "combinations that met",
    "combinations_possible": "combinations possible",
    "messages": "messages",
    "words": "words",
    "judgements.given": "ratings",
    "judgements.missing": "ratings missing",
    "judgements.mean": "mean rating",
    "missing.simulations": "failed simulations",
}
COMPARED_OF_EACH = {"simulations": "talks", "words.mean": "words each", "rating.mean": "rating"}


def compared(name: str) -> str | None:
    """How a number of the statistics is called in a comparison of batches; None: it is left out."""
    if name in COMPARED:
        return COMPARED[name]
    for place, label in COMPARED_OF_EACH.items():
        if name.startswith("entities.") and name.endswith(f".{place}"):
            return f"{name.removeprefix('entities.').removesuffix(f'.{place}')}: {label}"
    return None


def _doubt(test: dict[str, Any] | None) -> tuple[float, float]:
    return (2.0, 0.0) if test is None else (test["p_holm"], -abs(test["correlation"] or 0.0))


def _of(row: dict[str, Any], measure: str) -> float | None:
    return row[measure]["mean"] if row[measure] else None


def _mean(row: dict[str, Any], measure: str) -> float:
    return _of(row, measure) or 0.0


def _interval(measured: dict[str, Any] | None) -> str:
    if measured is None or measured["ci95"] is None:
        return "–"
    low, high = measured["ci95"]
    digits = 1 if high >= 20 else 2
    return f"{low:,.{digits}f}{' to ' if low < 0 else '–'}{high:,.{digits}f}"


def _p_value(value: float | None) -> str:
    return "–" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"
