"""A helper process of the app. Reads jobs from its input, writes each result to its output, and ends with its input.

A job is a function of this package with its arguments. Jobs and results are pickled, which is safe because only the app writes
to a worker.

python -m tidepool.tui.app.worker
"""

import io
import pickle
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidepool.engine.reports.blocks import Block, Figure, Headline, Report

Job = tuple[Callable[..., object], tuple[object, ...], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class InterimEstimate:
    """The interim result of a batch, and the CPU seconds that it took to compute, which limit how often it is read."""

    headline: "Headline | None" = None
    blocks: "tuple[Block, ...]" = ()
    seconds: float = 0.0

    @property
    def figure(self) -> "Figure | None":
        from tidepool.engine.reports.blocks import Figure

        return next((block for block in self.blocks if isinstance(block, Figure)), None)


def so_far(path: Path, batch_id: str) -> InterimEstimate:
    """Returns the interim result of a batch. It is empty for a study of several batches."""
    from tidepool.engine.reports.figures import assign_places
    from tidepool.engine.results.summary import findings_so_far, stored_headline
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.storage.queries.lists import everybody
    from tidepool.storage.studies import study_of

    began = time.process_time()
    with reading(path) as connection:
        if study_of(connection, batch_id) is not None:
            return InterimEstimate()
        batch = find_batch(connection, batch_id)
        headline, blocks = findings_so_far(connection, batch)
        blocks = list(assign_places(blocks, everybody(connection, batch["number"])))
    return InterimEstimate(stored_headline(batch) or headline, tuple(blocks), time.process_time() - began)


def report(path: Path, batch_id: str, *, of_study: bool) -> "Report":
    """Returns the report of a batch, or of a study of several batches."""
    if of_study:
        from tidepool.engine.design.report import study_report
        from tidepool.engine.design.statistics import summarise_study

        return study_report(path, summarise_study(path, batch_id))
    from tidepool.engine.results.report import report_of
    from tidepool.engine.results.summary import summarise

    return report_of(path, summarise(path, batch_id))


def comparison(path: Path, batch_ids: Sequence[str], *, one_kind: bool) -> "list[Block]":
    """Compares several batches, of one kind or of several."""
    from tidepool.engine.results.comparing import compare, comparison_blocks
    from tidepool.engine.results.summary import summarise

    if one_kind:
        compared = compare(path, list(batch_ids))
        return list(comparison_blocks(compared["batches"], compared["differences"]))
    return list(comparison_blocks([summarise(path, one) for one in batch_ids], []))


def expected_calls(path: Path, batch_id: str) -> tuple[int, bool, int]:
    """Returns the planned number of calls of a batch, whether it is exact, and the planned number of waves."""
    from tidepool.engine.branching.replay import study_to_run
    from tidepool.engine.run import config_to_resume
    from tidepool.engine.runtime.plans import merge_plans
    from tidepool.storage.file import reading
    from tidepool.tui.command.report import batches_of

    with reading(path) as connection:
        plans = [
            study_to_run(connection, batch, config_to_resume(batch["id"], path)).plan()
            for batch in batches_of(connection, batch_id)[1]
        ]
    plan = merge_plans(plans)
    return plan.calls_expected, plan.exact, len({call.wave for call in plan.calls})


def family_tree(path: Path, batch_id: str) -> str:
    """Returns the family tree of an evolution, as printed by `show --genealogy`."""
    from tidepool.engine.results.summary import statistics_of
    from tidepool.engine.studies.evolution.records import read_family
    from tidepool.storage.batches import find_batch
    from tidepool.storage.file import reading
    from tidepool.tui.command.report import print_family
    from tidepool.tui.drawing.text import console

    with reading(path) as connection:
        batch = find_batch(connection, batch_id)
        family = read_family(connection, batch["number"], statistics_of(connection, batch))
    printed = io.StringIO()
    out = console(printed)
    out.width = 110
    print_family(out, family)
    return printed.getvalue().rstrip()


def answer(job: Job) -> tuple[str, Any]:
    """Runs a job. Returns an error message, empty on success, and the result."""
    from tidepool.engine.registries import blame_code
    from tidepool.storage.errors import TidepoolError
    from tidepool.storage.queries.damage import blame

    function, args, kwargs = job
    try:
        return "", function(*args, **kwargs)
    except TidepoolError as error:
        return str(error), None
    except Exception as error:
        path = next((one for one in args if isinstance(one, Path)), None)  # an untrusted file may be the cause
        return str(
            blame_code(error) or (blame(path, error) if path else None) or f"{type(error).__name__}: {error}"
        ), None


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies, sys.stdout = sys.stdout.buffer, sys.stderr
    while True:
        try:
            job = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(answer(job), replies)
        replies.flush()


if __name__ == "__main__":
    main()
