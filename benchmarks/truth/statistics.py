"""Do the statistics hold? Every reported interval and test, over thousands of planted tables.

No model is asked: outcomes are drawn from known rates and handed to the very code that reports them. What an interval
must cover is what was planted, or, for what follows from it, the mean over all tables. `python -m
benchmarks.truth.statistics 300 scenarios` tells of the worlds whose name has that word, with so many tables each.
"""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy

from benchmarks.truth.claims import Claim, claims
from benchmarks.truth.panels import PANELS, Panel, panel_claims
from benchmarks.truth.worlds import MESSAGES, WORLDS, Planted, World
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.studies.secret_game.findings.analysis import Played, analysed_sides

TABLES = 2_000
LEAST, MOST, ALARMS = 93.0, 97.0, 6.0
ENOUGH = 10
"""events, non-events and clusters expected, from which an interval must not be too wide either"""


@dataclass(frozen=True)
class Verdict:
    world: str
    family: str
    coverage: float
    claims: int
    wide: float | None
    """coverage of those with enough events, non-events and clusters"""
    alarms: float | None


def judged(world: World, tables: int = TABLES, seed: int = 1) -> list[Verdict]:
    planted = Planted(world)
    random = numpy.random.default_rng(seed)
    names = "ABCDEFGH"[: len(world.rates)]
    models = dict(zip(names, world.models or names, strict=True))
    played = Played(models, world.linked, judged=True, messages=MESSAGES)
    gathered: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for _ in range(tables):
        drawn, scenario = planted.draw(random)
        lost = len(planted.pairs) - len(drawn) // 2
        failed = {(names[0], names[1]): lost} if lost else None
        for claim in claims(planted, analysed_sides(drawn, failed, played), scenario):
            gathered[claim.family, claim.key].append(claim)
    return _verdicts(world.name, gathered)


def _verdicts(name: str, gathered: dict[tuple[str, str], list[Claim]]) -> "list[Verdict]":
    families: dict[str, list[list[Claim]]] = defaultdict(list)
    for (family, _), same in gathered.items():
        families[family].append(same)
    return [_verdict(name, family, members) for family, members in families.items()]


def _verdict(world: str, family: str, members: list[list[Claim]]) -> Verdict:
    covered: list[bool] = []
    enough: list[bool] = []
    tests: list[bool] = []
    for same in members:
        middle = float(numpy.mean([claim.value for claim in same]))
        for claim in same:
            truth = middle if claim.truth is None else claim.truth
            if claim.interval is not None:
                hit = claim.interval[0] - 1e-9 <= truth <= claim.interval[1] + 1e-9
                covered.append(hit)
                expected = claim.count * truth / 100
                if min(expected, claim.count - expected, claim.clusters) >= ENOUGH:
                    enough.append(hit)
            if claim.null and claim.p_value is not None:
                tests.append(claim.p_value < 0.05)
    return Verdict(
        world,
        family,
        100 * float(numpy.mean(covered)) if covered else 100.0,
        len(covered),
        100 * float(numpy.mean(enough)) if enough else None,
        100 * float(numpy.mean(tests)) if tests else None,
    )


def panel_judged(panel: Panel, tables: int = TABLES, seed: int = 2) -> list[Verdict]:
    random = numpy.random.default_rng(seed)
    gathered: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for _ in range(tables):
        for claim in panel_claims(panel, random):
            gathered[claim.family, claim.key].append(claim)
    return _verdicts(panel.name, gathered)


def verdicts(tables: int = TABLES) -> list[Verdict]:
    with ProcessPoolExecutor(2) as pool:
        found = [pool.submit(judged, world, tables) for world in WORLDS]
        found += [pool.submit(panel_judged, panel, tables) for panel in PANELS]
        return [one for verdict in found for one in verdict.result()]


def prove() -> Iterator[Measurement]:
    found = verdicts()
    families = list(dict.fromkeys(one.family for one in found))
    for family in families:
        own = [one for one in found if one.family == family]
        worst = min(own, key=lambda one: one.coverage)
        tables = f"over {len(own)} worlds of {TABLES:,} tables"
        yield at_least(f"coverage, {family}: worst {tables} ({worst.world})", worst.coverage, "%", LEAST)
        if wide := [one for one in own if one.wide is not None]:
            widest = max(wide, key=lambda one: one.wide or 0)
            yield at_most(
                f"coverage, {family}, where all is ten or more: most {tables} ({widest.world})",
                widest.wide or 0,
                "%",
                MOST,
            )
        if tested := [one for one in own if one.alarms is not None]:
            most = max(tested, key=lambda one: one.alarms or 0)
            yield at_most(f"false positives, {family}: most {tables} ({most.world})", most.alarms or 0, "%", ALARMS)


def told(one: Verdict) -> str:
    bad = one.coverage < LEAST or (one.wide or 0) > MOST or (one.alarms or 0) > ALARMS
    figures = [one.coverage, one.wide, one.alarms]
    cells = " ".join("     -" if figure is None else f"{figure:6.1f}" for figure in figures)
    return f"{'!!' if bad else '  '} {one.world:48} {one.family:48} {cells} {one.claims:,}"


if __name__ == "__main__":
    import sys

    tables, words = int(sys.argv[1]), sys.argv[2:]
    with ProcessPoolExecutor(2) as pool:
        tasks: list[Any] = [
            pool.submit(judge, one, tables)  # type: ignore[arg-type]
            for judge, worlds in ((judged, WORLDS), (panel_judged, PANELS))
            for one in worlds
            if not words or any(word in one.name for word in words)
        ]
        for task in tasks:
            print(*map(told, task.result()), sep="\n", flush=True)
