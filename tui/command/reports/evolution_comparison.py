"""Several evolutions in one table: strategy, effort, and what the champion is worth on held-out problems."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidepool.tui.command.reports.evolution_figures import interval

COLUMNS = ("calls", "held out", "95 %", "best seed", "points over #1", "p")


def print_compared(out: Console, found: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("", "strategy"):
        table.add_column(name, no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for place, batch in enumerate(found["batches"], 1):
        table.add_row(f"#{place}", *_row(batch, found))
    out.print(table)
    ids = [batch["batch_id"] for batch in found["batches"]]
    for row in found["differences"]:
        one, other = (ids.index(batch) + 1 for batch in row["batches"])
        if one > 1:
            gap, p_value = _points(row)
            out.print(Text(f"#{other} over #{one}: {gap} points, p = {p_value}"))
    for line in _footnotes(found["differences"]):
        out.print(Text(line))


def _row(batch: dict[str, Any], found: dict[str, Any]) -> tuple[str, ...]:
    statistics = batch["statistics"]
    champion, baseline = (statistics[role] or {} for role in ("champion", "baseline"))
    return (
        statistics["strategy"],
        f"{statistics['search_calls']:,}",
        _share(champion.get("validation_accuracy")),
        interval(champion.get("validation_ci95")),
        _share(baseline.get("validation_accuracy")),
        *_over_first(batch["batch_id"], found),
    )


def _over_first(batch_id: str, found: dict[str, Any]) -> tuple[str, str]:
    first = found["batches"][0]["batch_id"]
    return next((_points(row) for row in found["differences"] if row["batches"] == [first, batch_id]), ("–", "–"))


def _points(row: dict[str, Any]) -> tuple[str, str]:
    """The later batch against the earlier one, and how surprising that is among all pairs."""
    low, high = row["difference_ci95"]
    p_value = row["p_value_holm"]
    gap = f"{-100 * row['difference']:+.1f} ({-100 * high:+.1f} to {-100 * low:+.1f})"
    return gap, "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _footnotes(differences: list[dict[str, Any]]) -> list[str]:
    lines = ["Per cent of held-out problems, with 95 % intervals; p with Holm's correction."]
    if differences and all(row["paired"] for row in differences):
        lines.append("All met the same problems, so they are compared problem by problem.")
    elif differences:
        lines.append("Batches with other held-out problems are compared as two samples.")
    else:
        lines.append("There is nothing to compare yet: a champion is judged when its batch comes to its end.")
    return lines


def _share(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
