"""`--run FILE.db#BATCH` at the terminal: what is asked, planned and run of a study that is in a file already."""

import argparse
import sys
from typing import Any

from tidepool.engine.cluster.section import said_in
from tidepool.engine.core.run_control import RunControl
from tidepool.engine.events import Listener
from tidepool.engine.publishing.place import StudyInFile
from tidepool.engine.publishing.rerun import MEANING, read_again
from tidepool.engine.run import run_batch
from tidepool.engine.studies.plan import priced
from tidepool.storage.plain_text import one_line
from tidepool.tui.command.saying import agreed, tell


def plan_again(place: StudyInFile, options: argparse.Namespace) -> dict[str, Any]:
    rerun = read_again(place, options.db, options.set, to_plan=True)
    if rerun.design is None:
        config = rerun.parts[0].config
        return priced(rerun.kind.plan(config), config)
    from tidepool.engine.design.pricing import priced_cells

    return priced_cells(rerun.planned())


async def run_again(
    place: StudyInFile, options: argparse.Namespace, listener: Listener, control: RunControl
) -> dict[str, Any]:
    rerun = read_again(place, options.db, options.set)
    rerun.refuse(options.trust)
    if rerun.design is None:
        return await run_batch(rerun.parts[0].written, options.db, on_event=listener, control=control)
    from tidepool.engine.design.running import run_planned

    cluster, _ = said_in(options.set)
    return await run_planned(rerun.planned(), options.db, on_event=listener, control=control, cluster=cluster)


def said_yes(place: StudyInFile, options: argparse.Namespace) -> str | bool:
    """At a terminal, one question for all servers that only the file names. Without a yes it is refused in words."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    question = read_again(place, options.db, options.set).question()
    if question is None:
        return False
    title = f"{question.batch_id} ({one_line(question.name)}) {question.asked}, and only its file names them:"
    tell("\n".join([title, *(f"  {what:<7} {one_line(words)}" for what, words in question.rows()), MEANING]))
    return question.config_hash if agreed("Run it?") else False
