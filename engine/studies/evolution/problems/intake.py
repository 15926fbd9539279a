"""Takes problems in before a batch begins: reads files, drops repetitions, divides into splits.

Layouts are not guessed: the columns are `question` and `answer`, or those that `fields` names. A question that both breeds prompts
and judges them would praise what was learned by heart. Questions are the same when they agree after folding case, spacing and the
punctuation of sentences. Signs that carry meaning in a formula stay: 3 - 5 is not 3 + 5, and 1.5 is not 15.
"""

import json
import math
import re
import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from tidepool.engine.call import stream
from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_files import FILE_CACHE
from tidepool.engine.errors import Location, UsageError
from tidepool.engine.providers.replies import clean
from tidepool.engine.studies.data_files import Row, rows_of
from tidepool.engine.studies.evolution.problems.problem_set import Problem, Split, split_problems
from tidepool.engine.studies.evolution.tasks.task import choices_of, letter_of

# -- rows ------------------------------------------------------------------------------------------------------

FIELD_LETTERS = 20_000
"""of another column that a problem keeps, as JSON"""
_DEEPEST = 30
_NOTHING = object()
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}")
_SOFT = re.compile(r"[\"'’‘“”„«»`´]|(?<!\d)[.,:;!?…]+(?!\d)|[.,:;?…]+(?=\s|$)")
"""quotation marks and the punctuation of sentences, but none that belongs to a number"""


def fold_question(question: str) -> str:
    text = " ".join(_SOFT.sub("", unicodedata.normalize("NFKC", question).casefold()).split())
    return text or question.strip()


def _key(question: str, choices: Any) -> bytes:
    """Small: a file has many. The choices belong to a question, for "Which of these is true?" is many questions."""
    text = fold_question(question) + ("" if choices is None else f"\x1f{choices}")
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class RawProblem:
    """What is shown and what is expected, before the other columns are kept."""

    row: Row
    question: str
    answer: str
    choices: Any
    """as the row has them, or by letter; None: it has none"""
    key: bytes
    """equal for problems that are the same"""


@dataclass(frozen=True, slots=True)
class Columns:
    """What a config says about the columns of its files."""

    fields: Mapping[str, str] = field(default_factory=dict)
    template: str = ""
    answered: bool = True
    """every problem must have an answer"""
    worked: bool = True
    """an answer may be a worked one, as GSM8K's: what follows #### is the answer"""
    lettered: bool = False
    """choices are shown with the question, and the expected answer is the letter of one"""

    @property
    def key(self) -> Hashable:
        """Columns with the same read the same of a file."""
        return tuple(sorted(self.fields.items())), self.template, self.answered, self.worked, self.lettered

    def read(self, row: Row) -> RawProblem:
        for path in self.fields.values():
            if _at(row.values, path) is _NOTHING:
                raise UsageError(f'{row.where}: no "{path}". It has {row.columns()}.', ("fields",))
        question = _fitting(self._templated(row) if self.template else self._text(row, "question"), "question", row)
        choices = row.values.get("choices", row.values.get("options"))
        if "choices" in self.fields:
            choices = _at(row.values, self.fields["choices"])
        answer = self._answer(row)
        if self.lettered and (texts := _by_letter(choices, row)):
            if not all(re.search(rf"(?<!\w)\(?{letter}[).:\]]", question) for letter in texts):
                question = "\n".join((question, "", *(f"{letter}) {text}" for letter, text in texts.items())))
            answer, choices = letter_of(answer, texts) or answer, texts
        return RawProblem(row, question, answer, choices, _key(question, choices))

    def rest(self, raw: RawProblem) -> tuple[dict[str, Any], list[str]]:
        """The other columns, as far as they can be kept, and the names of those that cannot."""
        values = raw.row.values
        paths = [self.fields.get(name, name) for name in ("question", "answer", "choices", "options")]
        used = {*paths, *(path.partition(".")[0] for path in paths)}
        wanted = {} if raw.choices is None else {"choices": raw.choices}
        wanted |= {name: value for name, value in values.items() if name not in used}
        others = self.fields.keys() - {"question", "answer", "choices"}
        wanted |= {name: _at(values, path) for name, path in self.fields.items() if name in others}
        whole = _at(values, paths[1])
        if self.worked and isinstance(whole, str) and (working := whole.rpartition("####")[0].strip()):
            wanted.setdefault("solution", working)
        fields: dict[str, Any] = {}
        left_out = []
        for name, value in wanted.items():
            try:
                plain = _plain(value)
                too_large = len(json.dumps(plain, ensure_ascii=False)) > FIELD_LETTERS or len(name) > ceilings.WORD
            except RecursionError:
                too_large = True
            if too_large:
                left_out.append(name)
            elif plain is not None:
                fields[clean(name)] = plain
        return fields, left_out

    def _templated(self, row: Row) -> str:
        def filled(match: re.Match[str]) -> str:
            if match[1] is None:
                return match[0][0]
            value = _at(row.values, match[1].strip())
            if value is _NOTHING:
                message = f"{row.where}: evolution.question_template names {{{match[1]}}}, but there is no such column"
                raise UsageError(f"{message}. It has {row.columns()}.", ("question_template",))
            return _written(value)

        return _PLACEHOLDER.sub(filled, self.template)

    def _answer(self, row: Row) -> str:
        if not self.answered and "answer" not in self.fields and "answer" not in row.values:
            return ""
        text = _fitting(self._text(row, "answer"), "answer", row)
        final = text.rpartition("####")[2].strip() if self.worked else text
        if not final:
            raise UsageError(f"{row.where}: nothing follows the #### in the answer.")
        return final

    def _text(self, row: Row, name: str) -> str:
        path = self.fields.get(name, name)
        value = _at(row.values, path)
        if value is _NOTHING:
            raise UsageError(
                f'{row.where}: no "{path}". It has {row.columns()}. Say which column it is: fields = {{ {name} = "…" }}; the first '
                "line of a table names its columns."
            )
        if isinstance(value, list | Mapping):
            place = next(iter(value), "text") if isinstance(value, Mapping) else "0"
            message = f'{row.where}: "{path}" must be text or a number. Name one place in it'
            raise UsageError(f'{message}, e.g. fields = {{ {name} = "{path}.{place}" }}.', ("fields",))
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f'{row.where}: "{path}" must be text or a number.')
        if not (text := _written(value).strip()):
            raise UsageError(f'{row.where}: "{path}" is empty{" (null)" if value is None else ""}.')
        return text


def _at(values: Mapping[str, Any], path: str) -> Any:
    """A column by its name, or a place inside one: answers.text.0."""
    if path in values:
        return values[path]
    value: Any = values
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            return _NOTHING
    return value


def _written(value: Any) -> str:
    """As it stands in a question: text as it is, the rest as JSON would have it."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False)


def _fitting(text: str, name: str, row: Row) -> str:
    if len(text) > ceilings.TEXT:
        raise UsageError(f"{row.where}: its {name} has {len(text):,} letters, and {ceilings.TEXT:,} are the most.")
    if not text.strip():
        raise UsageError(f"{row.where}: its {name} is empty.")
    return clean(text)


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as a batch's config keeps it."""
    if depth == _DEEPEST:
        raise RecursionError
    match value:
        case str():
            return clean(value)
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_plain(item, depth + 1) for item in value]
        case dict():
            return {clean(str(name)): _plain(item, depth + 1) for name, item in value.items()}
    return value


def _by_letter(choices: Any, row: Row) -> dict[str, str] | None:
    """From a list, or an object by letter; in a table, as JSON in a cell."""
    if isinstance(choices, str):
        try:
            choices = json.loads(choices)
        except (ValueError, RecursionError):
            return None
    if not isinstance(choices, list | Mapping):
        return None
    by_letter = choices_of({"choices": choices})
    texts = {letter: clean(text.strip()) for letter, text in by_letter.items() if text.strip()}
    if not 2 <= len(texts) <= len(ascii_uppercase) or not all(letter in ascii_uppercase for letter in texts):
        message = (
            f"{row.where}: {len(choices)} choices that cannot be told apart. Write them as a list, or by letter as"
        )
        raise UsageError(f'{message} {{"A": …, "B": …}}: 2 to {len(ascii_uppercase)} of them.')
    return texts


# -- splits ----------------------------------------------------------------------------------------------------

SPLITS: tuple[Split, ...] = ("judge", "search")
"""who keeps a problem that stands in both: the judge stays as its maker made it"""
SHOWN = 3
"""places that a note names"""
Pool = dict[bytes, RawProblem]
"""the problems of one split, by what makes two the same"""
NamedProblem = tuple[str, Problem]
"""with its place in its file"""


@dataclass(frozen=True, slots=True)
class Source:
    """The file of one split."""

    name: str
    """as errors and notes call it"""
    file: Path
    key: Location
    """of the config, which names it"""

    def read(self, columns: Columns) -> list[RawProblem]:
        def read() -> list[RawProblem]:
            return [columns.read(row) for row in rows_of(self.file, self.name)]

        try:
            return FILE_CACHE.get((self.file,), (self.name, columns.key), read)
        except UsageError as error:
            error.where = ("evolution", *error.where) if error.where else self.key
            raise


Sources = Mapping[Split, Source]
"""a split that is not there has its problems from those of the search"""


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
    pools, notes = _distinct({split: sources[split].read(columns) for split in SPLITS if split in sources}, sources)
    left_out: dict[str, None] = {}
    finished: dict[Split, list[NamedProblem]] = {}
    for split, problems in _draw_splits(pools, sources, sizes, seed).items():
        finished[split] = []
        for raw in problems:
            fields, too_large = columns.rest(raw)
            left_out |= dict.fromkeys(too_large)
            finished[split].append((raw.row.where, Problem(raw.question, raw.answer, fields)))
    if left_out:
        names = ", ".join(list(left_out)[:10])
        notes.append(f"Columns that are too large to be kept with their problems are left out: {names}.")
    everything = [raw for pool in pools.values() for raw in pool.values()]
    chosen_from = all(raw.choices is not None for raw in everything)
    return Intake(finished, [raw.answer for raw in everything], chosen_from, notes)


def _distinct(files: Mapping[Split, Sequence[RawProblem]], sources: Sources) -> tuple[dict[Split, Pool], list[str]]:
    """Each problem once. A question with two different answers says nothing about a reply: all of it is left out. What stands in
    both splits is left with the judge."""
    pools: dict[Split, Pool] = {}
    notes: list[str] = []
    for split, problems in files.items():
        pool: Pool = {}
        repeated: list[RawProblem] = []
        contradicted: Pool = {}
        for raw in problems:
            first = pool.setdefault(raw.key, raw)
            if first is not raw and fold_question(first.answer) == fold_question(raw.answer):
                repeated.append(raw)
            elif first is not raw:
                contradicted[raw.key] = raw
        kept = {key: raw for key, raw in pool.items() if key not in contradicted}
        judged = pools.get("judge", {})
        pools[split] = {key: raw for key, raw in kept.items() if key not in judged}
        name = sources[split].name
        if repeated:
            notes.append(f"{_standing(len(repeated), name)} in it before, and count once ({_places(repeated)}).")
        if count := len(contradicted):
            have = f"question of {name} has" if count == 1 else f"questions of {name} have"
            left_out = f"left out ({_places(list(contradicted.values()))})"
            notes.append(f"{count:,} {have} two different answers: {left_out}.")
        if shared := len(kept) - len(pools[split]):
            notes.append(f"{_standing(shared, name)} in {sources['judge'].name} as well: left out of the search.")
    return pools, notes


def _standing(count: int, name: str) -> str:
    return f"{count:,} problem of {name} stands" if count == 1 else f"{count:,} problems of {name} stand"


def _places(problems: Sequence[RawProblem]) -> str:
    lines = [raw.row.where.rpartition(", ")[2] for raw in problems[:SHOWN]]
    return ", ".join(lines) + (" …" if len(problems) > SHOWN else "")


def _draw_splits(
    pools: Mapping[Split, Pool], sources: Sources, sizes: Mapping[Split, int], seed: int
) -> dict[Split, Sequence[RawProblem]]:
    """Without a file of its own the judge has its problems from those of the search."""
    drawn: dict[Split, Sequence[RawProblem]] = {}
    for split, pool in pools.items():
        problems, needed = list(pool.values()), 2 if len(pools) == 1 else 1
        if len(problems) < needed:
            message = f"{sources[split].name} has {len(problems)} different problems; at least {needed} are needed"
            why = ", one to learn from and one held out" if needed == 2 else ""
            raise UsageError(f"{message}{why}.", sources[split].key)
        stream(seed, "problems", "file" if split == "search" else split).shuffle(problems)
        drawn[split] = problems[: sizes[split]]
    if len(pools) == 1:
        drawn["search"], drawn["judge"] = split_problems(problems, sizes["search"], sizes["judge"])
    return drawn
