"""`--run FILE.db#BATCH` at the terminal: what is asked, planned and run of a study that is in a file already."""

import argparse
import sys
from typing import Any

from tidepool.engine.errors import NotTrusted
from tidepool.engine.events import Listener
from tidepool.engine.publishing.place import StudyInFile
from tidepool.engine.publishing.rerun import MEANING, Rerun, read_again
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.cluster_section import said_in
from tidepool.engine.runtime.run_control import RunControl
from tidepool.engine.studies.plan import priced
from tidepool.tui.command.commands.run import agreed_to


def plan_again(place: StudyInFile, options: argparse.Namespace) -> dict[str, Any]:
    rerun = read_again(place, options.db, options.set, to_plan=True)
    if rerun.design is None:
        config = rerun.parts[0].config
        return priced(rerun.kind.plan(config), config)
    from tidepool.engine.design.pricing import priced_cells

    return priced_cells(rerun.planned())


async def run_again(
    rerun: Rerun, options: argparse.Namespace, listener: Listener, control: RunControl
) -> dict[str, Any]:
    if rerun.design is None:
        return await run_batch(rerun.parts[0].written, options.db, on_event=listener, control=control)
    from tidepool.engine.design.running import run_planned

    cluster, _ = said_in(options.set)
    return await run_planned(rerun.planned(), options.db, on_event=listener, control=control, cluster=cluster)


def allowed_rerun(place: StudyInFile, options: argparse.Namespace) -> Rerun:
    """The study as it will be run: it is read once, so what was asked about is what runs. Raises where it is not trusted."""
    rerun = read_again(place, options.db, options.set)
    if options.trust or (question := rerun.question()) is None:
        return rerun
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        rerun.refuse()
    elif not agreed_to(question, MEANING, "Run it?"):
        raise NotTrusted("Nothing was sent or run.")
    return rerun
