"""`tidepool branch`: talks of a batch gone on with from one turn, which is drawn again or said otherwise."""

import argparse
import asyncio
import sys
from typing import Any

from tidepool.engine.branching.kind import branching
from tidepool.engine.branching.making import BranchWish, NewBranch, new_branch
from tidepool.engine.errors import UsageError
from tidepool.engine.events import Listener
from tidepool.engine.run import run_frozen
from tidepool.engine.runtime.cluster_section import said_in
from tidepool.engine.runtime.run_control import RunControl
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.studies.plan import priced
from tidepool.engine.studies.planned_calls import Plan
from tidepool.tui.command.commands.run import ask_for_trust, steered, tell_plan, told


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument(
        "--conversation", type=int, action="append", default=[], metavar="N", help="which one to branch; repeatable"
    )
    parser.add_argument("--all", action="store_true", help="all conversations that came to their end")
    parser.add_argument("--at", required=True, metavar="STEP", help="the message: t4; in a simulation t2.1")
    parser.add_argument("--say", metavar="TEXT", help="what is said there instead; without it, it is only drawn again")
    parser.add_argument(
        "--times", type=int, metavar="N", help="redraws of each (20 of one conversation, 5 of several), in either arm"
    )
    parser.add_argument("--dry-run", action="store_true", default=argparse.SUPPRESS, help="plan and price only")
    parser.add_argument(
        "--set",
        action="append",
        default=argparse.SUPPRESS,
        metavar="KEY=VALUE",
        help="service.*, providers.* and cluster.*",
    )
    parser.add_argument(
        "--on-stop", choices=("leave", "cancel"), default=argparse.SUPPRESS, help="of provider batches when stopped"
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        default=argparse.SUPPRESS,
        help="trust a batch that was not created here, as it is now",
    )


def run(options: argparse.Namespace) -> int:
    if options.all == bool(options.conversation):
        raise UsageError("Which conversations? Say --conversation N, as often as you like, or --all.")
    cluster, changes = said_in(options.set)
    wish = BranchWish(options.batch, options.at, tuple(options.conversation), options.say, options.times, changes)
    if options.dry_run:
        new = new_branch(options.db, wish, plan_only=True)
        return tell_plan(priced(_plan(new), new.config), as_json=options.json)
    if not options.trust and sys.stdin.isatty() and sys.stderr.isatty():
        _ask_for_trust(options, wish)
    new = new_branch(options.db, wish, trust=options.trust)

    async def play(listener: Listener, control: RunControl) -> dict[str, Any]:
        return await run_frozen(new.config, options.db, branch=new, on_event=listener, control=control, cluster=cluster)

    return told(options, *asyncio.run(steered(play, options.on_stop)))


def _plan(new: NewBranch) -> Plan:
    return branching(load_kind(new.config.batch.kind), new.branch).plan(new.config)


def _ask_for_trust(options: argparse.Namespace, wish: BranchWish) -> None:
    from tidepool.engine.trust.gate import question_about

    plan = _plan(new_branch(options.db, wish, plan_only=True))
    if (question := question_about(options.db, wish.batch, wish.overrides, plan)) is not None:
        ask_for_trust(options.db, [question], "Branch it?")
