"""The inputs of an evolution: its settings and its problems, built-in or from files.

Layouts are not guessed: the columns are `question` and `answer`, or those that `fields` names. If a question were used both for
the search and for the final test, memorised answers would count as success. So a question is used once. Two questions are equal
if they agree after folding case, spacing and the punctuation of sentences. Signs with a meaning in formulas stay, so 3 - 5
differs from 3 + 5.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple, cast

from tidepool.engine.call import stream
from tidepool.engine.config import ceilings
from tidepool.engine.config.sections import ConfigSections, FrozenConfig
from tidepool.engine.config.toml_files import named_file
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.replies import clean
from tidepool.engine.studies.data_files import FORMATS, Row, rows_of
from tidepool.engine.studies.evolution.config import EvolutionSettings, FrozenProblems, ProblemEntry
from tidepool.engine.studies.evolution.problems.problem_set import (
    SETS,
    Problem,
    ProblemSet,
    Split,
    problem_set,
    split_problems,
)
from tidepool.engine.studies.evolution.tasks.task import choices_of, letter_of, task_of

BY_ANSWER = ("auto", "number", "choice", "label", "text")
"""tasks that compare a reply with the expected answer"""
SIZES: Mapping[Split, str] = {"judge": "validation_problems", "search": "max_problems"}
"""split → the key of its size; the first split keeps a problem that occurs in both"""
MOST_LABELS = 100
SHOWN = 3
"""how many places a note lists"""
FIELD_LETTERS = 20_000
"""maximum size of another column that a problem keeps, as JSON"""
DEEPEST = 30
GUESSED = (
    "The simulated solver does not know answers to problems from a file and guesses, regardless of the prompt. Use it to test "
    "your files. To see prompts improve, use a real model or built-in problems (docs/landscape.md)."
)
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}")
_SOFT = re.compile(r"[\"'’‘“”„«»`´]|(?<!\d)[.,:;!?…]+(?!\d)|[.,:;?…]+(?=\s|$)")
"""quotation marks and the punctuation of sentences, except signs that belong to a number"""


def settings_of(config: ConfigSections) -> EvolutionSettings:
    return cast(EvolutionSettings, config.settings)


def problems_of(config: FrozenConfig) -> ProblemSet:
    settings = settings_of(config)
    if (frozen := settings.frozen) is None:
        return problem_set(settings.problems, settings.max_problems, settings.validation_problems, config.batch.seed)
    splits = (
        tuple(Problem(entry.question, entry.answer, entry.fields) for entry in entries)
        for entries in (frozen.training, frozen.validation)
    )
    return ProblemSet(settings.problems, *splits)


def with_problems(settings: EvolutionSettings, seed: int, folder: Path | None) -> EvolutionSettings:
    """The settings with the problems from their files, and the labels of these. Relative paths start in `folder`. None: the
    config comes from a batch, and no file may be read."""
    if (frozen := settings.frozen) is not None:  # sizes that were lowered later shorten them
        sizes = {"training": settings.max_problems, "validation": settings.validation_problems}
        cut = {split: getattr(frozen, split)[:size] for split, size in sizes.items()}
        return settings.model_copy(update={"frozen": frozen.model_copy(update=cut)})
    if settings.problems not in SETS or (folder is not None and settings.judge_from):
        return _with_file_problems(settings, seed, named_file("", folder, "evolution", "problems"))
    if folder is not None:
        problems = problem_set(settings.problems, settings.max_problems, settings.validation_problems, seed)
        named = [(problems.name, problem) for problem in (*problems.training, *problems.validation)]
        settings = _with_labels(settings, [problem.answer for _, problem in named])
        _doubts(settings, named)
    return settings


# -- files -----------------------------------------------------------------------------------------------------


class RawProblem(NamedTuple):
    """What is shown and expected, before the other columns are added."""

    row: Row
    question: str
    answer: str
    choices: Any
    """as the row has them, or by letter; None: it has none"""


def _with_file_problems(settings: EvolutionSettings, seed: int, folder: Path) -> EvolutionSettings:
    files = {"judge": ("judge_from", settings.judge_from), "search": ("problems", settings.problems)}
    read = {split: _read_file(key, name, settings, folder) for split, (key, name) in files.items() if name}
    pools, notes = _distinct(read, {split: _shown(name) for split, (_, name) in files.items()})
    settings = _with_labels(settings, [raw.answer for pool in pools.values() for raw in pool])
    drawn: dict[str, list[tuple[str, Problem]]] = {}
    left_out: dict[str, None] = {}
    for split, problems in _draw_splits(pools, settings, seed).items():
        drawn[split] = []
        for raw in problems:
            fields, too_large = _other_columns(raw, settings)
            left_out |= dict.fromkeys(too_large)
            drawn[split].append((raw.row.where, Problem(raw.question, raw.answer, fields)))
    if left_out:
        notes.append(f"Columns that are too large to store are left out: {', '.join(left_out)}.")
    if any(
        len(drawn[split]) < getattr(settings, key) for split, key in SIZES.items() if key in settings.model_fields_set
    ):
        used = f"{len(drawn['search']):,} for training, {len(drawn['judge']):,} held out"
        notes.insert(0, f"There are fewer different problems than requested. The study uses {used}.")
    notes += _doubts(settings, [*drawn["search"], *drawn["judge"]])
    simulated = all(model.startswith("simulated:") and "solver" in model for model in settings.solvers())
    if simulated and settings.task in ("auto", "number", "text") and not settings.scorer:
        notes.append(GUESSED)
    if settings.task == "auto" and all(problem.fields.get("choices") for _, problem in drawn["search"]):
        notes.append('The problems have choices that are not used. Set task = "choice" to show and score them.')
    entries = {
        split: [ProblemEntry(question=one.question, answer=one.answer, fields=dict(one.fields)) for _, one in problems]
        for split, problems in drawn.items()
    }
    sources = {split: _shown(name) for split, (_, name) in reversed(files.items()) if name}
    frozen = FrozenProblems(training=entries["search"], validation=entries["judge"], sources=sources, notes=notes)
    return settings.model_copy(update={"frozen": frozen})


def _shown(name: str) -> str:
    """Shortens an absolute path to its end, since the rest is private."""
    return Path(name).name if Path(name).is_absolute() else name


def _read_file(key: str, name: str, settings: EvolutionSettings, folder: Path) -> list[RawProblem]:
    """The problems of the file that `evolution.KEY` names."""
    path, shown, where = folder / name, _shown(name), ("evolution", key)
    if name in SETS:
        message = f"evolution.{key} is the built-in set {name!r}, which already has training and held-out problems"
        raise UsageError(f"{message}. Name a file there too, or remove judge_from.", where)
    if path.is_dir():
        message = f"{shown!r} is a folder. Set problems to one file in it. If the held-out problems are in another file, set judge_from to that file"
        raise UsageError(f"{message}. Problems come from {FORMATS}.", where)
    if not path.is_file():
        built_in = f" It is not a built-in set ({', '.join(SETS)}) either." if key == "problems" else ""
        message = f"evolution.{key}: There is no file {shown!r} ({path}).{built_in} Problems come from {FORMATS}"
        raise UsageError(f'{message}, e.g. JSONL with {{"question": …, "answer": …}} on each line.', where)
    try:
        return [_read_row(row, settings) for row in rows_of(path, shown)]
    except UsageError as error:
        error.where = ("evolution", *error.where) if error.where else where
        raise


def _read_row(row: Row, settings: EvolutionSettings) -> RawProblem:
    fields, by_answer = settings.fields, settings.task in BY_ANSWER
    if settings.question_template:
        question = _fitting(_fill_template(settings.question_template, row), "question", row)
    else:
        question = _text(row, "question", fields)
    answered = (by_answer and not settings.scorer) or fields.get("answer", "answer") in row.values
    answer = _text(row, "answer", fields) if answered else ""
    if by_answer and "####" in answer and not (answer := answer.rpartition("####")[2].strip()):
        raise UsageError(f"{row.where}: the answer has no text after ####.")
    choices = row.values.get("choices", row.values.get("options"))
    if "choices" in fields and (choices := row.values.get(fields["choices"])) is None:
        raise UsageError(f'{row.where}: no "{fields["choices"]}". It has {row.columns()}.', ("fields",))
    if settings.task == "choice" and (texts := _by_letter(choices, row)):
        if not all(re.search(rf"(?<!\w)\(?{letter}[).:\]]", question) for letter in texts):
            question = "\n".join((question, "", *(f"{letter}) {text}" for letter, text in texts.items())))
        answer, choices = letter_of(answer, texts) or answer, texts
    return RawProblem(row, question, answer, choices)


def _text(row: Row, name: str, fields: Mapping[str, str]) -> str:
    column = fields.get(name, name)
    where = ("fields",) if name in fields else ()
    if column not in row.values:
        advice = f'Set the column: fields = {{ {name} = "…" }}; the first line of a table names its columns.'
        raise UsageError(f'{row.where}: no "{column}". It has {row.columns()}. {advice}', where)
    value = row.values[column]
    if isinstance(value, list | Mapping) or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError(f'{row.where}: "{column}" must be text or a number.', where)
    if not (text := _written(value).strip()):
        raise UsageError(f'{row.where}: "{column}" is empty{" (null)" if value is None else ""}.')
    return _fitting(text, name, row)


def _fill_template(template: str, row: Row) -> str:
    def filled(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        if match[1] not in row.values:
            message = f"{row.where}: evolution.question_template uses {{{match[1]}}}, but there is no such column"
            raise UsageError(f"{message}. It has {row.columns()}.", ("question_template",))
        return _written(row.values[match[1]])

    return _PLACEHOLDER.sub(filled, template)


def _written(value: Any) -> str:
    """As it appears in a question: text unchanged, other values as JSON."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False)


def _fitting(text: str, name: str, row: Row) -> str:
    if len(text) > ceilings.TEXT:
        raise UsageError(
            f"{row.where}: its {name} has {len(text):,} characters, but at most {ceilings.TEXT:,} are allowed."
        )
    if not text.strip():
        raise UsageError(f"{row.where}: its {name} is empty.")
    return clean(text)


def _by_letter(choices: Any, row: Row) -> dict[str, str] | None:
    """From a list, or an object by letter; in a table, as JSON in a cell."""
    if isinstance(choices, str):
        try:
            choices = json.loads(choices)
        except (ValueError, RecursionError):
            return None
    if not isinstance(choices, list | Mapping):
        return None
    texts = {letter: clean(text.strip()) for letter, text in choices_of({"choices": choices}).items() if text.strip()}
    if not 2 <= len(texts) <= len(ascii_uppercase) or not all(letter in ascii_uppercase for letter in texts):
        message = f"{row.where}: {len(choices)} choices that are invalid or not distinct. Write them as a list, or by letter as"
        raise UsageError(f'{message} {{"A": …, "B": …}}: 2 to {len(ascii_uppercase)} of them.')
    return texts


def _other_columns(raw: RawProblem, settings: EvolutionSettings) -> tuple[dict[str, Any], list[str]]:
    """The other columns as far as they can be stored, and the names of those that cannot."""
    values = raw.row.values
    used = {settings.fields.get(name, name) for name in ("question", "answer", "choices", "options")}
    wanted = {} if raw.choices is None else {"choices": raw.choices}
    wanted |= {name: value for name, value in values.items() if name not in used}
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


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as a batch's config stores it."""
    if depth == DEEPEST:
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


# -- splits ----------------------------------------------------------------------------------------------------


def fold_question(question: str) -> str:
    text = " ".join(_SOFT.sub("", unicodedata.normalize("NFKC", question).casefold()).split())
    return text or question.strip()


def _distinct(
    files: Mapping[str, Sequence[RawProblem]], names: Mapping[str, str]
) -> tuple[dict[str, list[RawProblem]], list[str]]:
    """Removes duplicates. A question with two different answers cannot score a reply, so all its copies are left out. A problem
    in both splits stays in the final test only."""
    pools: dict[str, list[RawProblem]] = {}
    notes: list[str] = []
    judged: set[tuple[str, str]] = set()
    for split, problems in files.items():
        pool: dict[tuple[str, str], RawProblem] = {}
        twice: dict[str, list[RawProblem]] = {"occur twice and count once": [], "have two answers and are left out": []}
        repeated, contradicted = twice.values()
        for raw in problems:
            # The choices belong to a question, since "Which of these is true?" can be many questions.
            first = pool.setdefault((fold_question(raw.question), str(raw.choices)), raw)
            if first is not raw:
                same = fold_question(first.answer) == fold_question(raw.answer)
                (repeated if same else contradicted).append(raw)
        for raw in contradicted:
            pool.pop((fold_question(raw.question), str(raw.choices)), None)
        for what, some in twice.items():
            places = ", ".join(raw.row.where.rpartition(", ")[2] for raw in some[:SHOWN])
            if some:
                notes.append(
                    f"Problems of {names[split]} that {what}: {len(some):,} ({places}{' …' * (len(some) > SHOWN)})."
                )
        if shared := len(pool.keys() & judged):
            notes.append(
                f"Problems of {names[split]} that also occur in {names['judge']} and are left out of the training: {shared:,}."
            )
        pools[split] = [raw for key, raw in pool.items() if key not in judged]
        judged = set(pool)
    return pools, notes


def _draw_splits(
    pools: Mapping[str, list[RawProblem]], settings: EvolutionSettings, seed: int
) -> dict[str, Sequence[RawProblem]]:
    """If the final test has no file of its own, its problems are taken from those of the search."""
    drawn: dict[str, Sequence[RawProblem]] = {}
    for split, problems in pools.items():
        key, needed = ("problems", 2) if len(pools) == 1 else ("judge_from" if split == "judge" else "problems", 1)
        if len(problems) < needed:
            name = _shown(getattr(settings, key))
            message = f"{name} has {len(problems)} different problems, but at least {needed} are needed"
            why = ", one for training and one held out" if needed == 2 else ""
            raise UsageError(f"{message}{why}.", ("evolution", key))
        stream(seed, "problems", "file" if split == "search" else split).shuffle(problems)
        drawn[split] = problems[: getattr(settings, SIZES[cast(Split, split)])]
    if len(pools) == 1:
        drawn["search"], drawn["judge"] = split_problems(problems, settings.max_problems, settings.validation_problems)
    return drawn


def _with_labels(settings: EvolutionSettings, answers: Iterable[str]) -> EvolutionSettings:
    """If no labels are set, a task with labels uses all expected answers as labels."""
    if settings.task != "label" or settings.labels:
        return settings
    labels: dict[str, str] = {}
    for answer in answers:
        labels.setdefault(answer.strip().casefold(), answer.strip())
    if len(labels) > MOST_LABELS:
        message = f'task = "label" without labels uses the expected answers as labels, but there are {len(labels):,} different ones'
        raise UsageError(f"{message}. List at most {MOST_LABELS} in evolution.labels.", ("evolution", "labels"))
    return settings.model_copy(update={"labels": [labels[name] for name in sorted(labels)]})


def _doubts(settings: EvolutionSettings, problems: Sequence[tuple[str, Problem]]) -> list[str]:
    """Expected answers that no reply can match. They lower every result; if all answers are such, nothing can be measured."""
    if settings.scorer or settings.task not in BY_ANSWER:
        return []
    task = task_of(settings)
    doubtful = [f"{where}: {why}" for where, problem in problems if (why := task.impossible(problem))]
    shown = "; ".join(doubtful[:SHOWN])
    if len(doubtful) == len(problems):
        message = f'No reply could be right with task = "{settings.task}": {shown}'
        raise UsageError(f"{message}. Choose another task, or correct the answers.", ("evolution", "task"))
    if not doubtful:
        return []
    more = f"; and {len(doubtful) - SHOWN:,} more" if len(doubtful) > SHOWN else ""
    return [
        f"{len(doubtful):,} of {len(problems):,} problems have expected answers that no reply can match: {shown}{more}."
    ]
