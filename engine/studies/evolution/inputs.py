"""What an evolution is given: its settings and its problems, as the config or a file has them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from tidepool.engine.call import Message
from tidepool.engine.config.sections import ConfigSections, FrozenConfig
from tidepool.engine.config.toml_files import named_file
from tidepool.engine.errors import UsageError, located
from tidepool.engine.studies.evolution.config import EvolutionSettings, FrozenProblems, ProblemEntry
from tidepool.engine.studies.evolution.genome import seed_text
from tidepool.engine.studies.evolution.problems.intake import NamedProblem, Source, Sources, read_problems, source_at
from tidepool.engine.studies.evolution.problems.problem_set import SETS, Problem, ProblemSet, Split, problem_set
from tidepool.engine.studies.evolution.problems.rows import Columns
from tidepool.engine.studies.evolution.tasks.task import AnswerTask

BY_ANSWER = ("auto", "number", "choice", "label", "text")
"""tasks that compare a reply with the expected answer"""
SIZES: Mapping[Split, tuple[str, str]] = {
    "search": ("max_problems", "to search by"),
    "choose": ("choose_problems", "to choose the champion"),
    "judge": ("validation_problems", "held out"),
}
"""split → the key of its size, and what it is called"""
MOST_LABELS = 100
SHOWN = 3
"""doubtful answers that a warning quotes"""


def settings_of(config: ConfigSections) -> EvolutionSettings:
    return cast(EvolutionSettings, config.settings)


def problems_of(config: FrozenConfig) -> ProblemSet:
    settings = settings_of(config)
    if (frozen := settings.frozen) is None:
        return _built_in(settings, config.batch.seed)
    splits = (
        tuple(Problem(entry.question, entry.answer, entry.fields) for entry in entries)
        for entries in (frozen.training, frozen.validation, frozen.choosing)
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
    if folder is None and settings.problems in SETS:
        return settings
    if settings.problems in SETS and not (settings.choose_from or settings.judge_from):
        return _check_set(settings, seed)
    return _with_file_problems(settings, seed, named_file("", folder, "evolution", "problems"))


def _no_more_than(settings: EvolutionSettings, frozen: FrozenProblems) -> FrozenProblems:
    """Sizes that were lowered since the problems were taken in cut them."""
    sizes = {
        "training": settings.max_problems,
        "validation": settings.validation_problems,
        "choosing": settings.choose_problems,
    }
    return frozen.model_copy(update={split: getattr(frozen, split)[:size] for split, size in sizes.items()})


def _built_in(settings: EvolutionSettings, seed: int) -> ProblemSet:
    sizes = settings.max_problems, settings.validation_problems
    return problem_set(settings.problems, *sizes, seed, settings.choose_problems)


def _check_set(settings: EvolutionSettings, seed: int) -> EvolutionSettings:
    problems = _numbered(_built_in(settings, seed))
    settings = _with_labels(settings, (entry.problem.answer for split in problems.values() for entry in split))
    _doubts(settings, problems)
    return settings


def _numbered(problems: ProblemSet) -> Mapping[Split, Sequence[NamedProblem]]:
    splits: Mapping[Split, Sequence[Problem]] = {
        "search": problems.training,
        "choose": problems.choosing,
        "judge": problems.validation,
    }
    return {
        split: [NamedProblem(f"{problems.name}, problem {number}", problem) for number, problem in enumerate(rows, 1)]
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
    search = [entry.problem for entry in intake.drawn["search"]]
    notes += [*_labels_unsaid(settings, search), *_guess_task(settings, search)]
    if settings.task == "auto" and intake.chosen_from:
        notes.append('The problems have choices, which are neither shown nor read: task = "choice" does both.')
    frozen = FrozenProblems(
        training=_entries(intake.drawn["search"]),
        validation=_entries(intake.drawn["judge"]),
        choosing=_entries(intake.drawn.get("choose", ())),
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
    plain = (one.problem for one in problems)
    return [ProblemEntry(question=one.question, answer=one.answer, fields=dict(one.fields)) for one in plain]


def _sources(settings: EvolutionSettings, folder: Path) -> Sources:
    name = settings.problems
    with located("evolution", "problems"):
        if name in SETS:
            message = (
                f"evolution.problems is the built-in set {name!r}, which brings problems of its own for every purpose"
            )
            raise UsageError(f"{message}: name a file there too, or leave out choose_from and judge_from.")
        if not (folder / name).exists():
            raise UsageError(
                f"evolution.problems is {name!r}: neither a built-in set ({', '.join(SETS)}) nor a file: "
                f"there is no {folder / name}. "
                'Give one of these names, or e.g. a JSONL file with {"question": …, "answer": …} on each line.'
            )
        sources: dict[Split, Source] = {"search": source_at(name, folder, "problems")}
    own: Mapping[Split, str] = {"choose": settings.choose_from, "judge": settings.judge_from}
    for split, named in own.items():
        if named:
            with located("evolution", f"{split}_from"):
                sources[split] = source_at(named, folder, f"{split}_from")
    return sources


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
        reasons = [f"{entry.where}: {why}" for entry in entries if (why := task.impossible(entry.problem))]
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


TRIED = 5
"""labels that are named, and questions that are tried"""


def _labels_unsaid(settings: EvolutionSettings, problems: Sequence[Problem]) -> list[str]:
    if settings.task != "label" or settings.scorer or not settings.labels:
        return []
    texts = [problem.question for problem in problems[:TRIED]]
    seeds = [seed_text(seed) for seed in settings.seed_prompts or ()]
    if _all_named(settings.labels, texts) or any(_all_named(settings.labels, [seed]) for seed in seeds):
        return []
    more = ", …" if len(settings.labels) > TRIED else ""
    return [
        f"Neither the questions nor a seed prompt name the labels ({', '.join(settings.labels[:TRIED])}{more}), so the model has to "
        "guess what it may answer: name them in question_template or in seed_prompts."
    ]


def _all_named(labels: Sequence[str], texts: Sequence[str]) -> bool:
    return all(label.casefold() in text.casefold() for text in texts for label in labels)


def _guess_task(settings: EvolutionSettings, problems: Sequence[Problem]) -> list[str]:
    """The simulated solver knows the problems that come with Tidepool; of others only those that offer a choice."""
    if not all(model.startswith("simulated:") and "solver" in model for model in settings.solvers()):
        return []
    from tidepool.engine.providers.simulated.solver import solve

    tried = (solve("solver", "", [Message("user", problem.question)], 0) for problem in problems[:TRIED])
    if not problems or any(reply.truth != "guess" for reply in tried):
        return []
    return [
        "The simulated solver knows no answers to these problems and guesses, whatever a prompt says: this tries out the files, and "
        "finds no better prompt. A real model answers them, and so do built-in problems (docs/landscape.md)."
    ]
