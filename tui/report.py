"""The readable summary of a batch on the terminal, with plots; the figures are those of the JSON summary."""

import shutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tui.words import gained

SIMULATED = "simulated answers: no model of a provider was asked"


def console() -> Console:
    return Console(markup=False, highlight=False, width=min(110, shutil.get_terminal_size((80, 24)).columns))


def money(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.4f}"


def duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{seconds:.1f} s"


def number(value: float | None, digits: int = 1, unit: str = "") -> str:
    return "–" if value is None else f"{value:,.{digits}f}{unit}"


def printable(text: str) -> str:
    """Foreign text for a terminal: no control characters but line breaks and tabs."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)


def print_summary(summary: dict[str, Any]) -> None:
    out = console()
    print_head(out, summary)
    print_waves(out, summary)
    print_statistics(out, summary)


def print_head(out: Console, summary: dict[str, Any]) -> None:
    units, calls = summary["units"], summary["calls"]
    reason = f" ({summary['reason']})" if summary["reason"] else ""
    out.print(Text(printable(f"{summary['name']} · {summary['kind']} · {summary['batch_id']}"), style="bold"))
    if summary["simulated"]:
        out.print(Text(SIMULATED, style="yellow"))
    ended = f"{summary['status']}{reason} after {duration(summary['seconds'])}, seed {summary['seed']}"
    out.print(Text(printable(ended)))
    out.print(Text(f"units   {units['completed']:,} of {units['total']:,} completed, {units['failed']:,} failed"))
    out.print(
        Text(
            f"calls   {calls['total']:,}: {calls['bought']:,} bought, {calls['cached']:,} cached, "
            f"{calls['replayed']:,} replayed, {calls['retried']:,} retried, {calls['failed']:,} failed"
        )
    )
    for order in summary["provider_batches"]:
        where = f"{order['provider']} {order['id'] or '(being created)'}"
        waited = duration(order["seconds"])
        out.print(
            Text(f"waits   for {order['calls']:,} calls at {printable(where)}: {order['state']}, {waited} so far")
        )
    tokens = summary["tokens"]
    out.print(Text(f"cost    {money(summary['cost_usd'])}, {tokens['input']:,} tokens in, {tokens['output']:,} out"))
    performance = summary["performance"]
    out.print(
        Text(
            f"speed   {number(performance['calls_per_second'])} calls/s, mean latency "
            f"{number(performance['mean_latency'], 3, ' s')}, at most {performance['peak_concurrency']} at once"
            f"{gained(performance['speedup_over_sequential'])}"
        )
    )
    if summary["status"] == "interrupted":
        out.print(Text(f"go on   tidepool --resume {summary['batch_id']}", style="bold"))


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
        f"tui.reports.{summary['kind']}"
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
    out.print(Text(f"units   {plan['units']:,}, {plan['units_at_once']:,} at once (service {plan['service']})"))
    out.print(Text(f"calls   {plan['calls']:,} in {len(plan['waves']):,} waves"))
    out.print(Text(f"tokens  about {plan['tokens']['input']:,} in, {plan['tokens']['output']:,} out"))
    out.print(Text(f"cost    about {money(plan['cost_usd_live'])} live, {money(plan['cost_usd_batch'])} by batch API"))
    out.print(Text(f"time    about {duration(plan['seconds_live'])} live"))
    for note in plan["notes"]:
        out.print(Text(f"note    {note}"))
