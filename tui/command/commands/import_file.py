"""`tidepool import`: batches, entities and agents of another Tidepool file in, each once."""

import argparse
from dataclasses import asdict
from pathlib import Path

from tidepool.engine.publishing.reuse import import_file
from tidepool.tui.command.saying import say, say_json


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="another Tidepool file; it is left as it is")
    parser.add_argument(
        "--replace", action="store_true", help="take its copy of batches that are here already, e.g. resumed elsewhere"
    )


def run(options: argparse.Namespace) -> int:
    imported = import_file(options.db, options.file, replace=options.replace)
    if options.json:
        say_json(asdict(imported))
        return 0
    for batch_id in imported.batches:
        left_out = f", without {', '.join(keys)}" if (keys := imported.left_out.get(batch_id)) else ""
        say(f"imported {batch_id}{left_out}")
    for batch_id in imported.known:
        say(f"known already, left as it is: {batch_id}")
    say(
        f"new here: batches {len(imported.batches):,}, entities {imported.entities:,}, "
        f"entity types {imported.types:,}, agents {imported.agents:,}"
    )
    return 0
