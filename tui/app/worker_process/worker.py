"""The process beside the app: reads jobs as lines of JSON, answers each with a line of JSON, ends with its input.

python -m tidepool.tui.app.worker_process.worker
"""

import json
import signal
import sys
from io import StringIO
from pathlib import Path
from typing import Any


def _draw(job: dict[str, Any]) -> Any:
    from tidepool.tui.app.worker_process.drawing import draw
    from tidepool.tui.app.worker_process.figure import Figure

    return draw(Figure.from_json(job["figure"]), job["width"], job["height"], job["colours"], job["plain"])


def _summary(job: dict[str, Any]) -> Any:
    from tidepool.engine.results.summary import summarise

    return summarise(Path(job["path"]), job["batch"])


def _expected(job: dict[str, Any]) -> Any:
    """How many calls and waves a batch is to have, by its own config."""
    from tidepool.engine.run import config_to_resume
    from tidepool.engine.studies.kinds import load_kind

    config = config_to_resume(job["batch"], Path(job["path"]))
    calls = load_kind(config.batch.kind).plan(config).calls
    return {"calls": sum(one.calls for one in calls), "waves": len({one.wave for one in calls})}


def _report(job: dict[str, Any]) -> Any:
    """The statistics as the command prints them: for kinds that have no pages of their own."""
    from importlib import import_module

    from rich.console import Console

    from tidepool.tui.drawing.plain import plain

    console = Console(width=job["width"], markup=False, highlight=False, file=StringIO())
    with console.capture() as captured:
        import_module(f"tidepool.tui.command.reports.{job['kind']}").print_statistics(console, job["statistics"])
    return [plain(row) for row in captured.get().rstrip("\n").split("\n")]


def _family(job: dict[str, Any]) -> Any:
    """An evolution's family tree, line by line."""
    from rich.console import Console

    from tidepool.engine.studies.evolution.genealogy import read_family
    from tidepool.storage.file import reading
    from tidepool.tui.drawing.genealogy import print_family
    from tidepool.tui.drawing.plain import plain

    console = Console(width=job["width"], markup=False, highlight=False, color_system=None, file=StringIO())
    with reading(Path(job["path"])) as connection:
        family = read_family(connection, job["number"], job["statistics"])
    with console.capture() as captured:
        print_family(console, family)
    return plain(captured.get().rstrip("\n"))


JOBS = {"draw": _draw, "summary": _summary, "expected": _expected, "report": _report, "family": _family}


def answer(line: str) -> str:
    try:
        job = json.loads(line)
        return json.dumps({"answer": JOBS[job["job"]](job)})
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        print(answer(line), flush=True)


if __name__ == "__main__":
    main()
