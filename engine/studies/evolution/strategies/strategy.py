"""How a search goes on from one generation to the next: each strategy is a small file with one function."""

from typing import Protocol

from tidepool.engine.registries import load_place
from tidepool.engine.studies.evolution.evaluation.evaluator import Evaluator

MODULES = {"genetic": "genetic", "reflective": "reflective", "gepa": "gepa_search", "random": "random_search"}


class Strategy(Protocol):
    async def search(self, evaluator: Evaluator) -> str:
        """Has genomes judged in the evaluator until a rule stops it, and returns that rule's name."""


def strategy_named(name: str) -> Strategy:
    module: Strategy = load_place(f"{__package__}.{MODULES[name]}")
    return module


def check_strategy(name: str) -> None:
    """Says what to install where a strategy needs it."""
    if name == "gepa":
        from tidepool.engine.studies.evolution.strategies.gepa_search import require_extra

        require_extra()
