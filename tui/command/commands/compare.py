"""`tidepool compare`: the statistics of several batches side by side."""

import argparse
import json
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidepool.engine.results.comparing import compare
from tidepool.tui.command.report import SIMULATED, number
from tidepool.tui.drawing.charts import bars
from tidepool.tui.drawing.terminal import console, money, printable

MOST_ROWS = 60


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batches", metavar="BATCH", nargs="+", help="two or more batches of one kind")


def run(options: argparse.Namespace) -> int:
    found = compare(options.db, options.batches)
    if options.json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        print_comparison(console(), found)
    return 0


def print_comparison(out: Console, found: dict[str, Any]) -> None:
    """A report that has a table of its own for several batches (`print_compared`) shows that instead of all figures."""
    _print_batches(out, found["batches"])
    out.print()
    report = import_module(f"tidepool.tui.command.reports.{found['kind']}")
    if hasattr(report, "print_compared"):
        report.print_compared(out, found)
    else:
        _print_figures(out, found, report)


def _print_figures(out: Console, found: dict[str, Any], report: ModuleType) -> None:
    rows = _chosen(found, report)
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for position, _ in enumerate(found["batches"], 1):
        table.add_column(f"#{position}", justify="right")
    for label, values in rows[:MOST_ROWS]:
        table.add_row(Text(printable(label)), *(_figure(value) for value in values))
    out.print(table)
    if len(rows) > MOST_ROWS:
        out.print(Text(f"… and {len(rows) - MOST_ROWS:,} more figures: see --json"))
    _print_plot(out, rows, len(found["batches"]))
    for difference in found["differences"]:
        out.print(Text(_told(difference, [batch["batch_id"] for batch in found["batches"]])))


def _print_batches(out: Console, batches: list[dict[str, Any]]) -> None:
    for position, batch in enumerate(batches, 1):
        units = batch["units"]
        out.print(
            Text(
                f"#{position}  {batch['batch_id']}  {printable(batch['name'])}: {batch['status']}, "
                f"{units['completed']:,} of {units['total']:,} units, seed {batch['seed']}, {money(batch['cost_usd'])}"
            )
        )
    if any(batch["simulated"] for batch in batches):
        out.print(Text(SIMULATED, style="yellow"))


def _chosen(found: dict[str, Any], report: ModuleType) -> list[tuple[str, list[float | None]]]:
    """The rows that a report of this kind names, those of the whole first; all of them where it names none."""
    name_of: Callable[[str], str | None] = getattr(report, "compared", lambda name: name)
    chosen = [(label, row["values"]) for row in found["rows"] if (label := name_of(row["name"])) is not None]
    return sorted(chosen, key=lambda row: ": " in row[0])


def _figure(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value, 2)


def _print_plot(out: Console, rows: list[tuple[str, list[float | None]]], batches: int) -> None:
    """The shares of the whole, as grouped bars."""
    shares = [(label, values) for label, values in rows if label.endswith(", %") and ": " not in label]
    if not shares or any(value is None for _, values in shares for value in values):
        return
    series = {f"#{index + 1}": [values[index] or 0.0 for _, values in shares] for index in range(batches)}
    out.print()
    labels = [label.removesuffix(", %") for label, _ in shares]
    out.print(Text.from_ansi(bars("per cent", labels, series, width=min(out.width, 100))))


def _told(difference: dict[str, Any], ids: list[str]) -> str:
    first, second = (f"#{ids.index(batch) + 1}" for batch in difference["batches"])
    low, high = difference["difference_ci95"]
    how = "the same meetings" if difference["paired"] else "two samples"
    return (
        f"{first} − {second}: {difference['difference']:+.2f} {difference['measure']} ({low:+.2f} to {high:+.2f}), "
        f"p = {difference['p_value']:.3g}, {difference['p_value_holm']:.3g} with Holm's correction ({how})"
    )
