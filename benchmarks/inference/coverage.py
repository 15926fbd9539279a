"""Coverage and false positives of every reported interval and test, over planted tables and over whole runs.

Tables are drawn from known rates and passed to the code that reports them; an interval must cover the planted value, or the
mean over all tables where the value follows from the planted one. Whole runs go through provider, detectors and file.
"""

import asyncio
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from scipy.special import betainc, gammaincinv, ndtr, ndtri, stdtrit  # type: ignore[import-untyped]

from benchmarks.inference.claims import (
    BATCHES,
    PANELS,
    SCALE,
    Claim,
    Panel,
    TwoBatches,
    batch_claims,
    claims,
    first_batch,
    panel_claims,
)
from benchmarks.inference.judging import ALARMS, LEAST, TABLES, Judged, per_cent, settled
from benchmarks.inference.worlds import CLUSTERED, WORLDS, Planted, World, like, unlike
from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.inference import distributions, intervals
from tidepool.engine.results.report import drift as drift_words
from tidepool.engine.run import run_batch
from tidepool.engine.studies.secret_game.analysis import GameDesign, analyse_sides
from tidepool.engine.studies.secret_game.config import Scenario
from tidepool.engine.studies.secret_game.sides import Clustering

# scipy's functions are faster than ours. The test suite finds them equal.
distributions._beta_share = lambda a, b, x, rest: float(betainc(a, b, x))
distributions._student_beyond = lambda freedom, tail: -float(stdtrit(freedom, tail))  # type: ignore[assignment]
intervals.fewest_expected = lambda events, chance: float(gammaincinv(events, chance))  # type: ignore[assignment, attr-defined]

ENOUGH = 10
"""events, non-events and clusters expected, from which an interval that is too wide is reported"""
RUNS = 2_000
REPORTS = "reports with anything significant after Holm where nothing differs"


@dataclass(frozen=True)
class Verdict(Judged):
    """Of one claim in one world."""

    world: str
    family: str
    key: str
    wide: float | None
    """coverage, with enough events, non-events and clusters"""

    @property
    def name(self) -> str:
        return f"{self.world}: {self.key}"


Key = tuple[str, str]
Subject = World | Panel | TwoBatches


def judged(subject: Subject, tables: int, seed: int) -> dict[Key, Verdict]:
    random = numpy.random.default_rng(seed)
    gathered: dict[Key, list[Claim]] = defaultdict(list)
    draw = _drawing(subject)
    for _ in range(tables):
        for claim in draw(random):
            gathered[claim.family, claim.key].append(claim)
    return {key: _verdict(subject.name, key, same, tables) for key, same in gathered.items()}


def _drawing(subject: Subject) -> Callable[[Any], Iterable[Claim]]:
    match subject:
        case Panel():
            return partial(panel_claims, subject)
        case TwoBatches():
            return batch_claims(subject)
        case World():
            return partial(_game_claims, Planted(subject))


def _game_claims(planted: Planted, random: Any) -> Iterator[Claim]:
    """Of one report."""
    world = planted.world
    names = "ABCDEFGH"[: len(world.rates)]
    models = dict(zip(names, world.models or names, strict=True))
    drawn, scenario = planted.draw(random)
    lost = len(planted.pairs) - len(drawn) // 2
    failed = {(names[0], names[1]): lost} if lost else None
    report = analyse_sides(drawn, failed, GameDesign(models, world.linked, judged=True, mode=world.mode))
    own, note = list(claims(planted, report, scenario)), report["inference"]["note"] or ""
    for claim in own:
        of_pair = claim.family.startswith(("pairs", "sides of pairs", "head to head"))
        yield replace(claim, warned=note if of_pair or "for a pair" not in note or "in all" in note else "")
    if len(set(world.rates)) == 1 and not world.by_opponent and world.mode != "targeted":
        found = any(claim.p_holm is not None and claim.p_holm < 0.05 for claim in own)
        yield Claim(REPORTS, "a report", 0.0, None, p_value=1.0 - found, null=True)


def _verdict(world: str, key: Key, same: list[Claim], tables: int) -> Verdict:
    covered: list[bool] = []
    enough: list[bool] = []
    middle = float(numpy.mean([claim.value for claim in same]))
    for claim in same:
        truth = middle if claim.truth is None else claim.truth
        if claim.interval is not None:
            hit = claim.interval[0] - 1e-9 <= truth <= claim.interval[1] + 1e-9
            covered.append(hit)
            expected = claim.count * truth / 100
            if not claim.count or min(expected, claim.count - expected, claim.clusters) >= ENOUGH:
                enough.append(hit)
    tests = [claim.p_value < 0.05 for claim in same if claim.null and claim.p_value is not None]
    coverage, wide, alarms = (per_cent(hits) if hits else None for hits in (covered, enough, tests))
    warned = all(claim.warned for claim in same)
    return Verdict(world, *key, wide, coverage=coverage, alarms=alarms, warned=warned, tables=tables)


def prove_games() -> Iterator[Measurement]:
    yield from _worst_claims(WORLDS)
    for world in STEADY:
        name = f"runs warned of drift without any: {world.name}, {world.talks} conversations"
        yield at_most(name, warned_of_drift(world), "%", 2, f"{RUNS:,} runs")
    for world in STEADY[:3]:
        name = f"runs warned of a drift of 30 percentage points: {world.name}, {world.talks} conversations"
        yield at_least(name, warned_of_drift(world, 0.3), "%", 60, f"{RUNS:,} runs")


def prove_clustered() -> Iterator[Measurement]:
    yield from _worst_claims(CLUSTERED)


def prove_simulations() -> Iterator[Measurement]:
    yield from _worst_claims([*PANELS, *BATCHES])
    for panel in (one for one in PANELS if one.reaction == 0.4 and one.entities >= 24):
        random = numpy.random.default_rng(3)
        told = [tally.over_the_run(SCALE) for tally in (first_batch(panel, random) for _ in range(RUNS))]
        name = f"runs warned of drift without any: {panel.name}"
        yield at_most(name, per_cent(list(map(_warns, told))), "%", 2, f"{RUNS:,} runs")


def _worst_claims(subjects: Sequence[Subject]) -> Iterator[Measurement]:
    """The worst claim in the worst world, not an average over a family. Where the report warns, the figure is only stated."""
    with ProcessPoolExecutor(2) as pool:
        settling = pool.map(settled, [partial(judged, subject) for subject in subjects])
        found = [one for own in settling for one in own.values()]
    for family in dict.fromkeys(one.family for one in found):
        yield from _of_family(family, [one for one in found if one.family == family])


def _of_family(family: str, found: list[Verdict]) -> Iterator[Measurement]:
    if own := [one for one in found if one.coverage is not None and not one.warned]:
        worst, note = _worst(own, [-(one.coverage or 0) for one in own], "claims")
        if wide := max((one for one in own if one.wide is not None), key=lambda one: one.wide or 0, default=None):
            note += f"; at most {wide.wide:.1f} %, {wide.name}"
        if warned := [one for one in found if one.coverage is not None and one.warned]:
            least = min(warned, key=lambda one: one.coverage or 0)
            note += f"; {least.coverage:.1f} % where the report warns of few clusters, {least.name}"
        yield at_least(f"coverage of the worst claim, {family}", worst.coverage or 0, "%", LEAST, note)
    if tested := [one for one in found if one.alarms is not None]:
        most, note = _worst(tested, [one.alarms or 0 for one in tested], "tests")
        what = family if family == REPORTS else f"false positives of the worst test, {family}"
        yield at_most(what, most.alarms or 0, "%", ALARMS, note)


def _worst(found: list[Verdict], bad: Sequence[float], what: str) -> tuple[Verdict, str]:
    """And a note: of how many, and how many of them other tables judged."""
    worst = found[bad.index(max(bad))]
    again = sum(one.tables > TABLES for one in found)
    return worst, f"{worst.name}, {worst.tables:,} tables; {len(found)} {what}, {again} of them measured again"


# -- drift -----------------------------------------------------------------------------------------------------

STEADY = (
    World("4 equal agents", like(4), 200),
    World("4 different agents", unlike(4), 200),
    World("4 agents that reveal in half", like(4, 0.5), 200),
    World("4 agents that reveal in 5 %", like(4, 0.05), 200),
    World("24 scenarios, ordered, 3 agents", like(3), 432, 0.2, 0.0, 0.3, scenarios=24, pairing="ordered"),
    World("12 scenarios, ordered, 4 agents", like(4), 288, 0.2, 0.0, 0.3, scenarios=12, pairing="ordered"),
    World("12 scenarios, a fifth easy, 3 agents", like(3, 0.15), 288, 0.2, scenarios=12, leaky=2.0),
    World("40 linked games of 6, a fifth leaky", like(4, 0.1), 240, 0.2, games=40, linked=True, leaky=2.0),
)


def warned_of_drift(world: World, drift: float = 0.0, runs: int = RUNS, seed: int = 3) -> float:
    """The rate of every agent grows by so much over the run."""
    planted, random = Planted(world), numpy.random.default_rng(seed)
    ramp = numpy.linspace(-drift / 2, drift / 2, len(planted.pairs))[:, None]
    planted.lines = ndtri(numpy.clip(ndtr(planted.lines) + ramp, 0.001, 0.999))
    drawn = (Clustering(planted.draw(random)[0], linked=world.linked) for _ in range(runs))
    return per_cent([_warns(one.over_the_run()) for one in drawn])


def _warns(run: Mapping[str, Any] | None) -> bool:
    return any(words.level == "warning" for words in drift_words({"over_the_run": run}, ""))


# -- whole runs ------------------------------------------------------------------------------------------------

RUN_BATCHES = 100
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
    "standard, 90 conversations": {"num_interactions": 90},
    "long memory, 12 games of 6 conversations": {"games": 12, "rounds": 6},
    "retained, 12 games of 6 conversations": {"mode": "retained", "games": 12, "rounds": 6},
    "10 scenarios, every ordered pair": {"pairing": "ordered", "rounds": 10, "scenarios": SCENARIOS},
}


def prove_runs() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(Path(name) / "seller")
        for design, settings in DESIGNS.items():
            shares = asyncio.run(_reported(Path(name), design, settings))
            coverage = _coverage(shares)
            told = f"{design}: {RUN_BATCHES} batches end to end, {len(shares)} shares each"
            yield at_least(f"coverage, {told}", coverage, "%", LEAST)
            yield at_most(f"coverage, {told}, not too wide", coverage, "%", MOST_OF_RUNS)


async def _reported(folder: Path, design: str, settings: Mapping[str, Any]) -> dict[str, list[tuple[float, Any]]]:
    """Every share of the whole and of the agents: its value and interval in each batch."""
    memory = "long" if "memory" in design else "short"
    shares: dict[str, list[tuple[float, Any]]] = defaultdict(list)
    for seed in range(RUN_BATCHES):
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
