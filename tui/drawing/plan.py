"""What a study would take, in rows of a name and a few words, for the command and for Compose."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.results.blocks import money, span


def plan_rows(plan: Mapping[str, Any], *, free: bool = False) -> Iterator[tuple[str, str]]:
    """`free`: all of its answers are simulated."""
    if cells := plan.get("cells"):
        from tidepool.engine.design.cells import shape_of

        yield "cells", shape_of(cells)
    units = " ".join(filter(None, (f"{plan['units']:,}", plan.get("unit_name"))))
    some = f", {plan['units_at_once']:,} at once" if plan["units_at_once"] < plan["units"] else ""
    yield "units", f"{units}{some} (service {plan['service']})"
    waves = plan.get("wave_count", len(plan["waves"]))
    rounds = max((wave["rounds"] for wave in plan["waves"]), default=1)
    follow = f", in up to {rounds:,} rounds one after another" if rounds > 1 else ""
    most = plan["at_most"]
    beyond = "" if is_exact(plan) or most is None else f", {most['calls']:,} at most"
    yield "calls", f"{'' if is_exact(plan) else 'about '}{plan['calls']:,} in {waves:,} waves{follow}{beyond}"
    tokens = f"about {plan['tokens']['input']:,} in, {plan['tokens']['output']:,} out"
    beyond = f"; at most {most['tokens']['input']:,} in, {most['tokens']['output']:,} out" if most else ""
    yield "tokens", tokens + beyond
    if free:
        yield "cost", "free: simulated answers"
    elif plan["cost_usd_live"] is None:
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


def is_exact(plan: Mapping[str, Any]) -> bool:
    """Whether it is known before how many calls there will be."""
    return plan["at_most"] is not None and bool(plan["at_most"]["calls"] == plan["calls"])
