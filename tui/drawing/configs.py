"""Configs as readable TOML: the config of a batch, and the examples that come with Tidepool."""

import re
import sqlite3
from itertools import takewhile
from pathlib import Path

import tidepool
from tidepool.engine.exports.toml import as_toml, study_config
from tidepool.engine.gate import copied_config
from tidepool.storage.batches import batch_numbered
from tidepool.storage.errors import FileError
from tidepool.storage.studies import cells_of, find_study


def config_of(connection: sqlite3.Connection, batch_number: int) -> str:
    """Returns a config to run again, without server addresses from an untrusted file. A negative number is a study, whose config
    includes its design."""
    row = batch_numbered(connection, abs(batch_number))
    if batch_number < 0:
        study = find_study(connection, row["study_id"])
        return as_toml(study_config(study, [cell.batch for cell in cells_of(connection, study.id)]))
    return as_toml(copied_config(row["id"], row["config"]))


def examples(pattern: str = "*.toml") -> dict[str, Path]:
    """Returns the examples by name, by default configs. They are in the installed package, or next to it in a checkout."""
    package_folder = Path(str(tidepool.__file__)).resolve().parent
    places = (package_folder / "examples", package_folder.parent / "examples")
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise FileError("The examples are missing from this installation of Tidepool. Reinstall Tidepool.")
    return {path.stem: path for path in sorted(folder.glob(pattern))}


def about(path: Path) -> str:
    """Returns the first sentence of the comment at the top of a config or of a Python file."""
    opening = takewhile(lambda line: line.startswith(("#", '"""')), path.read_text(encoding="utf-8").splitlines())
    words = " ".join(line.lstrip('#"').strip() for line in opening)
    sentence = re.split(r"(?<=\.) |: no key| *`?tidepool --", words, maxsplit=1)[0]
    return f"{sentence.rstrip('.')}."
