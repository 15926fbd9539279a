"""A learner outside, killed twice at random moments and started again, against an undisturbed one.

    python -m benchmarks.crashes.foreign_learner

The learner is the A2C of examples/foreign_learner.py in a process of its own; the models are the emulator of the test
suite, a real HTTP server behind the real SDK, and its books are the witness of what was bought.
"""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.emulator.remote import RemoteEmulator
from tests.support.state import query
from tidepool.engine.bench import Measurement, at_least, at_most

ROOT = Path(__file__).parent.parent.parent
LEARNER = ROOT / "examples" / "foreign_learner.py"
ENVIRONMENTS = 8
SERVICES = {
    "provider batches": '[service]\nname = "openai"\nbatch_from = 0\npoll_interval = 0.02\n',
    "live": f'[service]\nname = "live"\nmax_concurrent = {ENVIRONMENTS}\n',
}
RUNS, KILLS = 5, 2


@dataclass(frozen=True, slots=True)
class Trained:
    weights: bytes
    """weights and rewards, as the learner's own file has them"""
    needed: int
    bought: int


class Laboratory:
    def __init__(self, folder: Path, service: str, emulator: RemoteEmulator, steps: int) -> None:
        self._emulator = emulator
        self._folder = folder
        self._study = folder / "study.toml"
        self._study.write_text(
            f'[batch]\nkind = "mutation"\nname = "A learner outside"\n{SERVICES[service]}'
            '[mutation]\ntarget = "openai:gpt-4o-mini"\nmutator = "openai:gpt-4o-mini"\nheldout = 0.03\nrepeats = 1\n'
            f"num_processes = {ENVIRONMENTS}\nnum_steps = 4\nnum_env_steps = {steps}\nepisode_length = 3\n"
        )

    async def train(self, name: str, kills: int, rng: Random, calls: int = 0) -> Trained:
        """Of about so many `calls`, kills come after random ones of them. One that comes when the batch is complete makes the
        next start a batch of its own, which the cache answers: it is not counted among what is needed."""
        database = self._folder / f"{name}.db"
        before = len(await self._emulator.purchases())
        for moment in sorted(rng.randrange(1, calls) for _ in range(kills)):
            await self._started(name, database, moment, rng.random() * 0.05)
        await self._started(name, database)
        bought = len(await self._emulator.purchases()) - before
        assert {status for (status,) in query(database, "SELECT status FROM batches")} == {"completed"}
        return Trained((self._folder / f"{name}.npz").read_bytes(), _calls(database), bought)

    async def _started(self, name: str, database: Path, kill_after: int | None = None, later: float = 0.0) -> None:
        words = [str(LEARNER), str(self._study), "--db", str(database), "-o", str(self._folder / f"{name}.npz")]
        environment = {**os.environ, **self._emulator.env(), "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "any"}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *words), env=environment, stdout=asyncio.subprocess.DEVNULL
        )
        if kill_after is not None:
            while process.returncode is None and _calls(database) < kill_after:  # noqa: ASYNC110
                await asyncio.sleep(0.003)
            await asyncio.sleep(later)
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                await process.wait()
            return
        assert await process.wait() == 0


def _calls(database: Path) -> int:
    """Those that a model was asked."""
    if not database.exists() or not _has_calls(database):
        return 0
    return int(query(database, "SELECT count(*) FROM call WHERE source IS NOT 'cache'")[0][0])


def _has_calls(database: Path) -> bool:
    return bool(query(database, "SELECT 1 FROM sqlite_master WHERE name = 'call'"))


async def trials(service: str, runs: int = RUNS, steps: int = 320) -> tuple[Trained, list[Trained]]:
    """An undisturbed run, and some that were killed."""
    rng = Random(f"{service}/foreign")
    with tempfile.TemporaryDirectory() as name:
        faults = {"openai": {"latency": 0.02, "jitter": 0.5}}
        async with RemoteEmulator(faults=faults) as emulator:
            laboratory = Laboratory(Path(name), service, emulator, steps)
            whole = await laboratory.train("whole", 0, rng)
            killed = [await laboratory.train(f"killed{run}", KILLS, rng, whole.needed) for run in range(runs)]
    return whole, killed


def prove() -> Iterable[Measurement]:
    for service in SERVICES:
        whole, killed = asyncio.run(trials(service))
        same = sum(one.weights == whole.weights and one.needed == whole.needed for one in killed)
        note = f"A2C, {whole.needed:,} calls, {KILLS} kills a run"
        yield at_least(
            f"runs killed twice that end with the same weights and rewards, byte by byte, {service}",
            *(same, f"of {RUNS}", RUNS, note),
        )
        if service == "live":
            most = max(one.bought - one.needed for one in killed)
            yield at_most("calls in flight at two kills and bought again, live", most, "", KILLS * ENVIRONMENTS)
        else:
            ratio = max(one.bought / one.needed for one in killed)
            yield at_most(f"calls bought ÷ needed, {service}", ratio, "", 1)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
