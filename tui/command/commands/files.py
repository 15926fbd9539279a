"""`tidepool export`, `publish` and `import`: batches out of the file and into it."""

import argparse
from dataclasses import asdict
from pathlib import Path

from tidepool.engine.exports.export import FORMATS, export_batch
from tidepool.tui.command.output import echo_err, reply

# -- export ------------------------------------------------------------------------------------------------------------


def add_export_arguments(name: str, parser: argparse.ArgumentParser) -> None:
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
        help="folder (json, csv, parquet) or file (sqlite, html, markdown, toml, policy, one NAME.json) to write; else one named by the batch",
    )


def run_export(options: argparse.Namespace) -> int:
    paths = export_batch(options.db, options.batch, options.format, options.output, bom=options.bom)
    files = [str(path) for path in paths]
    return reply(options, {"format": options.format, "files": files}, "\n".join(files))


# -- publish -----------------------------------------------------------------------------------------------------------


def add_publish_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "study", metavar="STUDY", help="a study or a batch: an id, a unique prefix of one, `last` or `last~1`"
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, required=True, help="a new or an empty folder")
    parser.add_argument("--title", default="", help="else the name of the study")
    parser.add_argument("--description", default="", help="else the description of the config")
    parser.add_argument("--author", action="append", default=[], help="a name; repeatable")
    parser.add_argument("--license", default="", help="its SPDX name, such as CC-BY-4.0")


def run_publish(options: argparse.Namespace) -> int:
    from tidepool.engine.publishing.card import About
    from tidepool.engine.publishing.folder import publish

    about = About(options.title, options.description, tuple(options.author), options.license)
    published = publish(options.db, options.study, options.output, about)
    for note in published.notes:
        echo_err(note)
    content = {"folder": str(published.folder), "files": list(published.files), "notes": list(published.notes)}
    return reply(options, content, str(published.folder))


# -- import ------------------------------------------------------------------------------------------------------------


def add_import_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="another Tidepool file; it is left as it is")


def run_import(options: argparse.Namespace) -> int:
    from tidepool.engine.publishing.reuse import import_file  # loads what runs a study

    imported = import_file(options.db, options.file)
    lines = []
    for batch_id in imported.batches:
        left_out = f", without {', '.join(keys)}" if (keys := imported.left_out.get(batch_id)) else ""
        lines.append(f"imported {batch_id}{left_out}")
    lines += [f"known already, left as it is: {batch_id}" for batch_id in imported.known]
    lines.append(
        f"new here: batches {len(imported.batches):,}, entities {imported.entities:,}, "
        f"entity types {imported.types:,}, agents {imported.agents:,}"
    )
    return reply(options, asdict(imported), "\n".join(lines))
