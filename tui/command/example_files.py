"""The studies that come with Tidepool: where they lie, what each is about, and how one is copied out."""

import re
import shutil
from pathlib import Path

from tidepool.storage.errors import FileError
from tidepool.tui.command.new_files import refuse_existing

_NAMED = re.compile(r'"([\w.-]+\.(?:csv|json|jsonl|py|txt))(?::\w+)?"')
"""a file that a config names"""


def examples() -> dict[str, Path]:
    """name → config. Installed they lie in the package, in a checkout beside it."""
    import tidepool

    home = Path(str(tidepool.__file__)).resolve().parent
    places = (home / "examples", home.parent / "examples")
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise FileError("The examples are not there: this Tidepool was installed without them. Install it again.")
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def about(path: Path) -> str:
    """The first sentence of the comment that a config opens with."""
    lines = path.read_text(encoding="utf-8").splitlines()
    opening = lines[: next((place for place, line in enumerate(lines) if not line.startswith("#")), 0)]
    words = " ".join(line.removeprefix("#").strip() for line in opening)
    sentence = re.split(r"(?<=\.) |: no key| *`?tidepool --", words, maxsplit=1)[0]
    return f"{sentence.rstrip('.')}."


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
