"""A draft on its way to a batch: the file that the batch's own process reads."""

import os
import tempfile
import time
from pathlib import Path

from tidepool.engine.studies.kinds import load_kind
from tidepool.tui.app.compose_model.draft import kind_of
from tidepool.tui.app.compose_model.edits import Edit, Put, edited, value_at, values_of


def anchored(text: str, folder: Path) -> str:
    """The text with the files it names by a relative path named in full, for it is going to lie elsewhere."""
    values = values_of(text)
    edits: list[Edit] = []
    kind = kind_of(values)
    paths = [(kind, key) for key in load_kind(kind).files] if kind else []
    for path in paths:
        name = value_at(values, path)
        if isinstance(name, str) and name and not Path(name).is_absolute() and (folder / name).exists():
            edits.append(Put(path, str((folder / name).resolve())))
    return edited(text, edits) if edits else text


def config_to_run(text: str, source: str, folder: Path, logs: Path) -> Path:
    """The saved file where it says the same, else a private copy beside the batch's log."""
    if source and Path(source).is_file() and Path(source).read_text(encoding="utf-8") == text:
        return Path(source)
    descriptor, path = tempfile.mkstemp(".toml", time.strftime("%Y%m%d-%H%M%S-"), logs)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(anchored(text, folder))
    return Path(path)
