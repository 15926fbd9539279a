"""The exact accuracy of a prompt on the simulated solver's landscape, among replies with an answer."""

from collections.abc import Iterable

from tidepool.engine.simulated.landscape import chance
from tidepool.engine.studies.evolution.problems.problem_set import recognise


def true_accuracy(prompt: str, questions: Iterable[str], model_name: str = "solver") -> float:
    """The exact share of right ones among the answers this prompt brings, on average; only for built-in questions."""
    chances = [_chance_of(model_name, prompt, question) for question in questions]
    return sum(chances) / len(chances)


def _chance_of(model_name: str, prompt: str, question: str) -> float:
    known = recognise(question)
    if known is None:
        raise ValueError(f"the simulated solver does not know this kind of question: {question[:80]!r}")
    right, silent = chance(model_name, prompt, known.kind, known.level)
    return right / (1 - silent)
