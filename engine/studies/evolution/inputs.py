"""What an evolution is given: its settings and its problems, as the config or a file has them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from tidepool.engine.call import Message
from tidepool.engine.config.sections import ConfigSections, FrozenConfig
from tidepool.engine.config.toml_files import named_file
from tidepool.engine.errors import UsageError
from tidepool.engine.registries import load_place
from tidepool.engine.studies.data_files import FORMATS
from tidepool.engine.studies.evolution.config import EvolutionSettings, FrozenProblems, ProblemEntry
from tidepool.engine.studies.evolution.problems.intake import Columns, NamedProblem, Source, Sources, read_problems
from tidepool.engine.studies.evolution.problems.problem_set import SETS, Problem, ProblemSet, Split, problem_set
from tidepool.engine.studies.evolution.tasks.task import AnswerTask

BY_ANSWER = ("auto", "number", "choice", "label", "text")
"""tasks that compare a reply with the expected answer"""
SIZES: Mapping[Split, tuple[str, str]] = {
    "search": ("max_problems", "to search by"),
    "judge": ("validation_problems", "held out"),
}
"""split → the key of its size, and what it is called"""
MOST_LABELS = 100
SHOWN = 3
"""doubtful answers that a warning quotes"""
TRIED = 5
"""questions that the simulated solver is tried with"""


def settings_of(config: ConfigSections) -> EvolutionSettings:
    return cast(EvolutionSettings, config.settings)


def problems_of(config: FrozenConfig) -> ProblemSet:
    settings = settings_of(config)
    if (frozen := settings.frozen) is None:
        return _built_in(settings, config.batch.seed)
    splits = (
        tuple(Problem(entry.question, entry.answer, entry.fields) for entry in entries)
        for entries in (frozen.training, frozen.validation)
    )
    return ProblemSet(settings.problems, *splits)


def warnings_about(config: FrozenConfig) -> tuple[str, ...]:
    """What is doubtful about the problems."""
    settings = settings_of(config)
    if settings.frozen is not None:
        return tuple(settings.frozen.notes)
    return tuple(_doubts(settings, _numbered(_built_in(settings, config.batch.seed))))


def with_problems(settings: EvolutionSettings, seed: int, folder: Path | None) -> EvolutionSettings:
    """The settings with the problems of their files, and with the labels that these have. `folder` is where relative
    paths start; None: the config is a batch's own, and no file may be read."""
    if settings.frozen is not None:
        return settings.model_copy(update={"frozen": _no_more_than(settings, settings.frozen)})
    if settings.problems in SETS and (folder is None or not settings.judge_from):
        if folder is not None:
            problems = _numbered(_built_in(settings, seed))
            settings = _with_labels(settings, (one.answer for split in problems.values() for _, one in split))
            _doubts(settings, problems)
        return settings
    return _with_file_problems(settings, seed, named_file("", folder, "evolution", "problems"))


def _no_more_than(settings: EvolutionSettings, frozen: FrozenProblems) -> FrozenProblems:
    """Sizes that were lowered since the problems were taken in cut them."""
    sizes = {
        "training": settings.max_problems,
        "validation": settings.validation_problems,
    }
    return frozen.model_copy(update={split: getattr(frozen, split)[:size] for split, size in sizes.items()})


def _built_in(settings: EvolutionSettings, seed: int) -> ProblemSet:
    return problem_set(settings.problems, settings.max_problems, settings.validation_problems, seed)


def _numbered(problems: ProblemSet) -> Mapping[Split, Sequence[NamedProblem]]:
    splits: Mapping[Split, Sequence[Problem]] = {
        "search": problems.training,
        "judge": problems.validation,
    }
    return {
        split: [(f"{problems.name}, problem {number}", problem) for number, problem in enumerate(rows, 1)]
        for split, rows in splits.items()
    }


def _with_file_problems(settings: EvolutionSettings, seed: int, folder: Path) -> EvolutionSettings:
    sources = _sources(settings, folder)
    by_answer = settings.task in BY_ANSWER
    columns = Columns(
        settings.fields,
        settings.question_template,
        answered=by_answer and not settings.scorer,
        worked=by_answer,
        lettered=settings.task == "choice",
    )
    sizes: Mapping[Split, int] = {split: getattr(settings, key) for split, (key, _) in SIZES.items()}
    intake = read_problems(sources, columns, sizes, seed)
    settings = _with_labels(settings, intake.answers)
    notes = [*_shortage_notes(settings, intake.drawn), *intake.notes, *_doubts(settings, intake.drawn)]
    notes += _only_guessed(settings, [problem for _, problem in intake.drawn["search"]])
    if settings.task == "auto" and intake.chosen_from:
        notes.append('The problems have choices, which are neither shown nor read: task = "choice" does both.')
    frozen = FrozenProblems(
        training=_entries(intake.drawn["search"]),
        validation=_entries(intake.drawn["judge"]),
        sources={split: source.name for split, source in sources.items()},
        notes=notes,
    )
    return settings.model_copy(update={"frozen": frozen})


def _shortage_notes(settings: EvolutionSettings, drawn: Mapping[Split, Sequence[NamedProblem]]) -> list[str]:
    """Sizes that were written, and that the files are too small for; the held-out part is then named as well."""
    sizes = {key: (len(drawn.get(split, ())), words) for split, (key, words) in SIZES.items() if getattr(settings, key)}
    written = settings.model_fields_set & sizes.keys()
    short = [key for key in sizes if sizes[key][0] < getattr(settings, key)]
    if not written.intersection(short):
        return []
    named = [key for key in short if key in written or key == SIZES["judge"][0]]
    wanted = ", ".join(f"{key} = {getattr(settings, key)}{'' if key in written else ' by default'}" for key in named)
    used = ", ".join(f"{number:,} {words}" for number, words in sizes.values())
    return [f"There are fewer different problems than asked for ({wanted}). The study uses {used}."]


def _entries(problems: Iterable[NamedProblem]) -> list[ProblemEntry]:
    return [ProblemEntry(question=one.question, answer=one.answer, fields=dict(one.fields)) for _, one in problems]


def _sources(settings: EvolutionSettings, folder: Path) -> Sources:
    named: Mapping[Split, tuple[str, str]] = {
        "search": ("problems", settings.problems),
        "judge": ("judge_from", settings.judge_from),
    }
    return {split: _source(key, name, folder) for split, (key, name) in named.items() if name}


def _source(key: str, name: str, folder: Path) -> Source:
    """The file that `evolution.KEY` names. Of a path in full only its end is told: the rest is nobody's business."""
    where, path, shown = ("evolution", key), folder / name, Path(name).name if Path(name).is_absolute() else name
    if name in SETS:
        message = f"evolution.{key} is the built-in set {name!r}, which brings problems of its own for every purpose"
        raise UsageError(f"{message}: name a file there too, or leave out judge_from.", where)
    if path.is_dir():
        message = f"{shown!r} is a folder: name one file in it, and that of the held-out problems with judge_from"
        raise UsageError(f"{message}. Problems come from {FORMATS}.", where)
    if not path.is_file():
        built_in = f" It is no built-in set ({', '.join(SETS)}) either." if key == "problems" else ""
        message = f"evolution.{key}: There is no file {shown!r} ({path}).{built_in} Problems come from {FORMATS}"
        raise UsageError(f'{message}, e.g. JSONL with {{"question": …, "answer": …}} on each line.', where)
    return Source(shown, path, where)


def _with_labels(settings: EvolutionSettings, answers: Iterable[str]) -> EvolutionSettings:
    """Without labels of its own, a task that has some takes all expected answers for them."""
    if settings.task != "label" or settings.labels:
        return settings
    labels: dict[str, str] = {}
    for answer in answers:
        labels.setdefault(answer.strip().casefold(), answer.strip())
    if len(labels) > MOST_LABELS:
        message = f'task = "label" without labels takes the expected answers for them, but there are {len(labels):,} different ones'
        raise UsageError(f"{message}. List at most {MOST_LABELS} in evolution.labels.", ("evolution", "labels"))
    return settings.model_copy(update={"labels": [labels[name] for name in sorted(labels)]})


def _doubts(settings: EvolutionSettings, problems: Mapping[Split, Sequence[NamedProblem]]) -> list[str]:
    """Expected answers that no reply can match: they lower every figure, and where all are such nothing is measured."""
    if settings.scorer or settings.task not in BY_ANSWER:
        return []
    task, doubtful, total = AnswerTask(settings.task, tuple(settings.labels)), [], 0
    for entries in problems.values():
        reasons = [f"{where}: {why}" for where, problem in entries if (why := task.impossible(problem))]
        if entries and len(reasons) == len(entries):
            message = f'No reply could be right with task = "{settings.task}": {"; ".join(reasons[:SHOWN])}'
            raise UsageError(f"{message}. Choose the task that fits, or mend the answers.", ("evolution", "task"))
        doubtful += reasons
        total += len(entries)
    if not doubtful:
        return []
    more = f"; and {len(doubtful) - SHOWN:,} more" if len(doubtful) > SHOWN else ""
    return [
        f"{len(doubtful):,} of {total:,} problems have expected answers that no reply can match: "
        f"{'; '.join(doubtful[:SHOWN])}{more}."
    ]


def _only_guessed(settings: EvolutionSettings, problems: Sequence[Problem]) -> list[str]:
    """The simulated solver knows the problems that come with Tidepool; of others only those that offer a choice."""
    if not all(model.startswith("simulated:") and "solver" in model for model in settings.solvers()):
        return []
    solve = load_place(
        "tidepool.engine.simulated.solver:solve"
    )  # simulated models know the kinds, not the other way round
    tried = (solve("solver", "", [Message("user", problem.question)], 0) for problem in problems[:TRIED])
    if not problems or any(reply.truth != "guess" for reply in tried):
        return []
    return [
        "The simulated solver knows no answers to these problems and guesses, whatever a prompt says: this tries out the files, and "
        "finds no better prompt. A real model answers them, and so do built-in problems (docs/landscape.md)."
    ]
