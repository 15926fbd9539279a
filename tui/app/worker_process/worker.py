"""The process beside the app: reads jobs as lines of JSON, answers each with a line of JSON, ends with its input.

python -m tidepool.tui.app.worker_process.worker
"""

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidepool.storage.errors import TidepoolError


def _draw(job: dict[str, Any]) -> Any:
    from tidepool.engine.results.blocks import from_json
    from tidepool.tui.drawing.figures import draw

    return draw(from_json(job["figure"]), job["width"], job["height"], job["colours"], job["plain"])


def _report(job: dict[str, Any]) -> Any:
    """All that is to be shown of a batch."""
    from tidepool.engine.results.blocks import as_json
    from tidepool.engine.results.report import report_of
    from tidepool.engine.results.summary import summarise

    path = Path(job["path"])
    return as_json(report_of(path, summarise(path, job["batch"])))


def _study(job: dict[str, Any]) -> Any:
    """All that is to be shown of a study of several batches."""
    from tidepool.engine.design.report import study_report
    from tidepool.engine.design.summary import summarise_study
    from tidepool.engine.results.blocks import as_json

    path = Path(job["path"])
    return as_json(study_report(path, summarise_study(path, job["batch"])))


def _compare(job: dict[str, Any]) -> Any:
    """Several batches side by side, of one kind or of several."""
    from tidepool.engine.results.blocks import as_json
    from tidepool.engine.results.comparing import compare
    from tidepool.engine.results.comparison_report import comparison_blocks
    from tidepool.engine.results.summary import summarise

    path = Path(job["path"])
    if job["one_kind"]:
        found = compare(path, job["batches"])
        return as_json(comparison_blocks(found["batches"], found["differences"]))
    return as_json(comparison_blocks([summarise(path, batch) for batch in job["batches"]], []))


def _expected(job: dict[str, Any]) -> Any:
    """How many calls and waves a batch is to have, by its own config; and which roles in it are simulated."""
    from tidepool.engine.branching.kind import kind_to_run
    from tidepool.engine.results.simulated_roles import merge_roles, roles_asked, simulated_roles
    from tidepool.engine.run import config_to_resume
    from tidepool.engine.studies.planned_calls import together
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.storage.studies import cells_of, study_of

    path = Path(job["path"])
    with reading(path) as connection:
        study = study_of(connection, job["batch"])
        batches = [job["batch"]] if study is None else [cell.batch["id"] for cell in cells_of(connection, study.id)]
        kind = kind_to_run(find_batch(connection, batches[0]), path)
    configs = [config_to_resume(batch, path) for batch in batches]
    plan = together([kind.plan(one) for one in configs])
    roles = merge_roles(
        roles_asked(kind.name, one.as_written(), dict.fromkeys(sorted(kind.models(one)), 0)) for one in configs
    )
    return {
        "calls": plan.calls_expected,
        "exact": plan.exact,
        "waves": len({one.wave for one in plan.calls}),
        "simulated": simulated_roles(roles) if any(not one["simulated"] for one in roles) else [],
    }


def _family(job: dict[str, Any]) -> Any:
    """Whom an evolution's family is looked at from: champion and best seed prompt, and its generations."""
    from tidepool.engine.results.blocks import Estimate, text_of
    from tidepool.engine.results.summary import statistics_of
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.storage.queries.learning import generation_sizes

    with reading(Path(job["path"])) as connection:
        batch = find_batch(connection, job["batch"])
        statistics = statistics_of(connection, batch)
        generations = generation_sizes(connection, batch["number"])
    found = {name: statistics.get(name) or {} for name in ("champion", "baseline")}
    held_out = {
        one["genome_id"]: text_of(Estimate(100 * one["validation_accuracy"], _percent(one["validation_ci95"]), 1, " %"))
        for one in found.values()
        if one.get("validation_accuracy") is not None
    }
    named = {name: one.get("genome_id") for name, one in found.items()}
    return {**named, "held_out": held_out, "generations": [list(row) for row in generations]}


def _percent(bounds: Any) -> tuple[float, float] | None:
    return (100 * bounds[0], 100 * bounds[1]) if bounds else None


def _glimpse(job: dict[str, Any]) -> Any:
    from tidepool.tui.app.worker_process.glimpses import glimpse

    return glimpse(job)


def _briefs(job: dict[str, Any]) -> Any:
    from tidepool.tui.app.worker_process.glimpses import briefs

    return briefs(job)


JOBS = {
    "draw": _draw,
    "report": _report,
    "study": _study,
    "compare": _compare,
    "expected": _expected,
    "family": _family,
    "glimpse": _glimpse,
    "briefs": _briefs,
}


def answer(line: str) -> str:
    try:
        job = json.loads(line)
        return json.dumps({"answer": JOBS[job["job"]](job)})
    except Exception as error:
        told = _blamed(line, error)
        return json.dumps({"error": str(told) if told else f"{type(error).__name__}: {error}"})


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
