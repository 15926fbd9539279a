"""The plan of a study as blocks for the command and for Compose: a table of facts and the waves."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidepool.engine.reports.blocks import Block, Table, Words, money, more, span, table
from tidepool.storage.text import one_line


def plan_table(plan: Mapping[str, Any], *, free: bool = False, further: Iterable[tuple[str, str]] = ()) -> Table:
    """Returns the table of a plan. `free`: all replies are simulated. `further` rows come last."""
    return table("", ("", ""), [*_rows(plan, free), *further], left=2)


def wave_blocks(plan: Mapping[str, Any], most: int) -> list[Block]:
    figures = {"wave": "index", "calls": "calls", "tokens in": "input_tokens", "tokens out": "output_tokens"}
    if any(wave["rounds"] > 1 for wave in plan["waves"]):
        figures["rounds"] = "rounds"
    rows = [tuple(wave[figure] for figure in figures.values()) for wave in plan["waves"][:most]]
    left_out = plan.get("wave_count", len(plan["waves"])) - most
    waves: list[Block] = [table("", tuple(figures), rows, left=0)]
    return [*waves, Words(f"{more(left_out)} waves", "quiet")] if left_out > 0 else waves


def plan_in_short(plan: Mapping[str, Any], power: Iterable[tuple[str, str]], width: int) -> Table:
    """Returns the short plan with at most seven lines. `power` rows describe the precision of the study."""
    rows = dict(_rows(plan, free=False))
    if (others := len(plan["transport"]["words"]) - 1) > 0:
        rows["transport"] = f"{plan['transport']['words'][0]} … and {others:,} more (--full)"
    names = ("cells", "requests", "tokens", "cost", "budget", "transport", "time")
    precision = [row for row in power if row[0]]
    for left_out in ("transport", "tokens"):
        if len(precision) + sum(name in rows for name in names) > MOST_ROWS:
            rows.pop(left_out, None)
    short = [*((name, rows[name]) for name in names if name in rows), *precision][:MOST_ROWS]
    return table("", ("", ""), [(name, one_line(words, width - NAME_WIDTH)) for name, words in short], left=2)


MOST_ROWS, NAME_WIDTH = 7, 13


def _rows(plan: Mapping[str, Any], free: bool) -> Iterator[tuple[str, str]]:
    if cells := plan.get("cells"):
        from tidepool.engine.design.cells import shape_of

        yield "cells", shape_of(cells)
    unit_name = plan.get("unit_name") or "units"
    some = f", {plan['units_at_once']:,} at a time" if plan["units_at_once"] < plan["units"] else ""
    yield unit_name, f"{plan['units']:,}{some} (service {plan['service']})"
    waves = plan.get("wave_count", len(plan["waves"]))
    rounds = max((wave["rounds"] for wave in plan["waves"]), default=1)
    follow = f", in up to {rounds:,} consecutive rounds" if rounds > 1 else ""
    most = plan["at_most"]
    beyond = "" if is_exact(plan) or most is None else f", {most['calls']:,} at most"
    yield "requests", f"{'' if is_exact(plan) else 'about '}{plan['calls']:,} in {waves:,} waves{follow}{beyond}"
    tokens = f"about {plan['tokens']['input']:,} in, {plan['tokens']['output']:,} out"
    beyond = f"; at most {most['tokens']['input']:,} in, {most['tokens']['output']:,} out" if most else ""
    yield "tokens", tokens + beyond
    if free:
        yield "cost", "free: simulated replies"
    elif plan["cost_usd_live"] is None:
        models = ", ".join(plan.get("unpriced", ())) or "a model"
        yield (
            "cost",
            f"unknown: no price is known for {models}. Check the name, or set input and output prices of the provider",
        )
    elif most and not most["cost_usd"]:
        yield "cost", "free"
    else:
        worst = f"; at most {money(most['cost_usd'])}" if most else ""
        yield "cost", f"about {money(plan['cost_usd_live'])} live, {money(plan['cost_usd_batch'])} by batch API{worst}"
    for line in plan["transport"]["words"]:
        yield "transport", line
    if too_small := budget_words(plan):
        yield "budget", too_small
    yield "time", f"about {span(plan['seconds_live'])} live" if plan["seconds_live"] >= 1 else "less than a second"
    for note in plan["notes"]:
        yield "note", note


def budget_words(plan: Mapping[str, Any]) -> str:
    """Says that the budget is too small; empty if it is not."""
    if not 0 < plan["budget_usd"] < (plan["cost_usd"] or 0):
        return ""
    return (
        f"{money(plan['budget_usd'])} is too small, so the run will stop early. All {plan.get('unit_name') or 'units'} advance "
        'together, so perhaps none will be complete. Plan fewer, or set service.name = "default"'
    )


def is_exact(plan: Mapping[str, Any]) -> bool:
    """Returns whether the exact number of requests is known in advance."""
    return plan["at_most"] is not None and bool(plan["at_most"]["calls"] == plan["calls"])
