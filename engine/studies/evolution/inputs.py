"""What an evolution is given: its settings and its problems, as the config or a file has them."""

from pathlib import Path
from typing import cast

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.sections import ConfigSections
from tidepool.engine.config.toml_files import named_file
from tidepool.engine.studies.evolution.config import EvolutionSettings, FrozenProblems, ProblemEntry
from tidepool.engine.studies.evolution.problems.problem_set import Problem, ProblemSet, problem_set


def settings_of(config: ConfigSections) -> EvolutionSettings:
    return cast(EvolutionSettings, config.settings)


def problems_of(config: FrozenConfig) -> ProblemSet:
    settings = settings_of(config)
    if settings.frozen is None:
        return problem_set(settings.problems, settings.max_problems, settings.validation_problems, config.batch.seed)
    training, validation = (
        tuple(Problem(entry.question, entry.answer) for entry in entries)
        for entries in (settings.frozen.training, settings.frozen.validation)
    )
    return ProblemSet(settings.problems, training, validation)


def taken_in(settings: EvolutionSettings, seed: int, folder: Path | None) -> FrozenProblems:
    if folder is None:
        named_file(settings.problems, folder, "evolution", "problems")
    found = problem_set(settings.problems, settings.max_problems, settings.validation_problems, seed, folder)
    training, validation = (
        [ProblemEntry(question=problem.question, answer=problem.answer) for problem in problems]
        for problems in (found.training, found.validation)
    )
    return FrozenProblems(training=training, validation=validation)
