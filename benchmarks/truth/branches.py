"""Branches: does the interval of one sentence's effect hold, and is only bought what follows?

Coverage: conversations differ in how readily a side reveals (a normal spread on the logit scale) and in what the sentence
does to them; the truth is the mean effect over all such conversations, or of one conversation its own. Purchases: a
hundred conversations of a real run, counted by the simulated provider's own books.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy
from scipy.special import expit  # type: ignore[import-untyped]

from tests.support.studies import game
from tidepool import resume_batch, run_batch
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.branching.making import BranchWish, new_branch
from tidepool.engine.branching.origin import Arm, Origin
from tidepool.engine.branching.statistics import outcome
from tidepool.engine.branching.talks import Measure
from tidepool.engine.providers.simulated.purchase_log import PurchaseLog
from tidepool.engine.run import enlist_branch, run_frozen

SHARE = Measure("revealed", "reveals", (0.0, 1.0), percent=True)
BASES, EFFECTS, SPREAD = (-3.0, 0.0), (0.0, 0.8), 1.2
DESIGNS = ((12, 5), (40, 5), (100, 20), (400, 5), (1, 20))
TABLES = 2_000
MANY = 200_000


def true_effect(base: float, effect: float) -> float:
    draw = numpy.random.default_rng(1)
    open_to_it = base + SPREAD * draw.normal(size=MANY)
    moved = effect * (1 + draw.normal(size=MANY))
    return float(100 * (expit(open_to_it + moved) - expit(open_to_it)).mean())


def covered(base: float, effect: float, talks: int, times: int, tables: int) -> tuple[float, float]:
    """The share of intervals that hold the truth, and of tests that find something."""
    draw = numpy.random.default_rng((talks, times, round(10 * effect), round(10 - base)))
    truth = true_effect(base, effect)
    origin = Origin("0" * 12, tuple(range(talks)), "t2", "…", times)
    hit = found = 0
    for _ in range(tables):
        open_to_it = base + SPREAD * draw.normal(size=talks)
        moved = effect * (1 + draw.normal(size=talks))
        if talks == 1:
            truth = float(100 * (expit(open_to_it + moved) - expit(open_to_it))[0])
        rates: dict[Arm, numpy.ndarray] = {"control": expit(open_to_it), "altered": expit(open_to_it + moved)}
        drawn = {arm: draw.random((talks, times)) < rate[:, None] for arm, rate in rates.items()}
        values = {n: {arm: seen[n].astype(float).tolist() for arm, seen in drawn.items()} for n in range(talks)}
        told = outcome(SHARE, values, origin, {})
        bounds = told["difference_ci95"]
        hit += bounds is not None and bounds[0] - 1e-9 <= truth <= bounds[1] + 1e-9
        found += told["p_value"] is not None and told["p_value"] < 0.05
    return hit / tables, found / tables


def coverage(talks: int, times: int, tables: int) -> Iterator[Measurement]:
    words = f"{talks} conversations × {times} redraws" if talks > 1 else f"one conversation × {times} redraws"
    cells = {(base, effect): covered(base, effect, talks, times, tables) for base in BASES for effect in EFFECTS}
    yield at_least(f"{words}: coverage, least of {len(cells)}", min(hit for hit, _ in cells.values()), "", 0.94)
    false = max(found for (_, effect), (_, found) in cells.items() if not effect)
    yield at_most(f"{words}: found where there is nothing", false, "", 0.06)


async def purchases(folder: Path) -> list[Measurement]:
    path = folder / "study.db"
    origin = await run_batch(game(100, 5, service={"name": "live"}), path)
    new = new_branch(path, BranchWish(origin.batch_id, "t4", say=SAY, times=5))
    branch = await run_frozen(new.config, path, branch=new)
    sold, needed = len(PurchaseLog(branch.batch_id).live_sales()), 100 * 5 * (2 + 1)
    slow = new_branch(path, BranchWish(origin.batch_id, "t2", say=SAY, times=5, overrides=SLOW))
    return [
        at_most(f"calls sold for what follows t4 in 1,000 redraws, {needed:,} needed", sold, "calls", needed),
        await killed(path, enlist_branch(slow, path), 100 * 5 * (4 + 3)),
    ]


SAY = "Never mind."
SLOW = ("providers.simulated.latency=0.2", "service.max_concurrent=50")


async def killed(path: Path, batch_id: str, needed: int) -> Measurement:
    """Killed (-9) twice on its way, then resumed."""
    for _ in range(2):
        words = ["-m", "tidepool", "--db", str(path), "--resume", batch_id]
        process = await asyncio.create_subprocess_exec(sys.executable, *words, stderr=subprocess.DEVNULL)
        await asyncio.sleep(KILLED_AFTER)
        process.kill()
        await process.wait()
    last = await resume_batch(batch_id, path, overrides=["providers.simulated.latency=0"])
    sold = PurchaseLog(batch_id).live_sales()
    if last.status != "completed" or len(set(sold)) != needed:
        raise RuntimeError(f"{last.status}: {len(set(sold)):,} calls sold")
    name = f"a branch killed twice and resumed: calls sold beyond the {needed:,} needed"
    return at_most(name, len(sold) - needed, "calls", IN_FLIGHT, note=f"{last.calls.replayed:,} answers replayed")


KILLED_AFTER, IN_FLIGHT = 6, 100
"""seconds; calls in flight at both kills together"""


def prove(tables: int = TABLES) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory(prefix="tidepool-branches-") as folder:
        os.environ |= {"TIDEPOOL_SELLER": f"{folder}/seller", "TIDEPOOL_STATE": f"{folder}/state"}
        yield from asyncio.run(purchases(Path(folder)))
    for talks, times in DESIGNS:
        yield from coverage(talks, times, tables)


if __name__ == "__main__":
    for figure in prove(int(sys.argv[1]) if len(sys.argv) > 1 else TABLES):
        print(f"{figure.name}: {figure.value:,.3f} {figure.note}", flush=True)
