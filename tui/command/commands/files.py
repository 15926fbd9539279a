"""`tidepool export`, `publish` and `import`."""

import argparse
from dataclasses import asdict
from pathlib import Path

from tidepool.engine.exports.export import FORMATS, export_batch
from tidepool.tui.command.output import echo_err, reply


def add_export_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument(
        "--format", help=f"{', '.join(FORMATS)}, or a format of the kind (by default as -o ends, or json)"
    )
    parser.add_argument(
        "--bom",
        action="store_true",
        help="with csv: begin with a byte order mark, which Excel needs for UTF-8",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        type=Path,
        help="the folder (json, csv, parquet) or file (sqlite, html, markdown, toml, policy, one NAME.json) to write; by default named after the batch",
    )


def run_export(options: argparse.Namespace) -> int:
    suffix = options.output.suffix.lower() if options.output else ""
    format_name = options.format or ENDINGS.get(suffix, "json")
    paths = export_batch(options.db, options.batch, format_name, options.output, bom=options.bom)
    files = [str(path) for path in paths]
    return reply(options, {"format": format_name, "files": files}, "\n".join(files))


ENDINGS = {".html": "html", ".md": "markdown", ".db": "sqlite", ".sqlite": "sqlite", ".toml": "toml", ".csv": "csv"}
"""the ending of the file to write → its format"""


def add_publish_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "study", metavar="STUDY", help="a study or a batch: an id, its unique beginning, `last` or `last~1`"
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, required=True, help="a new or empty folder")
    parser.add_argument("--title", default="", help="by default the name of the study")
    parser.add_argument("--description", default="", help="by default the description in the config")
    parser.add_argument("--author", action="append", default=[], help="a name; repeatable")
    parser.add_argument("--license", default="", help="an SPDX name, such as CC-BY-4.0")


def run_publish(options: argparse.Namespace) -> int:
    from tidepool.engine.publishing.card import About
    from tidepool.engine.publishing.folder import publish

    about = About(options.title, options.description, tuple(options.author), options.license)
    published = publish(options.db, options.study, options.output, about)
    for note in published.notes:
        echo_err(note)
    if published.notes:
        echo_err("To change the folder, remove it and publish again.")
    content = {"folder": str(published.folder), "files": list(published.files), "notes": list(published.notes)}
    return reply(options, content, str(published.folder))


def add_import_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="another Tidepool file, which is not changed")


def run_import(options: argparse.Namespace) -> int:
    from tidepool.engine.publishing.reuse import import_file  # loads the code that runs studies

    imported = import_file(options.db, options.file)
    lines = []
    for batch_id in imported.batches:
        left_out = f", without {', '.join(keys)}" if (keys := imported.left_out.get(batch_id)) else ""
        lines.append(f"Imported {batch_id}{left_out}")
    lines += [f"Already here: {batch_id}" for batch_id in imported.known]
    lines.append(
        f"New: {len(imported.batches):,} batches, {imported.entities:,} entities, {imported.types:,} entity types, "
        f"{imported.agents:,} agents"
    )
    return reply(options, asdict(imported), "\n".join(lines))
