"""What a batch has come to so far: its own statistics on the first completed units, so that a look costs little.

The headline of a batch that has ended is stored with it, and nothing is computed for a list of batches."""

import json
import sqlite3
from dataclasses import replace

from tidepool.engine.branching.results import results_of
from tidepool.engine.reports.blocks import Block, Figure, Headline, Table, as_json, read_headline
from tidepool.engine.results.summary import statistics_of
from tidepool.storage.errors import TidepoolError
from tidepool.storage.queries.units import only_first_units
from tidepool.storage.states import BatchStatus

MOST_UNITS = 2_000


def findings_so_far(connection: sqlite3.Connection, batch: sqlite3.Row) -> tuple[Headline | None, list[Block]]:
    """The headline, and a figure and a table of the first 2,000 units in the order of the plan that are completed."""
    with only_first_units(connection, batch["number"], MOST_UNITS) as cut:
        statistics = statistics_of(connection, batch)
    results = results_of(batch)
    headline, blocks = results.headline(statistics), results.blocks(statistics)
    if headline is None or getattr(headline.figure, "value", 0) is None:
        return None, []
    shown = [next((block for block in blocks if isinstance(block, kind)), None) for kind in (Figure, Table)]
    note = f"so far, first {MOST_UNITS:,} units" if cut else "so far"
    return replace(headline, words=", ".join(filter(None, (note, headline.words)))), [one for one in shown if one]


def headline_of(connection: sqlite3.Connection, batch: sqlite3.Row) -> str | None:
    """Of a batch at its end, as the file keeps it; None where nothing can be told."""
    try:
        headline = results_of(batch).headline(statistics_of(connection, batch))
    except (TidepoolError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # it ends all the same, and its report says what is wrong
    return None if headline is None else json.dumps(as_json(headline), ensure_ascii=False)


def stored_headline(batch: sqlite3.Row) -> Headline | None:
    """None where there is none, or where the batch runs again."""
    return None if batch["status"] == BatchStatus.IN_PROGRESS else read_headline(batch["headline"])
