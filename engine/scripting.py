"""The commands as functions, for scripts and notebooks. They take the same references and return the same JSON objects."""

import asyncio
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from tidepool.engine.branching.making import BranchSpec, new_branch
from tidepool.engine.config.freezing import remarks_on
from tidepool.engine.config.sections import Config
from tidepool.engine.config.sections import Study as StudyInCode
from tidepool.engine.design.statistics import StudySummary
from tidepool.engine.events import BatchEnded, CallAnswered, Event, Listener, UnitEnded, UnitsExpected
from tidepool.engine.exports.export import export_batch
from tidepool.engine.planning.foresight import planned, price_of
from tidepool.engine.publishing.card import About
from tidepool.engine.publishing.folder import PublishedFolder
from tidepool.engine.publishing.folder import publish as publish_folder
from tidepool.engine.results.batch_summary import Figures, Summary
from tidepool.engine.results.comparing import compare as compare_batches
from tidepool.engine.run import planned_branch, run_batch, run_planned, run_study
from tidepool.engine.runtime.session import RunControl


def plan(study: Config | StudyInCode, database: str | Path = "tidepool.db") -> Figures:
    """What a study would send, with its cost and time, as `tidepool plan --json` prints it. Nothing is sent or written."""
    config = study.as_config() if isinstance(study, StudyInCode) else study
    priced = price_of(planned(config, Path(database)))
    return Figures({**priced, "warnings": [*remarks_on(config), *priced["warnings"]]})


async def run(
    study: Config | StudyInCode,
    database: str | Path = "tidepool.db",
    *,
    on_event: Listener | None = None,
    control: RunControl | None = None,
) -> Summary | StudySummary:
    """Runs a study to its end, with a design or without. In a notebook, it shows its progress."""
    listener = on_event or notebook_progress()
    if study.design is None:
        return await run_batch(study, database, on_event=listener, control=control)
    return await run_study(study, database, on_event=listener, control=control)


async def branch(
    batch: str,
    at: str,
    *,
    conversations: Sequence[int] = (),
    say: str | None = None,
    times: int | None = None,
    overrides: Sequence[str] = (),
    database: str | Path = "tidepool.db",
    on_event: Listener | None = None,
    control: RunControl | None = None,
    trust: bool = False,
) -> Summary:
    """Runs conversations again from the message `at`, as `tidepool branch` does. By default, all completed ones."""
    spec = BranchSpec(batch, at, tuple(conversations), say, times, tuple(overrides))
    new = await asyncio.to_thread(new_branch, Path(database), spec, trust=trust)
    listener = on_event or notebook_progress()
    return cast(Summary, await run_planned(planned_branch(new), Path(database), on_event=listener, control=control))


def compare(*batches: str, database: str | Path = "tidepool.db") -> Figures:
    """The differences between batches of one kind, as `tidepool compare --json` prints them."""
    return Figures(compare_batches(Path(database), batches))


def export(
    batch: str, to: str | Path | None = None, format: str = "json", *, database: str | Path = "tidepool.db"
) -> list[Path]:
    """Exports a batch or a study, and returns the files. `to` is a folder or a file, as the format needs."""
    return export_batch(Path(database), batch, format, None if to is None else Path(to))


def publish(
    study: str,
    folder: str | Path,
    *,
    title: str = "",
    description: str = "",
    authors: Sequence[str] = (),
    license: str = "",
    database: str | Path = "tidepool.db",
) -> PublishedFolder:
    """Writes a folder to share, with the study file, tables, reports and a description."""
    return publish_folder(Path(database), study, Path(folder), About(title, description, tuple(authors), license))


def notebook_progress() -> Listener | None:
    """A listener that updates one line below the cell of a notebook; None outside of notebooks."""
    if "ipykernel" not in sys.modules:
        return None
    display: Any = import_module("IPython.display").display  # it is installed, since a kernel runs
    line = display({"text/plain": "Running …"}, raw=True, display_id=True)
    total = ended = answered = 0
    shown = 0.0

    def listen(event: Event) -> None:
        nonlocal total, ended, answered, shown
        match event:
            case UnitsExpected(total=count):
                total = count
            case UnitEnded():
                ended += 1
            case CallAnswered():
                answered += 1
        if isinstance(event, BatchEnded) or time.monotonic() - shown >= 0.2:  # seconds
            shown = time.monotonic()
            bar = "█" * (20 * ended // total if total else 0)
            line.update({"text/plain": f"{bar:░<20} {ended:,} of {total:,} units · {answered:,} replies"}, raw=True)

    return listen
