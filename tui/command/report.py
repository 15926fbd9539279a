"""The readable summary of a batch on the terminal, with plots, and a plan before anything is called."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidepool.engine.results.blocks import Report
from tidepool.engine.results.report import MOST_WAVES, report_of
from tidepool.engine.results.wording import money, span
from tidepool.tui.drawing.blocks import print_blocks
from tidepool.tui.drawing.plain import one_line
from tidepool.tui.drawing.terminal import console


def print_summary(database: Path, summary: dict[str, Any], *, waves: bool = True, methods: bool = False) -> None:
    """The methods are for who comes back to a batch, and not for the end of every run."""
    print_report(console(), report_of(database, summary, methods=methods), waves=waves, methods=methods)


def print_study(database: Path, summary: dict[str, Any], *, methods: bool = False) -> None:
    from tidepool.engine.design.report import study_report

    print_report(console(), study_report(database, summary, methods=methods), methods=methods)


def print_report(out: Console, report: Report, *, waves: bool = True, methods: bool = False) -> None:
    out.print(Text(one_line(report.title), style="bold"))
    print_blocks(out, (*report.overview, *(report.waves if waves else ())))
    out.print()
    print_blocks(out, report.findings)
    if methods:
        for block in report.methods_on_screen:
            out.print()
            print_blocks(out, [block])


def print_plan(plan: dict[str, Any]) -> None:
    out = console()
    out.print(Text(f"{one_line(plan['name'])} · {plan['kind']} · plan only, nothing was called", style="bold"))
    table = Table(box=None, pad_edge=False)
    figures = {"wave": "index", "calls": "calls", "tokens in": "input_tokens", "tokens out": "output_tokens"}
    if any(wave["rounds"] > 1 for wave in plan["waves"]):
        figures["rounds"] = "rounds"
    for name in figures:
        table.add_column(name, justify="right")
    for wave in plan["waves"][:MOST_WAVES]:
        table.add_row(*(f"{wave[figure]:,}" for figure in figures.values()))
    out.print(table)
    if len(plan["waves"]) > MOST_WAVES:
        out.print(Text(f"… and {len(plan['waves']) - MOST_WAVES:,} more waves"))
    for name, line in plan_lines(plan):
        for part in Text(line).wrap(out, max(20, out.width - 8)):
            out.print(Text(f"{name:<8}") + part)
            name = ""


def plan_lines(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if cells := plan.get("cells"):
        from tidepool.engine.design.pricing import shape_of

        yield "cells", shape_of(cells)
    some = f", {plan['units_at_once']:,} at once" if plan["units_at_once"] < plan["units"] else ""
    yield "units", f"{plan['units']:,}{some} (service {plan['service']})"
    rounds = max((wave["rounds"] for wave in plan["waves"]), default=1)
    follow = f", in up to {rounds:,} rounds one after another" if rounds > 1 else ""
    most = plan["at_most"]
    exact = most is not None and most["calls"] == plan["calls"]
    beyond = "" if exact or most is None else f", {most['calls']:,} at most"
    yield "calls", f"{'' if exact else 'about '}{plan['calls']:,} in {len(plan['waves']):,} waves{follow}{beyond}"
    tokens = f"about {plan['tokens']['input']:,} in, {plan['tokens']['output']:,} out"
    yield (
        "tokens",
        tokens + (f"; at most {most['tokens']['input']:,} in, {most['tokens']['output']:,} out" if most else ""),
    )
    if plan["cost_usd_live"] is None:
        yield "cost", "unknown: the price of a model is not known"
    else:
        worst = f"; at most {money(most['cost_usd'])}" if most else ""
        yield "cost", f"about {money(plan['cost_usd_live'])} live, {money(plan['cost_usd_batch'])} by batch API{worst}"
    for line in plan["transport"]["words"]:
        yield "sent", line
    if 0 < plan["budget_usd"] < (plan["cost_usd"] or 0):
        yield "budget", f"{money(plan['budget_usd'])} is less than that: the batch would stop on its way"
    yield "time", f"about {span(plan['seconds_live'])} live" if plan["seconds_live"] >= 0.01 else "an instant"
    for note in plan["notes"]:
        yield "note", note
