"""How a study that comes with Tidepool is copied out."""

import re
import shutil
from pathlib import Path

from tidepool.storage.errors import FileError
from tidepool.tui.command.new_files import refuse_existing

_NAMED = re.compile(r'"([\w.-]+\.(?:csv|json|jsonl|py|txt))(?::\w+)?"')
"""a file that a config names"""


def copied(example: Path, target: Path | None) -> list[Path]:
    """The config first, then the files that it names, beside it."""
    target = target or Path(example.name)
    if target.is_dir():
        target = target / example.name
    named = dict.fromkeys(_NAMED.findall(example.read_text(encoding="utf-8")))
    others = [example.parent / name for name in named if (example.parent / name).is_file()]
    places = {example: target, **{other: target.parent / other.name for other in others}}
    for place in places.values():
        refuse_existing(place)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for source, place in places.items():
            shutil.copyfile(source, place)
    except OSError as error:
        raise FileError(f"Cannot write {target}: {error.strerror or error}. Choose another place with -o.") from error
    return list(places.values())
