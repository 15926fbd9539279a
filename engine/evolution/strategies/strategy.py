"""How a search goes on from one generation to the next: each strategy is a small file with one function."""

from importlib import import_module
from typing import Protocol

from engine.errors import UsageError
from engine.evolution.arena import Arena

MODULES = {"genetic": "genetic", "reflective": "reflective", "random": "random_search"}


class Strategy(Protocol):
    async def search(self, arena: Arena) -> str:
        """Has genomes judged in the arena until a rule stops it, and returns that rule's name."""


def strategy_named(name: str) -> Strategy:
    module: Strategy = import_module(f"engine.evolution.strategies.{MODULES[name]}")
    return module


def check_strategy(name: str) -> None:
    if name not in MODULES:
        raise UsageError(
            f"evolution.strategy = {name!r} is not part of this version yet; there are {', '.join(MODULES)}."
        )
