"""Takes problems in before a batch begins: reads files, drops repetitions, divides into splits.

A question that both breeds prompts and judges them would praise what was learned by heart. Questions are the same when they
agree after folding case, spacing and the punctuation of sentences. Signs that carry meaning in a formula stay: 3 - 5 is not
3 + 5, and 1.5 is not 15.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from tidepool.engine.call import stream
from tidepool.engine.config.toml_files import FILE_CACHE
from tidepool.engine.errors import Location, UsageError
from tidepool.engine.studies.evolution.problems.problem_set import Problem, Split, split_problems
from tidepool.engine.studies.evolution.problems.rows import FORMATS, Columns, RawProblem, rows_of

_DROPPED = str.maketrans(dict.fromkeys("'’‘`´\"“”„«»") | dict.fromkeys(";?…¿¡·•", " "))
_SENTENCE = re.compile(r"[!,.:](?:(?<=[.,:])(?!\d)|(?<=[!,:])(?<!\d[!,:]))")
"""a full stop before a digit, a comma or colon between two, and a ! behind one belong to a number"""
_HYPHEN = re.compile(r"[-‐‑–—](?:(?<=[^\W\d_]{2}.)(?=[^\W\d_]{2})|(?<=[–—])(?<!\d.)(?!\d))")
_AFTER_SIGN = re.compile(r"(?<=[^\w ]) ")
_BEFORE_SIGN = re.compile(r" (?=[^\w ])")

SHOWN = 3
"""places that a note names"""


def fold_question(question: str) -> str:
    """A file may have a million: what most questions do not need is not tried."""
    text = question if question.isascii() else unicodedata.normalize("NFKC", question)
    text = _SENTENCE.sub(" ", text.casefold().translate(_DROPPED))
    text = " ".join(_HYPHEN.sub(" ", text).split())
    if not text.replace(" ", "").isalnum():
        text = _BEFORE_SIGN.sub("", _AFTER_SIGN.sub("", text))
    return text or question.strip()


Pool = dict[bytes, RawProblem]
"""the problems of one source, by what makes two the same"""


def key_of(raw: RawProblem) -> bytes:
    """Small: a file has many. The choices belong to a question, for "Which of these is true?" is many questions."""
    choices = "" if raw.choices is None else f"\x1f{raw.choices}"
    return blake2b(f"{fold_question(raw.question)}{choices}".encode("utf-8", "replace"), digest_size=16).digest()


def distinct(problems: Sequence[RawProblem], name: str) -> tuple[Pool, list[str]]:
    """Each once. A question with two different answers says nothing about a reply: all of it is left out."""
    pool: Pool = {}
    repeated, contradicted = [], {}
    for raw in problems:
        key = key_of(raw)
        first = pool.setdefault(key, raw)
        if first is raw:
            continue
        if fold_question(first.answer) == fold_question(raw.answer):
            repeated.append(raw)
        else:
            contradicted[key] = raw
    for key in contradicted:
        del pool[key]
    notes = []
    if repeated:
        notes.append(f"{_standing(len(repeated), name)} in it before, and count once ({places(repeated)}).")
    if contradicted:
        have = f"question of {name} has" if len(contradicted) == 1 else f"questions of {name} have"
        message = f"{len(contradicted):,} {have} two different answers"
        notes.append(f"{message}: left out ({places(list(contradicted.values()))}).")
    return pool, notes


def _standing(count: int, name: str) -> str:
    return f"{count:,} problem of {name} stands" if count == 1 else f"{count:,} problems of {name} stand"


def places(problems: Sequence[RawProblem]) -> str:
    lines = [raw.where.rpartition(", ")[2] for raw in problems[:SHOWN]]
    return ", ".join(lines) + (" …" if len(problems) > SHOWN else "")


SPLITS: tuple[Split, ...] = ("judge", "choose", "search")
"""who keeps a problem that stands in several: the judge stays as its maker made it"""


@dataclass(frozen=True, slots=True)
class Source:
    """The file of one split."""

    name: str
    """as errors and notes call it"""
    file: Path
    key: Location
    """of the config, which names it"""


Sources = Mapping[Split, Source]
"""a split that is not there has its problems from those of the search"""


def source_at(name: str, folder: Path, key: str) -> Source:
    """The file that `evolution.KEY` names. Of a path in full only its end is told: the rest is nobody's business."""
    shown, path = Path(name).name if Path(name).is_absolute() else name, folder / name
    if path.is_dir():
        message = (
            f"{shown!r} is a folder: name one file in it, and the file of another split with judge_from or choose_from"
        )
        raise UsageError(f"{message}. Problems come from {FORMATS}.")
    if not path.is_file():
        raise UsageError(f"There is no file {shown!r}. Problems come from {FORMATS}.")
    return Source(shown, path, ("evolution", key))


@dataclass(frozen=True, slots=True)
class NamedProblem:
    where: str
    """the place in its file"""
    problem: Problem


@dataclass(frozen=True, slots=True)
class Intake:
    """What the files of a study gave."""

    drawn: Mapping[Split, Sequence[NamedProblem]]
    answers: Sequence[str]
    """every expected answer of the files, drawn or not"""
    chosen_from: bool
    """every problem has choices"""
    notes: list[str] = field(default_factory=list)


def read_problems(sources: Sources, columns: Columns, sizes: Mapping[Split, int], seed: int) -> Intake:
    notes: list[str] = []
    pools: dict[Split, Pool] = {}
    for split in SPLITS:
        if split in sources:
            pools[split], new_notes = _pool(sources[split], columns)
            notes += new_notes
    notes += _remove_overlap(pools, sources)
    drawn = _draw_splits(pools, sources, sizes, seed)
    left_out: dict[str, None] = {}
    finished: dict[Split, list[NamedProblem]] = {}
    for split, problems in drawn.items():
        finished[split] = []
        for raw in problems:
            fields, too_large = columns.rest(raw)
            left_out |= dict.fromkeys(too_large)
            finished[split].append(NamedProblem(raw.where, Problem(raw.question, raw.answer, fields)))
    if left_out:
        names = ", ".join(list(left_out)[:10])
        notes.append(f"Columns that are too large to be kept with their problems are left out: {names}.")
    everything = [raw for pool in pools.values() for raw in pool.values()]
    chosen_from = all(raw.choices is not None for raw in everything)
    return Intake(finished, [raw.answer for raw in everything], chosen_from, notes)


def _pool(source: Source, columns: Columns) -> tuple[Pool, list[str]]:
    def read() -> tuple[Pool, list[str]]:
        return distinct([columns.read(row) for row in rows_of(source.file, source.name)], source.name)

    try:
        return FILE_CACHE.get((source.file,), (source.name, columns.key), read)
    except UsageError as error:
        error.where = ("evolution", *error.where) if error.where else source.key
        raise


def _remove_overlap(pools: dict[Split, Pool], sources: Sources) -> list[str]:
    """What stands in several splits is left in one."""
    notes = []
    for place, split in enumerate(SPLITS):
        for before in SPLITS[:place]:
            if split in pools and before in pools:
                remaining = {key: raw for key, raw in pools[split].items() if key not in pools[before]}
                if removed := len(pools[split]) - len(remaining):
                    of = "search" if split == "search" else "choosing"
                    subject = _standing(removed, sources[split].name)
                    notes.append(f"{subject} in {sources[before].name} as well: left out of the {of}.")
                pools[split] = remaining
    return notes


def _draw_splits(
    pools: Mapping[Split, Pool], sources: Sources, sizes: Mapping[Split, int], seed: int
) -> dict[Split, Sequence[RawProblem]]:
    """A split without files of its own has its problems from those of the search."""
    drawn: dict[Split, Sequence[RawProblem]] = {}
    shared: list[Split] = [split for split in ("search", "judge", "choose") if split == "search" or split not in pools]
    for split, pool in pools.items():
        problems = list(pool.values())
        needed = sum(sizes[one] > 0 for one in shared) if split == "search" else 1
        if len(problems) < needed:
            message = f"{sources[split].name} has {len(problems)} different problems; at least {needed} are needed"
            why = ", one to learn from and one held out" if needed == 2 else ""
            raise UsageError(f"{message}{why}.", sources[split].key)
        stream(seed, "problems", "file" if split == "search" else split).shuffle(problems)
        if split == "search":
            drawn |= zip(shared, split_problems(problems, *(sizes[one] for one in shared)), strict=True)
        else:
            drawn[split] = problems[: sizes[split]]
    return drawn
