"""The process beside the app. It reads jobs as lines of JSON, answers each with a line of JSON, and ends with its input.

python -m tidepool.tui.app.worker
"""

import io
import json
import signal
import sqlite3
import sys
import time
from collections import OrderedDict
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidepool.engine.results.blocks import Block
    from tidepool.engine.results.glimpse import Glimpse, Interim
    from tidepool.storage.errors import TidepoolError
    from tidepool.storage.studies import StoredCell

MOST_GLIMPSES = 200
MOST_CELLS = 100
"""batches of a study that are counted while they run"""
DRAFT_FILES = 3
"""a draft's files to search, to choose and to judge by"""
_glimpses: "OrderedDict[tuple[str, str], Glimpse]" = OrderedDict()


def glimpse(job: dict[str, Any]) -> Any:
    """What a batch, or each batch of a study, has come to so far; with the seconds that it took, by which one may pace oneself."""
    from tidepool.engine.results.blocks import as_json
    from tidepool.engine.results.figures import assign_places
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
            interim, more = _read(path, connection, batch)
            headline = interim.headline(job["running"]) if interim else None
            blocks = assign_places(interim.blocks, everybody(connection, batch["number"])) if interim else ()
        else:
            cells = {
                _name(cell): _read(path, connection, cell.batch) for cell in cells_of(connection, study.id)[:MOST_CELLS]
            }
            more = any(left for _, left in cells.values())
            by_cell = {name: interim for name, (interim, _) in cells.items() if interim}
            titles = dict.fromkeys(interim.name for interim in by_cell.values())
            headline, blocks = None, tuple(block for title in titles for block in _of_figure(title, by_cell))
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
    texts: dict[str, list[str]] = {}
    with reading(path) as connection:
        for batch_id in job["batches"]:
            item, more = _read(path, connection, find_batch(connection, batch_id))
            if not more:
                texts[batch_id] = [item.brief, item.headline(batch_id in job["running"]).text] if item else ["", ""]
    return {"briefs": texts, "seconds": time.process_time() - began}


def _read(path: Path, connection: sqlite3.Connection, batch: sqlite3.Row) -> "tuple[Interim | None, bool]":
    from tidepool.engine.studies.kinds import load_kind

    place = (str(path), f"{batch['id']} {batch['created_at']}")
    if place not in _glimpses:
        kind = load_kind(batch["kind"])
        if kind.glimpse is None:
            return None, False
        _glimpses[place] = kind.glimpse()
        if len(_glimpses) > MOST_GLIMPSES:
            _glimpses.popitem(last=False)
    _glimpses.move_to_end(place)
    more = _glimpses[place].update(connection, batch["number"])
    return _glimpses[place].interim(), more


def _name(cell: "StoredCell") -> str:
    return ", ".join((*cell.levels.values(), f"#{cell.replicate}"))


def _of_figure(title: str, cells: "dict[str, Interim]") -> "tuple[Block, ...]":
    """One mean and interval for each batch of a study that has this figure, in the order of its cells."""
    from tidepool.engine.results.blocks import Estimate, Figure, Number, Series, table
    from tidepool.engine.results.glimpse import CAPTION

    cells = {name: one for name, one in cells.items() if one.name == title}
    figures = {name: one.figure for name, one in cells.items() if isinstance(one.figure, Estimate | Number)}
    bounds = tuple(one.interval if isinstance(one, Estimate) else None for one in figures.values())
    series = Series(title, tuple(one.value for one in figures.values()), colour="done", intervals=bounds)
    return (
        Figure("means", f"{title}, by batch", (series,), labels=tuple(figures), caption=CAPTION),
        table(
            "batches so far", ("batch", title, "of"), [(name, one.figure, one.rests_on) for name, one in cells.items()]
        ),
    )


def _examine(job: dict[str, Any]) -> Any:
    """The faults of a draft, or its plan."""
    from tidepool.engine.config.toml_files import FILE_CACHE
    from tidepool.tui.app.compose.examination import examined

    FILE_CACHE.most = DRAFT_FILES
    return asdict(examined(job["text"], Path(job["folder"]), Path(job["database"])))


def _draw(job: dict[str, Any]) -> Any:
    from tidepool.engine.results.blocks import from_json
    from tidepool.tui.drawing.figures import draw

    return draw(from_json(job["figure"]), job["width"], job["height"], job["colours"], job["plain"])


def _report(job: dict[str, Any]) -> Any:
    """All that is to be shown of a batch, or of a study of several batches."""
    from tidepool.engine.results.blocks import as_json

    path = Path(job["path"])
    if job.get("study"):
        from tidepool.engine.design.report import study_report
        from tidepool.engine.design.statistics import summarise_study

        return as_json(study_report(path, summarise_study(path, job["batch"])))
    from tidepool.engine.results.report import report_of
    from tidepool.engine.results.summary import summarise

    return as_json(report_of(path, summarise(path, job["batch"])))


def _compare(job: dict[str, Any]) -> Any:
    """Several batches side by side, of one kind or of several."""
    from tidepool.engine.results.blocks import as_json
    from tidepool.engine.results.comparing import compare, comparison_blocks
    from tidepool.engine.results.summary import summarise

    path = Path(job["path"])
    if job["one_kind"]:
        comparison = compare(path, job["batches"])
        return as_json(comparison_blocks(comparison["batches"], comparison["differences"]))
    return as_json(comparison_blocks([summarise(path, batch) for batch in job["batches"]], []))


def _expected(job: dict[str, Any]) -> Any:
    """How many calls and waves a batch is to have, by its own config."""
    from tidepool.engine.branching.kind import kind_to_run
    from tidepool.engine.run import config_to_resume
    from tidepool.engine.studies.planned_calls import merge_plans
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.storage.studies import cells_of, study_of

    path = Path(job["path"])
    with reading(path) as connection:
        study = study_of(connection, job["batch"])
        batches = [job["batch"]] if study is None else [cell.batch["id"] for cell in cells_of(connection, study.id)]
        kind = kind_to_run(find_batch(connection, batches[0]), path)
    plan = merge_plans([kind.plan(config_to_resume(batch, path)) for batch in batches])
    return {"calls": plan.calls_expected, "exact": plan.exact, "waves": len({call.wave for call in plan.calls})}


def _family(job: dict[str, Any]) -> Any:
    """An evolution's family tree, as `show --genealogy` prints it."""
    from tidepool.engine.results.blocks import Words, as_json
    from tidepool.engine.results.summary import statistics_of
    from tidepool.engine.studies.evolution.records import read_family
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.tui.command.report import print_family
    from tidepool.tui.drawing.text import console

    with reading(Path(job["path"])) as connection:
        batch = find_batch(connection, job["batch"])
        family = read_family(connection, batch["number"], statistics_of(connection, batch))
    printed = io.StringIO()
    out = console(printed)
    out.width = 110
    print_family(out, family)
    return as_json([Words(printed.getvalue().rstrip(), "tree")])


JOBS = {
    "draw": _draw,
    "examine": _examine,
    "report": _report,
    "compare": _compare,
    "expected": _expected,
    "family": _family,
    "glimpse": glimpse,
    "briefs": briefs,
}


def answer(line: str) -> str:
    try:
        job = json.loads(line)
        return json.dumps({"answer": JOBS[job["job"]](job)})
    except Exception as error:
        result = _blamed(line, error)
        return json.dumps({"error": str(result) if result else f"{type(error).__name__}: {error}"})


def _blamed(line: str, error: Exception) -> "TidepoolError | None":
    """What is wrong with the file that the job was about, where that is what the error came of."""
    from tidepool.storage.errors import TidepoolError
    from tidepool.storage.queries.damage import blame

    if isinstance(error, TidepoolError):
        return error
    path = json.loads(line).get("path")
    return blame(Path(path), error) if path else None


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        print(answer(line), flush=True)


if __name__ == "__main__":
    main()
