"""Problems of one's own files: read, freed of repetitions, divided and finished, before a batch begins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidepool.engine.call import stream
from tidepool.engine.config.toml_files import FILES_READ
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.problems.asked import Asked, Columns
from tidepool.engine.studies.evolution.problems.choices import choices_in
from tidepool.engine.studies.evolution.problems.layout import Source, Sources
from tidepool.engine.studies.evolution.problems.problem_set import Problem, Split, split_problems
from tidepool.engine.studies.evolution.problems.rows import Row, rows_of
from tidepool.engine.studies.evolution.problems.same_questions import distinct, without

SPLITS: tuple[Split, ...] = ("judge", "choose", "search")
"""who keeps a problem that stands in several: the judge stays as its maker made it"""

Pool = dict[bytes, Asked]
"""the problems of one source, by what makes two the same"""


@dataclass(frozen=True, slots=True)
class Finished:
    where: str
    """the place in its file"""
    problem: Problem


@dataclass(frozen=True, slots=True)
class Intake:
    """What the files of a study gave."""

    drawn: Mapping[Split, Sequence[Finished]]
    answers: Sequence[str]
    """every expected answer of the files, drawn or not"""
    chosen_from: bool
    """every problem has choices"""
    notes: list[str] = field(default_factory=list)


def take_in(sources: Sources, columns: Columns, sizes: Mapping[Split, int], seed: int, *, lettered: bool) -> Intake:
    """`lettered`: choices are shown with the question, and the expected answer is the letter of one."""
    notes: list[str] = []
    pools: dict[Split, Pool] = {}
    for split in SPLITS:
        if split in sources:
            pools[split], told = _pool(sources[split], columns, lettered)
            notes += told
    notes += _freed(pools, sources)
    drawn = _drawn(pools, sources, sizes, seed)
    left_out: dict[str, None] = {}
    finished = {split: [_finished(one, columns, left_out) for one in found] for split, found in drawn.items()}
    if left_out:
        names = ", ".join(list(left_out)[:10])
        notes.append(f"Columns that are too large to be kept with their problems are left out: {names}.")
    everything = [asked for pool in pools.values() for asked in pool.values()]
    chosen_from = all(asked.choices is not None for asked in everything)
    return Intake(finished, [asked.answer for asked in everything], chosen_from, notes)


def _pool(source: Source, columns: Columns, lettered: bool) -> tuple[Pool, list[str]]:
    def read() -> tuple[Pool, list[str]]:
        found = [columns.read(row) for row in _rows(source)]
        return distinct([_with_letters(asked) for asked in found] if lettered else found, source.name)

    try:
        return FILES_READ.made_of(source.files, (source.name, columns.key, lettered), read)
    except UsageError as error:
        error.where = ("evolution", *error.where) if error.where else source.key
        raise


def _rows(source: Source) -> Iterator[Row]:
    for file in source.files:
        yield from rows_of(file, source.name if len(source.files) == 1 else f"{source.name}, {file.name}")


def _with_letters(asked: Asked) -> Asked:
    choices = choices_in(asked.choices, asked.where)
    if choices is None:
        return asked
    question, answer = choices.shown_in(asked.question), choices.letter(asked.answer)
    return replace(asked, question=question, answer=answer, choices=dict(choices.texts))


def _freed(pools: dict[Split, Pool], sources: Sources) -> list[str]:
    """What stands in several splits is left in one."""
    notes = []
    for place, split in enumerate(SPLITS):
        for before in SPLITS[:place]:
            if split in pools and before in pools:
                kept = without(pools[split], pools[before])
                if gone := len(pools[split]) - len(kept):
                    stand = (
                        f"problem of {sources[split].name} stands"
                        if gone == 1
                        else f"problems of {sources[split].name} stand"
                    )
                    of = "search" if split == "search" else "choosing"
                    notes.append(f"{gone:,} {stand} in {sources[before].name} as well: left out of the {of}.")
                pools[split] = kept
    return notes


def _drawn(
    pools: Mapping[Split, Pool], sources: Sources, sizes: Mapping[Split, int], seed: int
) -> dict[Split, Sequence[Asked]]:
    """A split without files of its own has its problems from those of the search."""
    drawn: dict[Split, Sequence[Asked]] = {}
    shared: list[Split] = [split for split in ("search", "judge", "choose") if split == "search" or split not in pools]
    for split, pool in pools.items():
        found = list(pool.values())
        needed = sum(sizes[one] > 0 for one in shared) if split == "search" else 1
        if len(found) < needed:
            told = f"{sources[split].name} has {len(found)} different problems; at least {needed} are needed"
            why = ", one to learn from and one held out" if needed == 2 else ""
            raise UsageError(f"{told}{why}.", sources[split].key)
        stream(seed, "problems", "file" if split == "search" else split).shuffle(found)
        if split == "search":
            drawn |= zip(shared, split_problems(found, *(sizes[one] for one in shared)), strict=True)
        else:
            drawn[split] = found[: sizes[split]]
    return drawn


def _finished(asked: Asked, columns: Columns, left_out: dict[str, None]) -> Finished:
    """With the other columns; the names of those that cannot be kept go into `left_out`."""
    kept, too_large = columns.rest(asked)
    left_out |= dict.fromkeys(too_large)
    return Finished(asked.where, Problem(asked.question, asked.answer, kept))
