"""Compares several batches of one kind side by side, as JSON and as blocks (`tidepool compare`).

The comparison.py of a kind tests the differences. If a kind has its own blocks for several batches,
`compared(batches, differences)`, they replace the table of figures."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.branching.results import results_of, results_shown
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.contrasts import TOO_FEW_PAIRS
from tidepool.engine.reports.blocks import (
    ONE_FAMILY,
    Block,
    Estimate,
    Figure,
    Number,
    Words,
    money,
    series_of,
    span,
    table,
    tested,
    text_of,
)
from tidepool.engine.reports.figures import difference_of
from tidepool.engine.results.simulated_roles import simulated_words
from tidepool.engine.results.summary import summarise
from tidepool.engine.studies.results import flat
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading

SHOWN = (
    *("batch_id", "name", "kind", "status", "seed", "origin", "simulated", "simulated_roles", "roles"),
    *("units", "calls", "tokens", "cost_usd", "seconds", "statistics"),
)


def compare(database: Path, references: Sequence[str]) -> dict[str, Any]:
    """Returns `rows` with every number in the statistics by its path, with None for batches without it."""
    with reading(database) as connection:
        batches = [find_batch(connection, reference) for reference in references]
        _check(batches)
        summaries = [summarise(database, batch["id"]) for batch in batches]
        flattened = [dict(flat(summary["statistics"])) for summary in summaries]
        numbers = [{name: value for name, value in one.items() if type(value) in (int, float)} for one in flattened]
        names = dict.fromkeys(name for own in numbers for name in own)
        return {
            "kind": batches[0]["kind"],
            "batches": [{name: summary[name] for name in SHOWN} for summary in summaries],
            "rows": [{"name": name, "values": [own.get(name) for own in numbers]} for name in names],
            "differences": results_of(batches[0]).differences(connection, batches),
        }


def _check(batches: Sequence[sqlite3.Row]) -> None:
    ids = [batch["id"] for batch in batches]
    if len(set(ids)) < 2:
        raise UsageError("compare needs at least two different batches, such as `tidepool compare last~1 last`.")
    if len(set(ids)) < len(ids):
        raise UsageError("A batch is given twice. Give each batch once.")
    kinds = {batch["kind"] for batch in batches}
    if len(kinds) > 1:
        raise UsageError(f"Batches of different kinds cannot be compared: {', '.join(sorted(kinds))}.")

    branches = [batch["id"] for batch in batches if batch["origin"] is not None]
    if 0 < len(branches) < len(batches):
        raise UsageError(
            f"Batch {branches[0]} is a branch. Its units are redraws, which cannot be compared with conversations. "
            f"`tidepool show {branches[0]}` shows its control and its effect."
        )


MOST_ROWS = 60
Summaries = Sequence[Mapping[str, Any]]


def comparison_blocks(batches: Summaries, differences: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Returns the blocks of a comparison. `batches` are summaries of one or more kinds."""
    blocks: list[Block] = [_batches(batches)]
    blocks += (Words(words, "simulated") for words in _simulated(batches))
    kinds = {batch["kind"] for batch in batches}
    if len(kinds) == 1 and (own_blocks := results_shown(batches[0]).compared(batches, differences)):
        return [*blocks, *own_blocks]
    ids = [batch["batch_id"] for batch in batches]
    family = [Words(ONE_FAMILY, "quiet")] if differences else []
    extra_blocks = (Words(_format_difference(difference, ids)) for difference in differences)
    return [*blocks, *_figures(batches), *family, *extra_blocks]


def _simulated(batches: Summaries) -> Iterator[str]:
    """Yields the notes on simulated roles, or a single note if it is the same for all batches."""
    notes = [simulated_words(batch["roles"]) if batch["simulated"] else "" for batch in batches]
    if len(set(notes)) == 1:
        yield from filter(None, notes[:1])
    else:
        yield from (f"#{place}: {words}" for place, words in enumerate(notes, 1) if words)


def _batches(batches: Summaries) -> Block:
    rows = [
        (
            f"#{place}",
            f"{batch['batch_id']}  {batch['name']}: {batch['kind'].replace('_', ' ')}, {batch['status']}, "
            f"{batch['units']['completed']:,} of {batch['units']['total']:,} units, {batch['calls']['total']:,} calls, "
            f"seed {batch['seed']}, {money(batch['cost_usd'])}, {span(batch['seconds'])}",
        )
        for place, batch in enumerate(batches, 1)
    ]
    return table("", ("", ""), rows, left=2)


def _figures(batches: Summaries) -> Iterator[Block]:
    """Yields a table of figures, with overall figures first, and a figure of the shares."""
    by_batch = [results_shown(batch).figures(batch.get("statistics", {})) for batch in batches]
    names = sorted(dict.fromkeys(name for figures in by_batch for name in figures), key=lambda name: ": " in name)
    rows = [(name, *(figures.get(name, Number(None)) for figures in by_batch)) for name in names]
    yield table("side by side", ("", *(f"#{place + 1}" for place in range(len(batches)))), rows, first=MOST_ROWS)
    shares = [name for name in names if name.endswith(", %") and ": " not in name]
    estimates = [[cell for name in shares if isinstance(cell := figures.get(name), Estimate)] for figures in by_batch]
    if shares and all(len(row) == len(shares) and None not in [cell.value for cell in row] for row in estimates):
        series = tuple(series_of(f"#{place}", row) for place, row in enumerate(estimates, 1))
        yield Figure("bars", "per cent", series, labels=tuple(name.removesuffix(", %") for name in shares))


def _format_difference(difference: Mapping[str, Any], ids: Sequence[str]) -> str:
    first, second = (f"#{ids.index(batch) + 1}" for batch in difference["batches"])
    bounds = difference["difference_ci95"]
    text = f"{first} − {second}, {difference['measure']}: "
    text += text_of(difference_of(difference, difference.get("scale", 1), 2))
    if bounds and difference["p_value"] is not None:
        text += f", {tested(difference['p_value'], difference['p_value_holm'])}"
    elif "verdict" in difference:
        text += f"; {difference['verdict']}"
    else:
        why = TOO_FEW_PAIRS if bounds and difference["paired"] else "too few independent observations"
        text += f"; no {'' if bounds else 'interval and no '}test: {why}"
    note = f". {difference['note']}" if difference.get("note") else ""
    return f"{text} ({'paired' if difference['paired'] else 'two samples'}){note}"
