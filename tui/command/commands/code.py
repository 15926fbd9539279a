"""`tidepool code`: coding a sample of a batch by hand; its progress; its CSV out and in."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.coding.session import CodingSession, coder_name
from tidepool.engine.errors import UsageError
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.text import one_line
from tidepool.tui.command.keys import terminal
from tidepool.tui.command.saying import say, say_json

if TYPE_CHECKING:
    from tidepool.engine.coding.estimates import Share


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument("--coder", metavar="NAME", help="who codes (the login's name); each codes the same sample")
    parser.add_argument("--sample", type=int, metavar="N", help="how many are coded (100); more may be asked for later")
    parser.add_argument("--unit", choices=("sides", "messages"), default="sides", help="what is coded (sides)")
    parser.add_argument(
        "--instrument", choices=("detectors", "judge"), help="by whose verdicts the sample is drawn, half of each"
    )
    parser.add_argument("--redraw", action="store_true", help="draw the sample anew; no code is lost")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--status", action="store_true", help="who has coded how much, and what follows")
    what.add_argument("--export", metavar="FILE.csv", type=Path, help="the sample, for coders without Tidepool")
    what.add_argument("--import", metavar="FILE.csv", type=Path, dest="taken", help="their codes; all or none")
    for name in ("sensitivity", "specificity"):
        parser.add_argument(
            f"--{name}",
            metavar="S:LOW,HIGH",
            help="as another study measured it, e.g. 0.8:0.7,0.9: rates corrected by it",
        )


def run(options: argparse.Namespace) -> int:
    if options.sensitivity or options.specificity:
        return _correct_by_others(options)
    if options.status:
        return _status(options)
    coder = coder_name(options.coder)
    screen = terminal()
    if not options.export and not options.taken and (screen is None or options.json):
        raise UsageError(
            "Coding needs a terminal, for keys and eyes. Elsewhere: --export FILE.csv, then --import FILE.csv; --status tells "
            "how far it is."
        )
    if options.export:
        from tidepool.engine.coding.exchange import refuse_taken

        refuse_taken(options.export)  # before --redraw changes anything
    session = CodingSession(
        options.db,
        options.batch,
        coder,
        options.unit,
        size=options.sample,
        instrument=options.instrument,
        redraw=options.redraw,
    )
    if options.export:
        return _export(options, session)
    if options.taken:
        return _import(options, session)
    from tidepool.tui.command.coding import code_all

    assert screen is not None
    return code_all(session, screen)


def _export(options: argparse.Namespace, session: CodingSession) -> int:
    from tidepool.engine.coding.exchange import write_sample

    count = write_sample(session, options.export)
    if options.json:
        say_json({"file": str(options.export), "rows": count, "coder": session.coder})
    else:
        say(
            f"{options.export}: {count:,} {session.sample.noun}, {len(session.given):,} of them coded by {session.coder}"
        )
        say(
            f"Fill in the column `code` ({session.book.words}); then: tidepool code {session.batch_id} --import FILE.csv --coder NAME"
        )
    return 0


def _import(options: argparse.Namespace, session: CodingSession) -> int:
    from tidepool.engine.coding.exchange import take_codes

    taken = take_codes(session, options.taken)
    counts = {"new": taken.new, "changed": taken.changed, "same": taken.same, "empty": taken.empty}
    if options.json:
        say_json({"coder": session.coder, **counts})
    else:
        told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "nothing in it"
        say(f"codes of {session.coder}: {told}")
    return 0


# -- how far it is -------------------------------------------------------------------------------------------


def _status(options: argparse.Namespace) -> int:
    from tidepool.engine.results.summary import statistics_of

    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
        found = statistics_of(connection, batch).get("coding", {})
    if options.json:
        say_json({"batch_id": batch["id"], "coding": found})
        return 0
    if not found:
        say(f"nothing of batch {batch['id']} is coded yet: `tidepool code {batch['id']}` begins")
        return 0
    from tidepool.engine.coding.report import coding_blocks
    from tidepool.tui.drawing.blocks import print_blocks
    from tidepool.tui.drawing.terminal import console

    print_blocks(console(), coding_blocks({"coding": found}))
    return 0


# -- errors that another study measured -------------------------------------------------------------------------


def _correct_by_others(options: argparse.Namespace) -> int:
    from tidepool.engine.coding.elsewhere import corrected_by, read_known
    from tidepool.engine.results.summary import statistics_of

    if not (options.sensitivity and options.specificity):
        raise UsageError("Both are needed: --sensitivity S:LOW,HIGH and --specificity S:LOW,HIGH.")
    known = read_known(options.sensitivity, options.specificity)
    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
        statistics = statistics_of(connection, batch)
    rates = corrected_by(batch["kind"], statistics, options.instrument or "detectors", known)
    if options.json:
        told = {name: {"raw": _told(raw), "corrected": _told(new)} for name, (raw, new) in rates.items()}
        say_json({"batch_id": batch["id"], "method": "Rogan-Gladen", "rates": told})
        return 0
    from tidepool.engine.results.blocks import Estimate, Words, table
    from tidepool.tui.drawing.blocks import print_blocks
    from tidepool.tui.drawing.terminal import console

    def cell(share: "Share") -> Estimate:
        low, high = share.limits
        return Estimate(100 * share.value, (100 * low, 100 * high))

    rows = [(one_line(name), cell(raw), cell(new)) for name, (raw, new) in rates.items()]
    words = "By Rogan and Gladen, with errors from elsewhere: they hold as far as those transcripts are like these."
    print_blocks(console(), [table("sides that reveal", ("", "raw %", "corrected %"), rows), Words(words, "quiet")])
    return 0


def _told(share: "Share") -> dict[str, Any]:
    low, high = share.limits
    return {"percentage": 100 * share.value, "ci95": [100 * low, 100 * high]}
