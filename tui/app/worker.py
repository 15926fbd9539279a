"""The process beside the app. It reads jobs as lines of JSON, answers each with a line of JSON, and ends with its input.

python -m tidepool.tui.app.worker
"""

import io
import json
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidepool.engine.reports.blocks import Block, Headline
    from tidepool.storage.errors import TidepoolError
    from tidepool.storage.studies import StoredCell

MOST_CELLS = 100
"""batches of a study that are counted while they run"""


def so_far(job: dict[str, Any]) -> Any:
    """What a batch, or each batch of a study, has come to so far; with the seconds that it took, by which one may pace oneself."""
    from tidepool.engine.reports.blocks import as_json
    from tidepool.engine.reports.figures import assign_places
    from tidepool.engine.results.so_far import findings_so_far, stored_headline
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.storage.queries.lists import everybody
    from tidepool.storage.studies import cells_of, study_of

    began = time.process_time()
    with reading(Path(job["path"])) as connection:
        study = study_of(connection, job["batch"])
        if study is None:
            batch = find_batch(connection, job["batch"])
            headline, blocks = findings_so_far(connection, batch)
            headline = stored_headline(batch) or headline
            blocks = list(assign_places(blocks, everybody(connection, batch["number"])))
        else:
            headline, cells = None, cells_of(connection, study.id)[:MOST_CELLS]
            figures = {_name(cell): _headline(connection, cell.batch) for cell in cells}
            blocks = list(_by_cell({name: found for name, found in figures.items() if found}))
    return {
        "headline": as_json(headline) if headline else None,
        "blocks": as_json(blocks),
        "seconds": time.process_time() - began,
    }


def briefs(job: dict[str, Any]) -> Any:
    """The figure of each batch in a few letters, and in a sentence; empty where there is none."""
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading

    began = time.process_time()
    with reading(Path(job["path"])) as connection:
        headlines = {name: _headline(connection, find_batch(connection, name)) for name in job["batches"]}
    texts = {name: [found.brief, found.text] if found else ["", ""] for name, found in headlines.items()}
    return {"briefs": texts, "seconds": time.process_time() - began}


def _headline(connection: sqlite3.Connection, batch: sqlite3.Row) -> "Headline | None":
    from tidepool.engine.results.so_far import findings_so_far, stored_headline

    return stored_headline(batch) or findings_so_far(connection, batch)[0]


def _name(cell: "StoredCell") -> str:
    return ", ".join((*cell.levels.values(), f"#{cell.replicate}"))


def _by_cell(cells: "dict[str, Headline]") -> "Iterator[Block]":
    """One mean and interval for each batch of a study, in the order of its cells."""
    from tidepool.engine.reports.blocks import Estimate, Figure, Number, Series, table

    figures = {name: one.figure for name, one in cells.items() if isinstance(one.figure, Estimate | Number)}
    if figures:
        title = next(iter(cells.values())).name
        bounds = tuple(one.interval if isinstance(one, Estimate) else None for one in figures.values())
        series = Series(title, tuple(one.value for one in figures.values()), colour="done", intervals=bounds)
        yield Figure("means", f"{title}, by batch", (series,), labels=tuple(figures))
        yield table(
            "batches so far", ("batch", title, "of"), [(name, one.figure, one.words) for name, one in cells.items()]
        )


def _examine(job: dict[str, Any]) -> Any:
    """The faults of a draft, or its plan."""
    from tidepool.tui.app.compose.examination import examined

    return asdict(examined(job["text"], Path(job["folder"]), Path(job["database"])))


def _draw(job: dict[str, Any]) -> Any:
    from tidepool.engine.reports.blocks import from_json
    from tidepool.tui.drawing.figures import draw

    return draw(from_json(job["figure"]), job["width"], job["height"], job["colours"], job["plain"])


def _report(job: dict[str, Any]) -> Any:
    """All that is to be shown of a batch, or of a study of several batches."""
    from tidepool.engine.reports.blocks import as_json

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
    from tidepool.engine.reports.blocks import as_json
    from tidepool.engine.results.comparing import compare, comparison_blocks
    from tidepool.engine.results.summary import summarise

    path = Path(job["path"])
    if job["one_kind"]:
        comparison = compare(path, job["batches"])
        return as_json(comparison_blocks(comparison["batches"], comparison["differences"]))
    return as_json(comparison_blocks([summarise(path, batch) for batch in job["batches"]], []))


def _expected(job: dict[str, Any]) -> Any:
    """How many calls and waves a batch is to have, by its own config."""
    from tidepool.engine.branching.replay import study_to_run
    from tidepool.engine.run import config_to_resume
    from tidepool.engine.runtime.plans import merge_plans
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.storage.studies import cells_of, study_of

    path = Path(job["path"])
    with reading(path) as connection:
        study = study_of(connection, job["batch"])
        batches = [job["batch"]] if study is None else [cell.batch["id"] for cell in cells_of(connection, study.id)]
        plans = [
            study_to_run(connection, find_batch(connection, batch), config_to_resume(batch, path)).plan()
            for batch in batches
        ]
    plan = merge_plans(plans)
    return {"calls": plan.calls_expected, "exact": plan.exact, "waves": len({call.wave for call in plan.calls})}


def _family(job: dict[str, Any]) -> Any:
    """An evolution's family tree, as `show --genealogy` prints it."""
    from tidepool.engine.reports.blocks import Words, as_json
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
    "so_far": so_far,
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
