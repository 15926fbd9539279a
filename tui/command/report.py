"""The readable summary of a batch on the terminal, with plots; the figures are those of the JSON summary."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidepool.tui.drawing.terminal import console, money, printable
from tidepool.tui.drawing.words import gained

SIMULATED = "simulated answers: no model of a provider was asked"


def duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{seconds:.1f} s"


def number(value: float | None, digits: int = 1, unit: str = "") -> str:
    return "–" if value is None else f"{value:,.{digits}f}{unit}"


def print_summary(summary: dict[str, Any]) -> None:
    out = console()
    print_head(out, summary)
    print_waves(out, summary)
    print_statistics(out, summary)


GOING_ON = {"interrupted": "go on", "partial": "retry", "failed": "retry"}
"""what a resume does for a batch of this state"""


def print_head(out: Console, summary: dict[str, Any]) -> None:
    units, calls = summary["units"], summary["calls"]
    reason = f" ({summary['reason']})" if summary["reason"] else ""
    out.print(Text(printable(f"{summary['name']} · {summary['kind']} · {summary['batch_id']}"), style="bold"))
    if summary["simulated"]:
        out.print(Text(SIMULATED, style="yellow"))
    paused = " (paused)" if summary["paused"] else ""
    ended = f"{summary['status']}{paused}{reason} after {duration(summary['seconds'])}, seed {summary['seed']}"
    out.print(Text(printable(ended)))
    out.print(Text(f"units   {units['completed']:,} of {units['total']:,} completed, {units['failed']:,} failed"))
    out.print(
        Text(
            f"calls   {calls['total']:,}: {calls['bought']:,} bought, {calls['cached']:,} cached, "
            f"{calls['replayed']:,} replayed, {calls['retried']:,} retried, {calls['failed']:,} failed"
        )
    )
    for failure in summary["failures"]:
        why = printable(" ".join(str(failure["error"]).split()))
        out.print(Text(f"failed  {failure['units']:,} × {why} (first: unit {failure['first']:,})"))
    for order in summary["provider_batches"]:
        where = f"{order['provider']} {order['id'] or '(being created)'}"
        waited = duration(order["seconds"])
        out.print(
            Text(f"waits   for {order['calls']:,} calls at {printable(where)}: {order['state']}, {waited} so far")
        )
    tokens = summary["tokens"]
    out.print(Text(f"cost    {money(summary['cost_usd'])}, {tokens['input']:,} tokens in, {tokens['output']:,} out"))
    out.print(Text(f"speed   {speed(summary['performance'])}"))
    if summary["status"] in GOING_ON:
        out.print(Text(f"{GOING_ON[summary['status']]:<8}tidepool --resume {summary['batch_id']}", style="bold"))


def speed(performance: dict[str, Any]) -> str:
    """Latency and concurrency are those of live calls: provider batches have neither."""
    told = f"{number(performance['calls_per_second'])} calls/s"
    if performance["mean_latency"] is not None:
        latency, at_once = number(performance["mean_latency"], 3, " s"), performance["peak_concurrency"]
        told += f", mean latency {latency}, at most {at_once:,} at once"
    return told + gained(performance["speedup_over_sequential"])


MOST_WAVES = 12


def print_waves(out: Console, summary: dict[str, Any]) -> None:
    waves = summary["waves"]
    if not waves:
        return
    table = Table(title=None, box=None, pad_edge=False)
    for name in ("wave", "calls", "failed", "seconds", "per message", "transport"):
        table.add_column(name, justify="left" if name == "transport" else "right")
    for wave in waves[:MOST_WAVES]:
        table.add_row(
            f"{wave['index']}",
            f"{wave['calls']:,}",
            f"{wave['failed']:,}",
            f"{wave['seconds']:.2f}",
            number(wave["seconds_per_message"], 4, " s"),
            printable(wave["transport"]),
        )
    out.print()
    out.print(table)
    if len(waves) > MOST_WAVES:
        out.print(Text(f"… and {len(waves) - MOST_WAVES:,} more waves"))


def print_statistics(out: Console, summary: dict[str, Any]) -> None:
    if not summary.get("statistics"):
        return
    out.print()
    printer: Callable[[Console, dict[str, Any]], None] = import_module(
        f"tidepool.tui.command.reports.{summary['kind']}"
    ).print_statistics
    printer(out, summary["statistics"])


def print_plan(plan: dict[str, Any]) -> None:
    out = console()
    out.print(Text(f"{printable(plan['name'])} · {plan['kind']} · plan only, nothing was called", style="bold"))
    table = Table(box=None, pad_edge=False)
    for name in ("wave", "calls", "tokens in", "tokens out"):
        table.add_column(name, justify="right")
    for wave in plan["waves"][:MOST_WAVES]:
        table.add_row(
            f"{wave['index']}", f"{wave['calls']:,}", f"{wave['input_tokens']:,}", f"{wave['output_tokens']:,}"
        )
    out.print(table)
    if len(plan["waves"]) > MOST_WAVES:
        out.print(Text(f"… and {len(plan['waves']) - MOST_WAVES:,} more waves"))
    for name, line in plan_lines(plan):
        for part in Text(line).wrap(out, max(20, out.width - 8)):
            out.print(Text(f"{name:<8}") + part)
            name = ""


def plan_lines(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    some = f", {plan['units_at_once']:,} at once" if plan["units_at_once"] < plan["units"] else ""
    yield "units", f"{plan['units']:,}{some} (service {plan['service']})"
    yield "calls", f"{plan['calls']:,} in {len(plan['waves']):,} waves"
    yield "tokens", f"about {plan['tokens']['input']:,} in, {plan['tokens']['output']:,} out"
    if plan["cost_usd_live"] is None:
        yield "cost", "unknown: the price of a model is not known"
    else:
        yield "cost", f"about {money(plan['cost_usd_live'])} live, {money(plan['cost_usd_batch'])} by batch API"
    if 0 < plan["budget_usd"] < (plan["cost_usd"] or 0):
        yield "budget", f"{money(plan['budget_usd'])} is less than that: the batch would stop on its way"
    yield "time", f"about {duration(plan['seconds_live'])} live"
    for note in plan["notes"]:
        yield "note", note
