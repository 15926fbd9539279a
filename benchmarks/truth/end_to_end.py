"""Do the intervals hold through the whole program? A hundred batches of each design, run, stored and reported.

The simulated provider speaks, detectors judge, the file keeps, statistics report. What is true of a design is taken as
the mean over its hundred batches, which differ in their seed alone.
"""

import asyncio
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy

from tidepool import SecretGame
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.run import run_batch
from tidepool.engine.studies.secret_game.config import Scenario

BATCHES = 100
LEAST, MOST = 93.0, 98.0
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


def prove() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(Path(name) / "seller")
        for design, settings in DESIGNS.items():
            shares = asyncio.run(_reported(Path(name), design, settings))
            coverage = _coverage(shares)
            told = f"{design}: {BATCHES} batches end to end, {len(shares)} shares each"
            yield at_least(f"coverage, {told}", coverage, "%", LEAST)
            yield at_most(f"coverage, {told}, not too wide", coverage, "%", MOST)


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
