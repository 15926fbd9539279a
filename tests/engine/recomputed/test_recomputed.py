"""What a referee does with a published study: recompute every figure of its statistics from the CSV files alone.

The estimators are those of docs/statistics.md, by pandas, scipy and statsmodels. Figures that the CSV files cannot give are
listed here with the reason.
"""

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.engine.recomputed import design, evolution, mutation, secret_game, simulation
from tests.engine.recomputed.figures import flat, is_figure
from tests.engine.recomputed.studies import Published, publish

LOST = "who met in a conversation that failed"
FAILED = {"missing.pairs.*": LOST}
GAME = {"pairs.*.missing": LOST}
SIMULATION = {
    "combinations_possible": "entities that never took part",
    "judgements.scale": "the scale is in the config",
    "unsplit_scenes": "of narrated rounds",
}
FITNESS = ("consistency", "diversity", "efficiency", "length_penalty", "tokens")
EVOLUTION = {
    "generations[*": "who lived in a generation",
    "random_search.calls": "calls by search",
    "baseline_calls": "calls by purpose",
    "search_calls": "calls by purpose",
    "calls_saved_by_racing": "a count of the search",
    "rewrites": "a count of the search",
    "most_fitness": "the weights are in the config",
    "random_search.*fitness": "fitness of prompts of the random search",
    "random_search.components.*": "prompts of the random search",
    **{f"*.components.{name}": "parts of the fitness" for name in FITNESS},
}
MUTATION = {
    "updates[*].uses.*": "when a step was taken",
    "baselines.random.updates[*": "updates of learners that ran beside",
}
DESIGN = {"outcomes.*.digits": "how it is shown", "missing_batches.*": "the design is in the config"}
LEFT_OUT = {f"{path}.left_out": LOST for path in ("outcomes.* of *", "hypotheses[revealed of Ada*")}


@dataclass(frozen=True)
class Case:
    recompute: Callable[[Published], dict[str, Any]]
    unknown: dict[str, str]
    """figures that no CSV file gives, and what is not in these files"""
    methods: Set[str] = frozenset()
    """estimators of which the study has figures"""
    shown: tuple[str, ...] = ()
    """figures that are not zero, so that the study has lost calls and differences"""
    below: tuple[str, ...] = ()
    """figures below zero"""


CASES = {
    "game": Case(secret_game.recomputed, GAME | FAILED, {"CR2", "MOVER", "Bonett–Price"}, ("missing.conversations",)),
    "few conversations": Case(secret_game.recomputed, GAME),
    "linked games": Case(
        secret_game.recomputed,
        GAME | FAILED,
        {"clusters", "Bonett–Price"},
        ("missing.conversations", "verdicts.overall.missing"),
    ),
    "few games": Case(secret_game.recomputed, GAME),
    "scenarios": Case(secret_game.recomputed, GAME, {"t", "MOVER", "Bonett–Price"}),
    "simulation": Case(simulation.recomputed, SIMULATION, shown=("missing.simulations", "missing.judgements")),
    "evolution": Case(evolution.recomputed, EVOLUTION, shown=("genomes.missing", "difference", "champion.unclear")),
    "mutation": Case(
        mutation.recomputed,
        MUTATION,
        shown=("heldout.missing", "masked_steps"),
        below=("heldout.differences.best_constant.difference",),
    ),
    "design of games": Case(
        design.recomputed, DESIGN | LEFT_OUT | {"outcomes.* of *.missing": LOST}, {"t", "Bonett–Price"}
    ),
    "design of simulations": Case(design.recomputed, DESIGN, {"jackknife", "Bonett–Price"}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_csv_files_give_every_figure(name: str, tmp_path: Path) -> None:
    case, published = CASES[name], publish(name, tmp_path)
    reported, recomputed = flat(published.statistics), flat(case.recompute(published))
    different = [
        f"{path}: {value} from CSV, {reported.get(path)} reported"
        for path, value in recomputed.items()
        if not same(value, reported.get(path))
    ]
    assert not different, "\n".join(different)
    left = [path for path, value in reported.items() if is_figure(value) and path not in recomputed]
    assert not [path for path in left if not any(fits(pattern, path) for pattern in case.unknown)]
    assert not [pattern for pattern in case.unknown if not any(fits(pattern, path) for path in left)]
    assert {value for path, value in recomputed.items() if path.endswith(".method")} >= case.methods
    assert all(recomputed[path] for path in case.shown)
    assert all(recomputed[path] < 0 for path in case.below)
    assert not [path for path in intervals(published.statistics) if not path[-1]], (
        "every interval says what it is about"
    )


def intervals(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where there is an interval, and last its estimand."""
    if isinstance(node, dict) and any(key.endswith("ci95") and node[key] for key in node):
        yield *path, node.get("estimand", "")
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in items:
        yield from intervals(inner, (*path, str(key)))


def same(ours: Any, told: Any) -> bool:
    if is_figure(ours) and is_figure(told):
        return bool(told == pytest.approx(ours, rel=1e-6, abs=1e-12))
    return bool(ours == told)


def fits(pattern: str, path: str) -> bool:
    return bool(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), path))
