"""`tidepool publish`: a study or a batch as a folder to publish."""

import argparse
from pathlib import Path

from tidepool.tui.command.saying import say, say_json, tell


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "study", metavar="STUDY", help="a study or a batch: an id, a unique prefix of one, `last` or `last~1`"
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, required=True, help="a new or an empty folder")
    parser.add_argument("--title", default="", help="else the name of the study")
    parser.add_argument("--description", default="", help="else the description of the config")
    parser.add_argument("--author", action="append", default=[], help="'Family, Given', or any other name; repeatable")
    parser.add_argument("--license", default="", help="its SPDX name, such as CC-BY-4.0, or its address")
    parser.add_argument("--url", default="", help="where the folder will be found")


def run(options: argparse.Namespace) -> int:
    from tidepool.engine.publishing.card import About
    from tidepool.engine.publishing.folder import publish

    about = About(options.title, options.description, tuple(options.author), options.license, options.url)
    made = publish(options.db, options.study, options.output, about)
    for note in made.notes:
        tell(note)
    if options.json:
        say_json({"folder": str(made.folder), "files": list(made.files), "notes": list(made.notes)})
    else:
        say(str(made.folder))
    return 0
