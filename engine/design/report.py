"""The report of a study as blocks: what it was and took, its cells, and what its factors did."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidepool.engine.design.study_report import study_blocks
from tidepool.engine.results.blocks import Block, Cell, Report, Words, table
from tidepool.engine.results.report import GOING_ON
from tidepool.engine.results.simulated_roles import NOT_YET, simulated_lines
from tidepool.engine.results.wording import money, requests, span

MOST_CELLS = 40


def study_report(database: Path, summary: Mapping[str, Any]) -> Report:
    """Of a study's summary."""
    return Report(
        summary["name"], tuple(_overview(summary)), (), (*_cells(summary), *study_blocks(summary["statistics"]))
    )


def _overview(summary: Mapping[str, Any]) -> Iterator[Block]:
    if summary["simulated"]:
        yield from (Words(words, "simulated") for words in simulated_lines(summary["cells"]) or [NOT_YET])
    yield table("", ("", ""), list(_facts(summary)), left=2)


def _facts(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    units, calls, design = summary["units"], summary["calls"], summary["design"]
    reason = f" ({summary['reason']})" if summary["reason"] else ""
    yield "state", f"{summary['status']}{reason} after {span(summary['seconds'])}, seed {design.get('seed')}"
    yield "kind", f"{summary['kind'].replace('_', ' ')}, study {summary['study_id']}"
    for factor in design.get("factors", []):
        yield "factor", f"{factor['name']}: {', '.join(level['level'] for level in factor['levels'])}"
    cells, replicates = len(summary["cells"]), design.get("replicates", 1)
    yield "cells", f"{cells:,} batches, {replicates:,} replicate{'s' * (replicates != 1)} of each combination"
    yield "units", f"{units['completed']:,} of {units['total']:,} completed, {units['failed']:,} failed"
    yield "calls", requests(**calls)
    if summary["calls_saved"]:
        yield "saved", f"{summary['calls_saved']:,} calls in all, by stopping when sure"
    unpriced = ": a price is not known" if summary["cost_usd"] is None else ""
    yield "cost", f"{money(summary['cost_usd'])}{unpriced}"
    if summary["status"] in GOING_ON:
        yield GOING_ON[summary["status"]], f"tidepool --resume {summary['study_id']}"


def _cells(summary: Mapping[str, Any]) -> Iterator[Block]:
    factors = [factor["name"] for factor in summary["design"].get("factors", [])]
    rows: list[tuple[Cell, ...]] = [
        (
            cell["batch_id"],
            *(cell["levels"].get(name, "") for name in factors),
            f"{cell['replicate']}",
            cell["status"],
            f"{cell['units']['completed']:,}/{cell['units']['total']:,}",
            money(cell["cost_usd"]),
        )
        for cell in summary["cells"]
    ]
    if any(cell["status"] != "completed" for cell in summary["cells"]):
        columns = ("batch", *factors, "replicate", "state", "units", "cost")
        yield table("cells", columns, rows, left=len(factors) + 3, first=MOST_CELLS)
