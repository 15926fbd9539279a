"""`tidepool list`: lists the batches of the file. To start fast, it loads neither config classes nor numpy."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from tidepool.engine.reports.blocks import money
from tidepool.engine.results.batch_summary import batches as batches_of_file
from tidepool.engine.results.batch_summary import main_result
from tidepool.storage.file import reading, tidy_journal, tidy_locks
from tidepool.storage.queries.lists import cell_name, with_studies
from tidepool.storage.queries.watching import BatchLine, read_batches
from tidepool.tui.command.output import echo, echo_json
from tidepool.tui.drawing.text import console, one_line, resting, utc


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cells", action="store_true", help="list the batches of each study too")


def run(options: argparse.Namespace) -> int:
    if options.json:
        echo_json(batches_of_file(options.db))
    else:
        with reading(options.db) as connection:
            lines = with_studies(connection, read_batches(connection, options.db, MOST_SHOWN + 1))
        _print(lines if options.cells else [batch for batch in lines if not batch.study_id])
    tidy_locks(options.db)
    tidy_journal(options.db)
    return 0


def _print(batches: Sequence[BatchLine]) -> None:
    if not batches:
        echo("No batches yet. Run one with `tidepool run CONFIG.toml`.")
        return
    out = console()
    out.print(batch_table(batches[:MOST_SHOWN], out.width))
    if len(batches) > MOST_SHOWN:
        echo("… and older ones. `tidepool list --json` lists all.")
    for batch in batches[:MOST_SHOWN]:
        for provider, rest in batch.resting.items():
            out.print(Text(one_line(f"{batch.id}: {resting(provider, **rest)}")))


MOST_SHOWN = 500
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


def _cells(batch: BatchLine) -> dict[str, str]:
    origin, headline = batch.branched_off, main_result(batch)
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
