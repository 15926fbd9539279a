"""`tidepool list`: lists the batches of the file. To start fast, it loads neither config classes nor numpy."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from tidepool.engine.reports.blocks import Headline, money, read_headline
from tidepool.storage.file import reading, tidy_journal, tidy_locks
from tidepool.storage.queries.lists import cell_name, with_studies
from tidepool.storage.queries.watching import BatchLine, read_batches
from tidepool.tui.command.output import echo, echo_json
from tidepool.tui.drawing.text import console, one_line, resting, utc


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cells", action="store_true", help="list the batches of each study too")


def run(options: argparse.Namespace) -> int:
    with reading(options.db) as connection:
        lines = read_batches(connection, options.db, -1 if options.json else MOST_SHOWN + 1)
        batches = lines if options.json else with_studies(connection, lines)
    tidy_locks(options.db)
    tidy_journal(options.db)
    if options.json:
        echo_json(
            [
                {name: getattr(batch, name) for name in IN_JSON}
                | {"origin": batch.branched_off, "headline": headline.text if (headline := _headline(batch)) else None}
                for batch in batches
            ]
        )
        return 0
    if not batches:
        echo("No batches yet. Run one with `tidepool run CONFIG.toml`.")
        return 0
    if not options.cells:
        batches = [batch for batch in batches if not batch.study_id]
    out = console()
    out.print(batch_table(batches[:MOST_SHOWN], out.width))
    if len(batches) > MOST_SHOWN:
        echo("… and older ones. `tidepool list --json` lists all.")
    for batch in batches[:MOST_SHOWN]:
        for provider, rest in batch.resting.items():
            out.print(Text(one_line(f"{batch.id}: {resting(provider, **rest)}")))
    return 0


MOST_SHOWN = 500
IN_JSON = (
    "number id kind name status paused reason simulated created_at finished_at units_total units_completed units_failed calls "
    "cost_usd seconds resting partly_simulated seed study_id cells"
).split()
LEFT_OUT = ("started", "seed", "branch", "finding", "kind", "cost")
"""columns that a narrow terminal leaves out, in this order, once the name is down to SHORTEST_NAME characters"""
SHORTEST_NAME = 14


def batch_table(batches: Sequence[BatchLine], width: int) -> Table:
    """Returns a table with one line for each batch. Only long names are cut."""
    studies = {batch.id: batch.name for batch in batches if batch.cells}
    rows = [_cells(batch) | {"name": _name(batch, studies, width)} for batch in batches]
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    widths = {name: max(len(name), *(cell_len(row[name]) for row in rows)) for name in names}
    columns = list(widths)
    free = 0
    for name in ("", *LEFT_OUT):
        columns = [column for column in columns if column != name]
        free = max(1, width - sum(widths[column] + 1 for column in columns if column != "name") - 1)
        if free >= min(SHORTEST_NAME, widths["name"]):
            break
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        justify: Literal["left", "right"] = "right" if name in ("seed", "units", "cost", "cells") else "left"
        table.add_column(name, justify=justify, no_wrap=True, width=min(widths[name], free) if name == "name" else None)
    for batch, row in zip(batches, rows, strict=True):
        table.add_row(*(Text(row[name] if name != "name" else _name(batch, studies, free)) for name in columns))
    return table


def _name(batch: BatchLine, studies: Mapping[str, str], width: int) -> str:
    """Returns the name of a batch. Cells are listed under their study and do not repeat its name."""
    if not batch.study_id:
        return one_line(batch.name)
    return f"  {one_line(cell_name(batch.name, studies.get(batch.study_id, ''), width - 2))}"


def _headline(batch: BatchLine) -> Headline | None:
    """Returns the main result, which was stored when the batch ended."""
    return None if batch.running or batch.cells else read_headline(batch.headline)


def _cells(batch: BatchLine) -> dict[str, str]:
    origin, headline = batch.branched_off, _headline(batch)
    failed = f", {batch.units_failed:,} failed" if batch.units_failed else ""
    return {
        "id": one_line(batch.id),
        "kind": one_line(batch.kind),
        "name": "",
        "cells": f"{batch.cells:,}" if batch.cells else "",
        "seed": "" if batch.cells else f"{batch.seed}",
        "status": one_line(batch.status) + (" (paused)" if batch.paused else ""),
        "units": f"{batch.units_done:,}/{batch.units_total:,}{failed}",
        "finding": one_line(headline.brief) if headline else "",
        "cost": money(batch.cost_usd),
        "answers": "" if not batch.simulated else "partly simulated" if batch.partly_simulated else "simulated",
        "branch": one_line(f"{origin['at']} of {origin['batch_id']}") if origin else "",
        "started": utc(batch.created_at),
    }
