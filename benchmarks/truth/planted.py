"""Can a search find what none of its seeds says? The planted task of docs/landscape.md, by every strategy with 3,000 calls.

    python -m benchmarks.truth.planted [STRATEGY …] [--first SEED] [--count N]

Found is what the champion's prompt says, not what somewhere in the population once said.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from benchmarks.evolution_truth import evolve, trials
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.providers.simulated.landscape import mends

FIRST_SEED = 910_000
CALLS = 3_000
STUDY: dict[str, Any] = {
    "model": "simulated:solver-planted",
    "population_size": 20,
    "max_generations": 60,
    "max_problems": 40,
    "validation_problems": 100,
    "elite_size": 3,
    "target_fitness": 2.0,
    "stagnation": 0,
    "max_calls": CALLS,
    "seed_final": False,
}


def search(seed: int, strategy: str) -> dict[str, Any]:
    found = evolve(seed, **STUDY, strategy=strategy)["statistics"]
    champion = found["champion"]
    return {
        "found": mends(champion["prompt"]),
        "held_out": champion["validation_accuracy"],
        "calls": found["search_calls"],
    }


def measured(strategy: str, first: int, count: int = 10) -> Iterator[Measurement]:
    runs = trials(partial(search, strategy=strategy), range(first, first + count))
    hits = sum(run["found"] for run in runs)
    note = f"held out {100 * fmean(run['held_out'] for run in runs):.0f} % on average"
    name, unit = f"{strategy}: the planted instruction found", f"of {count} seeds"
    if strategy == "random":
        yield at_most(name, hits, unit, 0, f"it reads no failures; {note}")
    else:
        least = 0.8 * count if strategy in ("reflective", "gepa") else 0
        yield at_least(name, hits, unit, least, note)
    yield at_most(f"{strategy}: calls of the search, most", max(run["calls"] for run in runs), "calls", CALLS)


STRATEGIES = ("reflective", "gepa", "genetic", "random")


def prove(strategies: Sequence[str] = STRATEGIES, first: int = FIRST_SEED, count: int = 10) -> Iterator[Measurement]:
    for strategy in strategies:
        yield from measured(strategy, first, count)


def main() -> None:
    parser = argparse.ArgumentParser(description="Can a search find what none of its seeds says?")
    parser.add_argument(
        "strategies", nargs="*", choices=[*STRATEGIES, []], help="which of them; all when none is named"
    )
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--count", type=int, default=10)
    given = parser.parse_args()
    for figure in prove(given.strategies or STRATEGIES, given.first, given.count):
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:,.0f} {figure.unit} {figure.note}")


if __name__ == "__main__":
    main()
