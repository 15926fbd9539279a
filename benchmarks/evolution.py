"""Prompt evolution on simulated landscapes with known truth: climbing, racing, coverage, planted instructions, speed-up.

Every study runs through the engine into a file; the reported summary is judged. No rule or size was tuned on these seeds.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

import numpy

from benchmarks.inference.judging import ALARMS, LEAST, Judged, per_cent, settled, settled_one
from tests.support.solver_truth import true_accuracy
from tidepool import Evolution
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Providers, Service, SimulatedSettings
from tidepool.engine.events import CallAnswered, Event
from tidepool.engine.inference.contrasts import SIGNIFICANT
from tidepool.engine.run import run_batch
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.simulated.landscape import mends
from tidepool.engine.studies.evolution.config import PresetName
from tidepool.engine.studies.evolution.final_test import compare, held_out
from tidepool.engine.studies.evolution.genome import seed_genomes
from tidepool.engine.studies.evolution.problems.problem_set import generate
from tidepool.engine.studies.evolution.records import by_problem_contrast
from tidepool.engine.studies.evolution.tasks.verdict import Verdict
from tidepool.storage.states import StopCode

FIRST_SEED = 830_000
QUESTIONS = 2_000
"""of the same generator as the held-out problems: the truth is the mean chance over them"""

LARGE: dict[str, Any] = {
    "population_size": 30,
    "max_generations": 20,
    "max_problems": 80,
    "validation_problems": 400,
    "elite_size": 3,
    "target_fitness": 2.0,
}
SMALL: dict[str, Any] = {
    "population_size": 8,
    "max_generations": 3,
    "max_problems": 10,
    "validation_problems": 60,
    "elite_size": 2,
    "seed_prompts": [genome.prompt for genome in seed_genomes()[:12]],
}
"""few seeds, for what is in question here is the champion's interval and the comparison"""
WORKERS = int(os.environ.get("WORKERS", os.cpu_count() or 1))


def evolve(seed: int, simulated: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    """The summary of one study of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = folder
        config = Evolution(
            seed=seed,
            service=Service(name="live", cache=False),
            providers=Providers(simulated=SimulatedSettings(**(simulated or {}))),
            rate_limit_per_minute=0,
            **settings,
        )
        return asyncio.run(run_batch(config, Path(folder) / "study.db"))


@cache
def _questions() -> tuple[str, ...]:
    return tuple(problem.question for problem in generate("arithmetic", QUESTIONS, Random(9_999)))


@cache
def truth(prompt: str, model: str = "solver") -> float:
    return true_accuracy(prompt, _questions(), model)


def climb(seed: int) -> dict[str, float]:
    found = evolve(seed, **LARGE, random_baseline=True)["statistics"]
    champion, baseline, random = (found[name] for name in ("champion", "baseline", "random_search"))
    return {
        "seed": seed,
        "held_out": champion["validation_accuracy"],
        "best_seed_held_out": baseline["validation_accuracy"],
        "random_held_out": random["validation_accuracy"],
        "true": truth(champion["prompt"]),
        "best_seed_true": truth(baseline["prompt"]),
        "random_true": truth(random["prompt"]),
        "calls": found["search_calls"],
        "random_calls": random["calls"],
    }


def race(seed: int) -> dict[str, float]:
    raced, full = (evolve(seed, **LARGE, racing=racing)["statistics"] for racing in (True, False))
    return {
        "seed": seed,
        "raced": raced["champion"]["validation_accuracy"],
        "full": full["champion"]["validation_accuracy"],
        "raced_true": truth(raced["champion"]["prompt"]),
        "full_true": truth(full["champion"]["prompt"]),
        "calls": raced["search_calls"],
        "full_calls": full["search_calls"],
    }


def covered(seed: int) -> tuple[bool, float]:
    """Whether the interval holds the truth (of readable replies), and how far off the figure was, in binomial standard errors."""
    champion = evolve(seed, **SMALL)["statistics"]["champion"]
    low, high = champion["validation_ci95"]
    true = truth(champion["prompt"])
    error = (true * (1 - true) / champion["validation_problems"]) ** 0.5
    return low <= true <= high, (champion["validation_accuracy"] - true) / error


def claimed(seed: int) -> bool:
    """On the flat landscape no prompt is better, so a named winner is an error."""
    return evolve(seed, **SMALL, model="simulated:flat-solver")["statistics"]["better"] is not None


def trials(work: Callable[[int], Any], seeds: Sequence[int]) -> list[Any]:
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, seeds, chunksize=max(1, len(seeds) // 40)))


def climbing(first: int, count: int = 10) -> Iterator[Measurement]:
    runs = trials(climb, range(first, first + count))
    best_seed = max(truth(genome.prompt) for genome in seed_genomes())
    wins = sum(run["held_out"] > run["best_seed_held_out"] for run in runs)
    found = fmean(run["best_seed_true"] for run in runs)
    truly = sum(run["true"] > best_seed for run in runs)
    yield at_least("champion above the best seed prompt, held out", wins, f"of {count} seeds", 9)
    yield at_least("champion truly above the truly best of all seed prompts", truly, f"of {count} seeds", 9)
    yield at_most(
        "true accuracy of the seed prompt named best, below the truly best of all",
        100 * (best_seed - found),
        "points",
        3,
        f"mean of {count} seeds; the best has {100 * best_seed:.0f} %",
    )
    against = sum(run["held_out"] > run["random_held_out"] for run in runs)
    truly = sum(run["true"] > run["random_true"] for run in runs)
    yield at_least(
        "champion above random search of equal budget, held out",
        against,
        f"of {count} seeds",
        8,
    )
    yield at_least("champion truly above random search's", truly, f"of {count} seeds", 8)
    spent = min(run["random_calls"] / run["calls"] for run in runs)
    yield at_least("calls of random search ÷ calls of the evolution, least", spent, "×", 1.0)


def racing(first: int, count: int = 40) -> Iterator[Measurement]:
    """Many seeds, for one run's champion varies by some three points, and one point is in question."""
    runs = trials(race, range(first, first + count))
    lost = 100 * (fmean(run["full"] for run in runs) - fmean(run["raced"] for run in runs))
    truly = 100 * (fmean(run["full_true"] for run in runs) - fmean(run["raced_true"] for run in runs))
    yield at_most("held-out accuracy lost by racing", lost, "points", 1.0, f"mean of {count} seeds")
    yield at_most("true accuracy lost by racing", truly, "points", 1.0, f"mean of {count} seeds")
    saved = sum(run["full_calls"] for run in runs) / sum(run["calls"] for run in runs)
    yield at_least("calls without racing ÷ with it", saved, "×", 3.0)


def coverage(first: int, count: int = 1_000) -> Iterator[Measurement]:
    """Enough runs to tell 95 from 97: 0.7 points is the standard error of this figure."""
    found = trials(covered, range(first, first + count))
    share = 100 * fmean(inside for inside, _ in found)
    note = f"{count:,} small runs; errors {stdev(off for _, off in found):.2f} times as large as binomial ones"
    yield at_least("95 % interval covers the true accuracy", share, "%", 93, note)
    yield at_most("95 % interval covers the true accuracy", share, "%", 97, f"{count:,} small runs")


def flat(first: int, count: int = 400) -> Iterator[Measurement]:
    share = 100 * fmean(trials(claimed, range(first, first + count)))
    yield at_most("winners claimed where no prompt is better", share, "%", 5, f"{count:,} small runs")


SHARED = 0.8
"""of a problem's luck that two prompts have in common"""
RIVALS = ((0.99, 0.95), (0.9, 0.8), (0.6, 0.6))


def compared(first: int) -> Iterator[Measurement]:
    """Two champions on the same held-out problems, as `compare` takes their difference."""
    for problems, rivals in product((150, 60), RIVALS):
        name = f"compare, {rivals[0]:g} against {rivals[1]:g} on {problems} problems"
        yield from _promised(name, settled_one(partial(_compared, first, problems, *rivals)))


def _compared(first: int, problems: int, better: float, worse: float, tables: int, seed: int) -> Judged:
    rng = Random(first + seed)
    found = [by_problem_contrast(*_scores(rng, problems, better, worse)) for _ in range(tables)]
    held = [one is not None and _holds(one.interval or 2 * (one.difference,), better - worse) for one in found]
    return _judged(held, None if better > worse else [one.p_value if one else None for one in found])


GRADED = ((0.6, 0.6), (0.85, 0.7), (0.95, 0.95))
"""where the scores of two prompts have their middle; at most 1"""


def graded(first: int) -> Iterator[Measurement]:
    """Scores from 0 to 1 in steps of a tenth, on problems that are hard for both prompts or for neither."""
    for problems, middles in product((30, 60, 150), GRADED):
        found = settled(partial(_graded, first, problems, middles))
        for claim, one in found.items():
            where = f"graded scores around {middles[0]:g} and {middles[1]:g}, {problems} problems"
            yield from _promised(f"{where}, {claim}", one)


def _graded(first: int, problems: int, middles: tuple[float, float], tables: int, seed: int) -> dict[str, Judged]:
    rng = numpy.random.default_rng((first, seed))
    hardness = rng.normal(0, 0.25, (tables, problems, 1))
    scores = numpy.clip(numpy.round(middles + hardness + rng.normal(0, 0.15, (tables, problems, 2)), 1), 0, 1)
    truth = scores.mean(axis=(0, 1)).tolist()
    held, gained, chances = [], [], []
    for table in scores.tolist():
        replies = [[[Verdict("", True, score=score)] for score in one] for one in zip(*table, strict=True)]
        held.append(_holds(held_out(replies[0]).ci95, truth[0]))
        (gain,) = compare(replies[0], replies[1:])
        gained.append(_holds(gain["difference_ci95"], 0.0 if middles[0] == middles[1] else truth[0] - truth[1]))
        chances.append(gain["p_value"])
    null = middles[0] == middles[1]
    return {"a prompt": _judged(held), "the gain": _judged(gained, chances if null else None)}


def _judged(held: list[bool], chances: list[float | None] | None = None) -> Judged:
    found = None if chances is None else per_cent([one is not None and one <= SIGNIFICANT for one in chances])
    return Judged(coverage=per_cent(held), alarms=found, tables=len(held))


def _promised(name: str, found: Judged) -> Iterator[Measurement]:
    note = f"{found.tables:,} tables"
    yield at_least(f"{name}: 95 % interval covers", found.coverage or 0, "%", LEAST, note)
    if found.alarms is not None:
        yield at_most(f"{name}: p of 0.05 or less where nothing differs", found.alarms, "%", ALARMS, note)


def _scores(rng: Random, problems: int, *accuracies: float) -> tuple[list[float], list[float]]:
    scores: tuple[list[float], list[float]] = ([], [])
    for _ in range(problems):
        luck = rng.random()
        for right, accuracy, of_prompt in zip(scores, accuracies, (luck, _or_own(rng, luck)), strict=True):
            right.append(float(of_prompt < accuracy))
    return scores


def _or_own(rng: Random, luck: float) -> float:
    return luck if rng.random() < SHARED else rng.random()


def _holds(interval: Any, truth: float) -> bool:
    return interval is not None and interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def prove_truth() -> Iterator[Measurement]:
    for place, part in enumerate((climbing, racing, coverage, flat)):
        yield from part(FIRST_SEED + 10_000 * place)


def prove_compared() -> Iterator[Measurement]:
    yield from compared(FIRST_SEED + 40_000)
    yield from graded(FIRST_SEED + 50_000)


FIRST_PLANTED_SEED = 910_000
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


def prove_planted() -> Iterator[Measurement]:
    for strategy in STRATEGIES:
        yield from measured(strategy, FIRST_PLANTED_SEED)


POPULATION, PROBLEMS, LATENCY = 30, 50, 0.1
GENERATION_CALLS = POPULATION * PROBLEMS
PRESET_CONCURRENCY: dict[PresetName, int] = {"conservative": 15, "balanced": 50}
"""genomes at once × calls of each: what the presets of the contract allow"""


async def seconds(*, preset: PresetName = "balanced", sequential: bool = False) -> float:
    """From the first call of a generation to its last answer, start-up excluded; then the batch is stopped."""
    began = ended = 0.0
    control = RunControl()

    def listen(event: Event) -> None:
        nonlocal began, ended
        match event:
            case CallAnswered(wave=1):
                ended = time.monotonic()
                began = began or ended - LATENCY
            case CallAnswered():
                control.stop_for(StopCode.STOPPED)

    study = Evolution(
        population_size=POPULATION,
        max_problems=PROBLEMS,
        racing=False,
        preset=preset,
        rate_limit_per_minute=0,
        enable_async_evaluation=not sequential,
        service=Service(name="live"),
        providers=Providers(simulated=SimulatedSettings(latency=LATENCY)),
    )
    with tempfile.TemporaryDirectory() as folder:
        await run_batch(study, Path(folder) / "study.db", on_event=listen, control=control)
    return ended - began


def prove_speed() -> Iterable[Measurement]:
    apart = asyncio.run(seconds(sequential=True))
    for preset, concurrency in PRESET_CONCURRENCY.items():
        together = asyncio.run(seconds(preset=preset))
        yield at_least(
            f"{POPULATION} prompts × {PROBLEMS} problems, preset {preset}, {concurrency} calls at once: speed-up over one "
            f"call at a time ÷ {min(concurrency, GENERATION_CALLS)}",
            apart / together / min(concurrency, GENERATION_CALLS),
            "",
            0.9,
            f"{LATENCY} s a call: {apart:.1f} s and {together:.2f} s",
        )
