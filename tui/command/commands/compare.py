"""`tidepool compare`: the statistics of several batches side by side."""

import argparse
from typing import Any

from rich.console import Console

from tidepool.engine.results.comparing import compare
from tidepool.engine.results.comparison_report import comparison_blocks
from tidepool.tui.command.saying import say_json
from tidepool.tui.drawing.blocks import print_blocks
from tidepool.tui.drawing.terminal import console


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batches", metavar="BATCH", nargs="+", help="two or more batches of one kind")


def run(options: argparse.Namespace) -> int:
    found = compare(options.db, options.batches)
    if options.json:
        say_json(found)
    else:
        print_comparison(console(), found)
    return 0


def print_comparison(out: Console, found: dict[str, Any]) -> None:
    print_blocks(out, comparison_blocks(found["batches"], found["differences"]))
