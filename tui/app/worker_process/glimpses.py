"""Running counts of the batches that are looked at, kept between two looks."""

import json
import sqlite3
import time
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidepool.engine.results.blocks import Block
    from tidepool.engine.results.glimpse import Glimpse, Told
    from tidepool.storage.studies import StoredCell

MOST_KEPT = 200
MOST_CELLS = 100
"""batches of a study that are counted while they run"""
_kept: "OrderedDict[tuple[str, str], Glimpse]" = OrderedDict()


def glimpse(job: dict[str, Any]) -> Any:
    """What a batch, or each batch of a study, has come to so far; with the seconds that it took, by which one may pace oneself."""
    from tidepool.engine.results.blocks import as_json
    from tidepool.engine.results.placing import placed
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.storage.queries.lists import everybody
    from tidepool.storage.studies import cells_of, study_of

    began = time.process_time()
    path = Path(job["path"])
    with reading(path) as connection:
        study = study_of(connection, job["batch"])
        if study is None:
            batch = find_batch(connection, job["batch"])
            told, more = _told(path, connection, batch)
            headline = told.headline(job["running"]) if told else None
            blocks = placed(told.blocks, everybody(connection, batch["number"])) if told else ()
        else:
            cells = {
                _name(cell): _told(path, connection, cell.batch) for cell in cells_of(connection, study.id)[:MOST_CELLS]
            }
            more = any(left for _, left in cells.values())
            headline, blocks = None, _by_cell({name: told for name, (told, _) in cells.items() if told})
    if not job["running"]:
        blocks = tuple(_ended(block) for block in blocks)
    return {
        "headline": as_json(headline) if headline else None,
        "blocks": as_json(blocks),
        "more": more,
        "seconds": time.process_time() - began,
    }


def _ended(block: "Block") -> "Block":
    """What is no longer so far."""
    from tidepool.engine.results.blocks import Figure
    from tidepool.engine.results.glimpse import CAPTION, ENDED

    return replace(block, caption=ENDED) if isinstance(block, Figure) and block.caption == CAPTION else block


def briefs(job: dict[str, Any]) -> Any:
    """The figure of each batch in a few letters, and in a sentence; empty where there is none."""
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading

    began, path = time.process_time(), Path(job["path"])
    found: dict[str, list[str]] = {}
    with reading(path) as connection:
        for batch_id in job["batches"]:
            told, more = _told(path, connection, find_batch(connection, batch_id))
            if not more:
                found[batch_id] = [told.brief, told.headline(batch_id in job["running"]).text] if told else ["", ""]
    return {"briefs": found, "seconds": time.process_time() - began}


def _told(path: Path, connection: sqlite3.Connection, batch: sqlite3.Row) -> "tuple[Told | None, bool]":
    from tidepool.engine.studies.kinds import load_kind

    place = (str(path), f"{batch['id']} {batch['created_at']}")
    if place not in _kept:
        kind = load_kind(batch["kind"])
        settings = json.loads(batch["config"]).get(kind.name, {})
        if kind.glimpse is None:
            return None, False
        _kept[place] = kind.glimpse(settings if isinstance(settings, dict) else {})
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(place)
    more = _kept[place].take_in(connection, batch["number"])
    return _kept[place].told(), more


def _name(cell: "StoredCell") -> str:
    return ", ".join((*cell.levels.values(), f"#{cell.replicate}"))


def _by_cell(told: "dict[str, Told]") -> "tuple[Block, ...]":
    """One mean and interval for each batch of a study, in the order of its cells; those of one figure together."""
    names = dict.fromkeys(one.name for one in told.values())
    return tuple(block for name in names for block in _of_figure(name, told))


def _of_figure(title: str, told: "dict[str, Told]") -> "tuple[Block, ...]":
    from tidepool.engine.results.blocks import Estimate, Figure, Number, Series, table
    from tidepool.engine.results.glimpse import CAPTION

    told = {name: one for name, one in told.items() if one.name == title}
    drawn = {name: one.figure for name, one in told.items() if isinstance(one.figure, Estimate | Number)}
    bounds = tuple(one.interval if isinstance(one, Estimate) else None for one in drawn.values())
    series = Series(title, tuple(one.value for one in drawn.values()), colour="done", intervals=bounds)
    return (
        Figure("means", f"{title}, by batch", (series,), labels=tuple(drawn), caption=CAPTION),
        table(
            "batches so far", ("batch", title, "of"), [(name, one.figure, one.rests_on) for name, one in told.items()]
        ),
    )
