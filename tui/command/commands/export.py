"""`tidepool export`: one batch out, as files for other programs and other people."""

import argparse
from pathlib import Path

from tidepool.engine.exports.export import FORMATS, export_batch
from tidepool.tui.command.saying import say, say_json


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument(
        "--format", default="json", help=f"{', '.join(FORMATS)}, or one of the kind's own (default json)"
    )
    parser.add_argument(
        "--bom",
        action="store_true",
        help="with csv: begin with the mark by which Excel knows UTF-8; scripts read such files as utf-8-sig",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        help="folder (json, csv, svg, parquet) or file (sqlite, html, markdown, toml, policy, one NAME.json or NAME.svg) to write; else one named by the batch",
    )


def run(options: argparse.Namespace) -> int:
    written = export_batch(options.db, options.batch, options.format, options.output, bom=options.bom)
    if options.json:
        say_json({"format": options.format, "files": [str(path) for path in written]})
    else:
        for path in written:
            say(str(path))
    return 0
