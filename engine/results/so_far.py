"""Preliminary results of a running batch: its statistics on the first completed units, which are fast to compute.

The headline of an ended batch is stored with it, so a list of batches needs no statistics."""

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
    """Returns the headline, a figure and a table of the first 2,000 completed units in planned order."""
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
    """Returns the headline of an ended batch as JSON, or None if the statistics cannot be computed."""
    try:
        headline = results_of(batch).headline(statistics_of(connection, batch))
    except (TidepoolError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # the batch still ends, and its report shows the problem
    return None if headline is None else json.dumps(as_json(headline), ensure_ascii=False)


def stored_headline(batch: sqlite3.Row) -> Headline | None:
    """Returns the stored headline, or None if it is missing or the batch is running again."""
    return None if batch["status"] == BatchStatus.IN_PROGRESS else read_headline(batch["headline"])
