"""Coverage and false positives of every reported interval and test, over planted tables and over whole runs.

Tables are drawn from known rates and passed to the code that reports them; an interval must cover the planted value, or the
mean over all tables where the value follows from the planted one. Whole runs go through provider, detectors and file.
"""

import asyncio
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy

from benchmarks.inference.claims import PANELS, Claim, Panel, claims, panel_claims
from benchmarks.inference.worlds import WORLDS, Planted, World
from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.run import run_batch
from tidepool.engine.studies.secret_game.analysis import GameDesign, analyse_sides
from tidepool.engine.studies.secret_game.config import Scenario

TABLES = 2_000
LEAST, ALARMS = 93.0, 6.0
LEAST_OF_ONE, ALARMS_OF_ONE = 91.9, 7.1
"""93 and 6 %, less and more two standard errors of 2,000 tables: the worst of hundreds of claims is the worst by chance too"""
ENOUGH = 10
"""events, non-events and clusters expected, from which an interval that is too wide is reported"""


@dataclass(frozen=True)
class Verdict:
    """Of one claim in one world."""

    world: str
    family: str
    key: str
    coverage: float
    wide: float | None
    """coverage, with enough events, non-events and clusters"""
    alarms: float | None
    warned: bool
    """the report warns that it rests on few clusters"""

    @property
    def name(self) -> str:
        return f"{self.world}: {self.key}"


@dataclass(frozen=True)
class Reports:
    """Of a world in which agents or entities do not differ: in how many reports anything is significant after Holm."""

    world: str
    found: float


Judged = tuple[list[Verdict], Reports | None]


def judged(world: World, tables: int = TABLES, seed: int = 1) -> Judged:
    planted = Planted(world)
    random = numpy.random.default_rng(seed)
    names = "ABCDEFGH"[: len(world.rates)]
    models = dict(zip(names, world.models or names, strict=True))
    played = GameDesign(models, world.linked, judged=True, mode=world.mode)
    gathered: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    found = 0
    for _ in range(tables):
        drawn, scenario = planted.draw(random)
        lost = len(planted.pairs) - len(drawn) // 2
        failed = {(names[0], names[1]): lost} if lost else None
        report = analyse_sides(drawn, failed, played)
        own = list(claims(planted, report, scenario))
        found += _significant(own)
        note = report["inference"]["note"] or ""
        for claim in own:
            of_pair = claim.family.startswith(("pairs", "sides of pairs", "head to head"))
            warned = note if of_pair or "for a pair" not in note else ""
            gathered[claim.family, claim.key].append(replace(claim, warned=warned))
    alike = len(set(world.rates)) == 1 and not world.by_opponent and world.mode != "targeted"
    return _verdicts(world.name, gathered), Reports(world.name, 100 * found / tables) if alike else None


def _significant(claims: list[Claim]) -> bool:
    return any(claim.p_holm is not None and claim.p_holm < 0.05 for claim in claims)


def _verdicts(name: str, gathered: dict[tuple[str, str], list[Claim]]) -> "list[Verdict]":
    return [_verdict(name, family, key, same) for (family, key), same in gathered.items()]


def _verdict(world: str, family: str, key: str, same: list[Claim]) -> Verdict:
    covered: list[bool] = []
    enough: list[bool] = []
    middle = float(numpy.mean([claim.value for claim in same]))
    for claim in same:
        truth = middle if claim.truth is None else claim.truth
        if claim.interval is not None:
            hit = claim.interval[0] - 1e-9 <= truth <= claim.interval[1] + 1e-9
            covered.append(hit)
            expected = claim.count * truth / 100
            if min(expected, claim.count - expected, claim.clusters) >= ENOUGH:
                enough.append(hit)
    tests = [claim.p_value < 0.05 for claim in same if claim.null and claim.p_value is not None]
    return Verdict(
        world,
        family,
        key,
        100 * float(numpy.mean(covered)) if covered else 100.0,
        100 * float(numpy.mean(enough)) if enough else None,
        100 * float(numpy.mean(tests)) if tests else None,
        all(claim.warned for claim in same),
    )


def panel_judged(panel: Panel, tables: int = TABLES, seed: int = 2) -> Judged:
    random = numpy.random.default_rng(seed)
    gathered: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for _ in range(tables):
        for claim in panel_claims(panel, random):
            gathered[claim.family, claim.key].append(claim)
    return _verdicts(panel.name, gathered), None


def verdicts(tables: int = TABLES) -> tuple[list[Verdict], list[Reports]]:
    with ProcessPoolExecutor(2) as pool:
        tasks = [pool.submit(judged, world, tables) for world in WORLDS]
        tasks += [pool.submit(panel_judged, panel, tables) for panel in PANELS]
        found = [task.result() for task in tasks]
    return [one for own, _ in found for one in own], [reports for _, reports in found if reports]


def prove_tables() -> Iterator[Measurement]:
    """The worst claim in the worst world, not an average over a family. Where the report warns, the figure is only stated."""
    found, reports = verdicts()
    for family in dict.fromkeys(one.family for one in found):
        own = [one for one in found if one.family == family and not one.warned]
        worst = min(own, key=lambda one: one.coverage)
        wide = max((one for one in own if one.wide is not None), key=lambda one: one.wide or 0, default=None)
        note = f"{worst.name}; {len(own)} claims of {TABLES:,} tables"
        note += f"; at most {wide.wide:.1f} %, {wide.name}" if wide else ""
        if warned := [one for one in found if one.family == family and one.warned]:
            least = min(warned, key=lambda one: one.coverage)
            note += f"; {least.coverage:.1f} % where the report warns of few clusters, {least.name}"
        yield at_least(f"coverage of the worst claim, {family}", worst.coverage, "%", LEAST_OF_ONE, note)
        if tested := [one for one in found if one.family == family and one.alarms is not None]:
            most = max(tested, key=lambda one: one.alarms or 0)
            name = f"false positives of the worst test, {family}"
            yield at_most(name, most.alarms or 0, "%", ALARMS_OF_ONE, f"{most.name}; {len(tested)} tests")
    most_found = max(reports, key=lambda one: one.found)
    name = "reports with anything significant after Holm where nothing differs"
    yield at_most(name, most_found.found, "%", ALARMS, f"most of {len(reports)} worlds: {most_found.world}")


BATCHES = 100
MOST_OF_RUNS = 98.0
"""of a hundred batches each share has its own chance: one design's figure may be two points off"""
PLAYERS = {"Ada": ("guarded", "marigold"), "Bob": ("trusting", "lantern"), "Cleo": ("bargainer", "harbour")}
SCENARIOS = [
    Scenario(opener_secret=opener, partner_secret=partner)
    for opener, partner in (
        ("zeppelin", "quarry"), ("bassoon", "thimble"), ("pergola", "kestrel"), ("gherkin", "sextant"), ("turnstile", "mulberry"),
        ("pumice", "falcon"), ("trellis", "accordion"), ("chisel", "walrus"), ("obelisk", "tarragon"), ("parsnip", "gondola"),
    )
]  # fmt: skip
DESIGNS: Mapping[str, Mapping[str, Any]] = {
    "standard, 90 talks": {"num_interactions": 90},
    "long memory, 12 games of 6 talks": {"games": 12, "rounds": 6},
    "retained, 12 games of 6 talks": {"mode": "retained", "games": 12, "rounds": 6},
    "10 scenarios, every ordered pair": {"pairing": "ordered", "rounds": 10, "scenarios": SCENARIOS},
}


def prove_runs() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(Path(name) / "seller")
        for design, settings in DESIGNS.items():
            shares = asyncio.run(_reported(Path(name), design, settings))
            coverage = _coverage(shares)
            told = f"{design}: {BATCHES} batches end to end, {len(shares)} shares each"
            yield at_least(f"coverage, {told}", coverage, "%", LEAST)
            yield at_most(f"coverage, {told}, not too wide", coverage, "%", MOST_OF_RUNS)


async def _reported(folder: Path, design: str, settings: Mapping[str, Any]) -> dict[str, list[tuple[float, Any]]]:
    """Every share of the whole and of the agents: its value and interval in each batch."""
    memory = "long" if "memory" in design else "short"
    shares: dict[str, list[tuple[float, Any]]] = defaultdict(list)
    for seed in range(BATCHES):
        study = SecretGame(
            agents=[
                Agent(name=name, model=f"simulated:{persona}", secret=secret, memory=memory)  # type: ignore[arg-type]
                for name, (persona, secret) in PLAYERS.items()
            ],
            messages_per_interaction=4,
            seed=1_000 + seed,
            service=Service(name="live", cache=False),
            **settings,
        )
        summary = await run_batch(study, folder / f"{seed}.db")
        for place, part in {"all": summary["statistics"]["overall"], **summary["statistics"]["agents"]}.items():
            for key in (key for key in part if key.endswith("_percentage")):
                shares[f"{place} {key}"].append((part[key], part[key.replace("_percentage", "_ci95")]))
        (folder / f"{seed}.db").unlink()
    return shares


def _coverage(shares: Mapping[str, list[tuple[float, Any]]]) -> float:
    held = []
    for found in shares.values():
        truth = float(numpy.mean([value for value, _ in found]))
        held += [interval[0] - 1e-9 <= truth <= interval[1] + 1e-9 for _, interval in found]
    return 100 * float(numpy.mean(held))
