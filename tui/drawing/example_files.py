"""The studies that come with Tidepool: where they lie, and what each is about."""

import re
from pathlib import Path

from tidepool.storage.errors import FileError


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
