"""What makes a study of one's own problems measure nothing, though every key is right: said before it is run."""

from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.placeholders import seed_text
from tidepool.engine.studies.evolution.problems.problem_set import Problem

SHOWN = 5
"""labels that are named, and questions that are tried"""


def forewarnings(settings: EvolutionSettings, problems: Sequence[Problem]) -> list[str]:
    return [*_labels_unsaid(settings, problems), *_guessed(settings, problems)]


def _labels_unsaid(settings: EvolutionSettings, problems: Sequence[Problem]) -> list[str]:
    if settings.task != "label" or settings.scorer or not settings.labels:
        return []
    texts = [problem.question for problem in problems[:SHOWN]]
    seeds = [seed_text(seed) for seed in settings.seed_prompts or ()]
    if _all_named(settings.labels, texts) or any(_all_named(settings.labels, [seed]) for seed in seeds):
        return []
    more = ", …" if len(settings.labels) > SHOWN else ""
    return [
        f"Neither the questions nor a seed prompt name the labels ({', '.join(settings.labels[:SHOWN])}{more}), so the model has to "
        "guess what it may answer: name them in question_template or in seed_prompts."
    ]


def _all_named(labels: Sequence[str], texts: Sequence[str]) -> bool:
    return all(label.casefold() in text.casefold() for text in texts for label in labels)


def _guessed(settings: EvolutionSettings, problems: Sequence[Problem]) -> list[str]:
    """The simulated solver knows the problems that come with Tidepool; of others only those that offer a choice."""
    if not all(model.startswith("simulated:") and "solver" in model for model in settings.solvers()):
        return []
    from tidepool.engine.providers.simulated.solver import solve

    tried = (solve("solver", "", [Message("user", problem.question)], 0) for problem in problems[:SHOWN])
    if not problems or any(reply.truth != "guess" for reply in tried):
        return []
    return [
        "The simulated solver knows no answers to these problems and guesses, whatever a prompt says: this tries out the files, and "
        "finds no better prompt. A real model answers them, and so do built-in problems (docs/landscape.md)."
    ]
