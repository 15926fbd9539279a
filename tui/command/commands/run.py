"""`tidepool run`, `--run`, `--resume` and `branch`: runs studies without a screen, for scripts and for the app."""

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from tidepool.engine import gate
from tidepool.engine.branching.making import BranchSpec, new_branch
from tidepool.engine.branching.replay import study_to_run
from tidepool.engine.config.cluster import split_cluster_overrides
from tidepool.engine.config.freezing import remarks_on
from tidepool.engine.config.loading import load_config
from tidepool.engine.errors import NotTrusted, UsageError
from tidepool.engine.events import Listener
from tidepool.engine.publishing.reuse import MEANING, Rerun, StudyInFile, read_again, study_in_file
from tidepool.engine.run import (
    config_to_resume,
    planned_branch,
    question_about,
    resume_batch,
    run_batch,
    run_planned,
    run_study,
)
from tidepool.engine.runtime.plans import merge_plans, priced
from tidepool.engine.runtime.session import RunControl, Stop
from tidepool.engine.trust.record import trust_record
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.states import BatchStatus, StopCode
from tidepool.storage.studies import batches_to_resume
from tidepool.storage.text import one_line
from tidepool.tui.command.main import run_options
from tidepool.tui.command.output import agreed, echo_err, reply
from tidepool.tui.command.progress import progress_on
from tidepool.tui.command.report import print_plan, print_summary
from tidepool.tui.drawing.plan import budget_words

Play = Callable[[Listener, RunControl], Awaitable[dict[str, Any]]]
Played = tuple[dict[str, Any], Stop | None, int | None]
"""the summary, the reason for an early stop, and the signal"""
EXIT_CODES: dict[str, int] = {BatchStatus.COMPLETED: 0, BatchStatus.FAILED: 1, BatchStatus.PARTIAL: 3}


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    if name == "resume":
        parser.add_argument("resume", metavar="BATCH")
    else:
        words = "a config; or FILE.db#BATCH to run a batch or study of a file again"
        parser.add_argument("run", metavar="CONFIG.toml", help=words)
    run_options(parser, default=False)


def run(options: argparse.Namespace) -> int:
    options.place = study_in_file(options.run) if "#" in (options.run or "") else None
    if options.run and options.trust and not options.place:
        raise UsageError(
            "--trust works only with `tidepool resume` and FILE.db#BATCH. A config file that you run is trusted."
        )
    shown = options.dry_run or (not options.trust and at_a_terminal())
    if options.resume and shown and (question := question_about(options.db, options.resume, options.set)) is not None:
        if options.dry_run:
            show_question(question)
        else:
            ask_for_trust(options.db, question)
    if options.dry_run:
        return report_plan(options, _plan(options))
    if options.place:
        options.rerun = allowed_rerun(options.place, options)
    play = partial(_run_new if options.run else _resume, options)
    return print_result(options, *asyncio.run(steered(play, options)))


def print_result(options: argparse.Namespace, summary: dict[str, Any], stop: Stop | None, signalled: int | None) -> int:
    """Prints the result. Returns the exit code."""
    try:
        reply(options, summary, lambda: print_summary(options.db, summary, options))
        sys.stdout.flush()
        if stop is not None and stop.code is StopCode.BUDGET:
            echo_err("The budget is used up. To continue, resume with a larger one: --set service.budget_usd=AMOUNT")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return exit_code(summary["status"], stop, signalled)


def exit_code(status: str, stop: Stop | None, signalled: int | None) -> int:
    if status != BatchStatus.INTERRUPTED:
        return EXIT_CODES[status]
    if stop is not None and stop.code is StopCode.BUDGET:
        return 4
    return 128 + (signalled or signal.SIGINT)


def report_plan(options: argparse.Namespace, plan: dict[str, Any]) -> int:
    for warning in plan["warnings"]:
        echo_err(f"warning: {warning}")
    return reply(options, plan, lambda: print_plan(plan, full=options.full))


def at_a_terminal() -> bool:
    """Returns whether a user can answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_for_trust(database: Path, question: gate.TrustQuestion, words: str = "Resume it?") -> None:
    """Asks one question for the whole study. Raises unless the answer is yes."""
    count = len(question.admissions)
    several = f" The study has {count:,} such batches. The answer applies to all." if count > 1 else ""
    if not agreed_to(question, f"{gate.MEANING}{several}", words):
        raise NotTrusted("Nothing was sent or run.")
    question.adopt(database)


def agreed_to(question: gate.TrustQuestion, meaning: str, words: str) -> bool:
    show_question(question)
    echo_err(meaning)
    return agreed(words)


def show_question(question: gate.TrustQuestion) -> None:
    title = f"{question.run_id} ({one_line(question.name)}) {gate.FOREIGN}. It would use:"
    echo_err("\n".join([title, *(f"  {kind:<7} {one_line(value)}" for kind, value in question.rows())]))


def _plan(options: argparse.Namespace) -> dict[str, Any]:
    if options.run:
        from tidepool.engine.planning.foresight import planned, price_of

        if options.place:
            rerun = read_again(options.place, options.db, options.set, to_plan=True)
            return price_of(rerun.parts[0].config if rerun.design is None else rerun.planned())
        config = load_config(options.run, options.set)
        plan = price_of(planned(config, options.db))
        return {**plan, "warnings": [*remarks_on(config), *plan["warnings"]]}
    with reading(options.db) as connection:
        batches = [find_batch(connection, one) for one in batches_to_resume(connection, options.resume)]
        configs = [config_to_resume(batch["id"], options.db, options.set) for batch in batches]
        studies = [study_to_run(connection, *both) for both in zip(batches, configs, strict=True)]
    for batch, study in zip(batches, studies, strict=True):
        if study.code() and trust_record().knows(batch["id"], batch["config"]):
            study.find_code(trust_record().folders_of(batch["id"]) or [Path.cwd()])
    return priced(merge_plans([study.plan() for study in studies]), studies[0].config, several=len(studies) > 1)


async def steered(play: Play, options: argparse.Namespace) -> Played:
    """Runs a study with progress on stderr, until the end or a signal."""
    control = RunControl(options.on_stop)
    signals = _Signals(control)
    try:
        summary = await play(progress_on(sys.stderr, quiet=options.quiet), control)
    except UsageError as error:  # raised before anything started
        if signals.first is not None:
            error.exit_code = 128 + signals.first
        raise
    return summary, control.requested, signals.first


async def _run_new(options: argparse.Namespace, listener: Listener, control: RunControl) -> dict[str, Any]:
    if options.place:
        cluster, _ = split_cluster_overrides(options.set)
        study = options.rerun.planned()
        return await run_planned(study, options.db, on_event=listener, control=control, cluster=cluster)
    config = load_config(options.run, options.set)
    for remark in remarks_on(config):
        echo_err(f"warning: {remark}")
    if config.service.budget_usd:
        plan = await asyncio.to_thread(_plan, options)
        if too_small := budget_words(plan):
            echo_err(f"warning: The budget of {too_small}.")
    if config.design is None:
        return await run_batch(config, options.db, on_event=listener, control=control)
    return await run_study(config, options.db, on_event=listener, control=control)


async def _resume(options: argparse.Namespace, listener: Listener, control: RunControl) -> dict[str, Any]:
    return await resume_batch(
        options.resume, options.db, overrides=options.set, on_event=listener, control=control, trust=options.trust
    )


TWICE_SECONDS = 0.1
"""signals within this time count as one, since `timeout` and some supervisors send each to a process and its group"""


class _Signals:
    """Stops the batch cleanly at the first SIGINT or SIGTERM, and exits at once at the second. Both can be resumed."""

    def __init__(self, control: RunControl) -> None:
        self.first: int | None = None
        self._since = 0.0
        self._control = control
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._received, number)

    def _received(self, number: int) -> None:
        if self.first is not None:
            if time.monotonic() - self._since > TWICE_SECONDS:
                os._exit(128 + number)
            return
        self.first, self._since = number, time.monotonic()
        self._control.stop_for(StopCode.SIGNAL, f"signal {signal.Signals(number).name}")
        echo_err("\nStopping after the requests in flight. Press Ctrl+C again to exit at once.")


# -- a study of a file again -------------------------------------------------------------------------------------------


def allowed_rerun(place: StudyInFile, options: argparse.Namespace) -> Rerun:
    """Returns the study to run, read only once, so that the user confirms exactly this. Raises if it is not trusted."""
    rerun = read_again(place, options.db, options.set)
    if options.trust or (question := rerun.question()) is None:
        return rerun
    if not at_a_terminal():
        rerun.refuse()
    elif not agreed_to(question, MEANING, "Run it?"):
        raise NotTrusted("Nothing was sent or run.")
    return rerun


# -- branch ------------------------------------------------------------------------------------------------------------


def add_branch_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument(
        "--conversation",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="branch this conversation (repeatable)",
    )
    parser.add_argument("--all", action="store_true", help="branch all completed conversations")
    parser.add_argument("--at", required=True, metavar="STEP", help="the message, such as t4, or t2.1 in a simulation")
    parser.add_argument(
        "--say", metavar="TEXT", help="the text of the reworded message; without it, the message is only resampled"
    )
    parser.add_argument(
        "--times",
        type=int,
        metavar="N",
        help="replays of each conversation in each arm (20 for one conversation, 5 for several)",
    )
    run_options(parser, default=False)


def run_branch(options: argparse.Namespace) -> int:
    if options.all == bool(options.conversation):
        raise UsageError("Choose conversations with --conversation N (repeatable) or --all.")
    cluster, changes = split_cluster_overrides(options.set)
    wish = BranchSpec(options.batch, options.at, tuple(options.conversation), options.say, options.times, changes)
    if options.dry_run:
        new = new_branch(options.db, wish, plan_only=True)
        return report_plan(options, priced(new.plan(), new.config))
    if not options.trust and at_a_terminal():
        plan = new_branch(options.db, wish, plan_only=True).plan()
        if (question := question_about(options.db, wish.batch, wish.overrides, plan)) is not None:
            ask_for_trust(options.db, question, "Branch it?")
    new = new_branch(options.db, wish, trust=options.trust)

    async def play(listener: Listener, control: RunControl) -> dict[str, Any]:
        return await run_planned(planned_branch(new), options.db, on_event=listener, control=control, cluster=cluster)

    return print_result(options, *asyncio.run(steered(play, options)))
