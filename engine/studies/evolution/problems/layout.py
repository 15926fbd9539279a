"""Where the problems of each split lie: in one file, or in a folder as Hugging Face's `datasets` and hub lay them out."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import Location, UsageError
from tidepool.engine.studies.evolution.problems.problem_set import Split
from tidepool.engine.studies.evolution.problems.rows import FORMATS, SUFFIXES

WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""a split of a dataset → words by which it is known in the name of a file or folder"""
_SHARD = re.compile(r"(.+)-\d+-of-\d+$")
_DESCRIBING = {"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json", "config.json"}


@dataclass(frozen=True, slots=True)
class Source:
    """Files that together are one split."""

    name: str
    """as errors and notes call it"""
    files: tuple[Path, ...]
    key: Location = ("evolution", "problems")
    """of the config, which names them"""


Sources = Mapping[Split, Source]
"""a split that is not there has its problems from those of the search"""


def sources_at(name: str, folder: Path, choosing: bool) -> Sources:
    """What `problems` names. A dataset's test judges, its train is searched on, and its validation chooses where
    that is asked for; without a test its validation judges."""
    found = _splits(folder / name, name)
    train, validation, test = (found.get(split) for split in WORDS)
    judge = test or validation
    search = train or (validation if test else None) or judge
    assert search is not None
    sources: dict[Split, Source] = {"search": search}
    if judge and judge is not search:
        sources["judge"] = judge
    if choosing and validation and validation not in (search, judge):
        sources["choose"] = validation
    return sources


def source_at(name: str, folder: Path, split: Split) -> Source:
    """What `choose_from` or `judge_from` names."""
    found = _splits(folder / name, name)
    order = ("validation", "test", "train") if split == "choose" else ("test", "validation", "train")
    source = next(found[one] for one in order if one in found)
    return replace(source, key=("evolution", f"{split}_from"))


def _splits(path: Path, name: str) -> dict[str, Source]:
    """By the words above; a single file is a train. Of a path in full only its end is told: the rest is nobody's business."""
    name = Path(name).name if Path(name).is_absolute() else name
    if path.is_file():
        return {"train": Source(name, (path,))}
    if not path.is_dir():
        raise UsageError(f"There is no file or folder {name!r}. Problems come from {FORMATS}.")
    found = _saved(path, name) or _hub(path, name)
    return _known(found, name)


def _known(found: Mapping[str, tuple[Path, ...]], name: str) -> dict[str, Source]:
    known: dict[str, Source] = {}
    for label in sorted(found, key=lambda label: (label not in WORDS, label)):
        split = _split_in(label)
        if split and split not in known:
            known[split] = Source(f"{label} of {name}" if label else name, found[label])
    if not known:
        told = f"{name} has none of the splits train, validation and test, but {', '.join(sorted(found))}"
        raise UsageError(f"{told}. Name the files of one of them, and of another with judge_from.")
    return known


def _split_in(label: str) -> str | None:
    """ "" is a set that is not divided."""
    words = re.split(r"[^a-z]+", label.lower())
    return "train" if not label else next((one for one in WORDS if any(word in words for word in WORDS[one])), None)


def _saved(path: Path, name: str) -> dict[str, tuple[Path, ...]]:
    """As `save_to_disk` leaves it: one dataset, or a folder of them with a list."""
    if (path / "state.json").is_file():
        return {"": _shards(path, name)}
    if not (path / "dataset_dict.json").is_file():
        return {}
    splits = _listed(_described(path / "dataset_dict.json", name).get("splits"), path, name)
    return {split.name: _shards(split, name) for split in splits}


def _shards(path: Path, name: str) -> tuple[Path, ...]:
    files = _described(path / "state.json", name).get("_data_files")
    names = [one.get("filename") if isinstance(one, dict) else None for one in files] if isinstance(files, list) else []
    return tuple(_listed(names, path, name))


def _listed(names: Any, path: Path, name: str) -> list[Path]:
    """Files or folders of this very folder: a list in a file may name no other."""
    if not isinstance(names, list) or not names:
        raise UsageError(f"{name}: {path.name} lists no data. Was it saved to its end?")
    for one in names:
        if not isinstance(one, str) or Path(one).name != one or not (path / one).exists():
            raise UsageError(f"{name}: {path.name} lists {str(one)[:100]!r}, which is not in it.")
    return [path / one for one in names]


def _described(path: Path, name: str) -> dict[str, Any]:
    try:
        check_file(path, ceilings.CONFIG_BYTES)
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"{name}: its {path.name} cannot be read.")
    return found


def _hub(path: Path, name: str) -> dict[str, tuple[Path, ...]]:
    """As the hub has it: data/train-00000-of-00001.parquet, train.jsonl, or a folder for each split."""
    places = [folder for folder in (path, path / "data") if folder.is_dir()]
    inside = [
        inner for folder in places for inner in sorted(folder.iterdir()) if inner.is_dir() and _split_in(inner.name)
    ]
    files = [file for folder in (*places, *inside) for file in sorted(folder.iterdir()) if _is_data(file)]
    suffix = next((suffix for suffix in SUFFIXES if any(file.suffix.lower() == suffix for file in files)), None)
    if suffix is None:
        sets = [
            inner.name for inner in sorted(path.iterdir()) if inner.is_dir() and any(map(_is_data, inner.rglob("*")))
        ]
        told = f": it has several sets, of which one must be named: {', '.join(sets[:20])}" if sets else ""
        raise UsageError(f"The folder {name} holds no file of problems{told}. Known are {FORMATS}.")
    found: dict[str, tuple[Path, ...]] = {}
    for file in files:
        if file.suffix.lower() == suffix:
            label = file.parent.name if file.parent in inside else _label(file.stem)
            found[label] = (*found.get(label, ()), file)
    return found


def _is_data(file: Path) -> bool:
    known = file.suffix.lower() in SUFFIXES and file.name not in _DESCRIBING
    return known and not file.name.startswith(".") and file.is_file()


def _label(stem: str) -> str:
    """The split that a file's name tells; "" where it tells none."""
    shard = _SHARD.match(stem)
    return shard[1] if shard else _split_in(stem) or ""
