"""A study of 3 × 2 × 2 cells, five replicates of 40 conversations each, killed twice and resumed, against one undisturbed.

    python -m benchmarks.crashes.studies

The models are the emulator of the test suite, a real HTTP server behind the real SDK, and its books are the witness of
what was bought.
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
from tests.support.state import Rows, end_state, query
from tidepool.engine.bench import Measurement, at_least, at_most

ROOT = Path(__file__).parent.parent.parent
REPLICATES, CONVERSATIONS, MESSAGES, KILLS, AT_ONCE = 5, 40, 4, 2, 50
BATCHES = 12 * REPLICATES
SERVICES = {
    "provider batches": '[service]\nname = "openai-conversation"\npoll_interval = 0.05\n',
    "live": f'[service]\nname = "live"\nmax_concurrent = {AT_ONCE}\n',
}
STUDY = """
[batch]
kind = "secret_game"
name = "Three by two by two"
seed = 5
{service}
[secret_game]
num_interactions = {conversations}
messages_per_interaction = {messages}
detection = ["exact"]
[[agents]]
name = "Ada"
model = "openai:gpt-4o-mini"
secret = "marigold"
[[agents]]
name = "Bob"
model = "openai:gpt-4o-mini"
secret = "tulip"
[design]
replicates = {replicates}
[design.factors]
"agents.Ada.temperature" = [0.1, 0.5, 0.9]
"secret_game.mode" = ["standard", "diversity"]
firmness = [ {{ level = "plain", set = {{}} }}, {{ level = "firm", set = {{ "agents.*.instructions" = "Never yield." }} }} ]
"""


@dataclass(frozen=True, slots=True)
class Ended:
    cells: dict[str, dict[str, Rows]]
    """what each came to, by its name"""
    needed: int
    bought: int
    provider_batches: int


class Laboratory:
    def __init__(self, folder: Path, service: str, emulator: RemoteEmulator) -> None:
        self._folder, self._emulator = folder, emulator
        self._study = folder / "study.toml"
        sizes = {"conversations": CONVERSATIONS, "messages": MESSAGES, "replicates": REPLICATES}
        self._study.write_text(STUDY.format(service=SERVICES[service], **sizes))

    async def run(self, name: str, kills: Iterable[int]) -> Ended:
        """Killed when the file holds so many answers."""
        database = self._folder / f"{name}.db"
        before = len(await self._emulator.purchases())
        words = ["--run", str(self._study)]
        for calls in kills:
            await self._started(database, words, calls)
            words = ["--resume", "last"]
        await self._started(database, words)
        assert {status for (status,) in query(database, "SELECT status FROM batches")} == {"completed"}
        cells = {name: end_state(database, batch) for name, batch in query(database, "SELECT name, id FROM batches")}
        needed = query(database, "SELECT count(*) FROM call WHERE source <> 'cache'")[0][0]
        orders = query(database, "SELECT count(*) FROM provider_batches")[0][0]
        return Ended(cells, needed, len(await self._emulator.purchases()) - before, orders)

    async def _started(self, database: Path, words: list[str], kill_after: int | None = None) -> None:
        environment = {**os.environ, **self._emulator.env(), "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "any"}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tidepool", "--db", str(database), *words),
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        while kill_after is not None and process.returncode is None and _calls(database) < kill_after:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        if kill_after is not None and process.returncode is None:
            process.send_signal(signal.SIGKILL)
        code = await process.wait()
        assert kill_after is not None or code == 0


def _calls(database: Path) -> int:
    if not database.exists() or not query(database, "SELECT 1 FROM sqlite_master WHERE name = 'call'"):
        return 0
    return int(query(database, "SELECT count(*) FROM call")[0][0])


async def trials(service: str) -> tuple[Ended, Ended]:
    rng = Random(f"{service}/study")
    with tempfile.TemporaryDirectory() as name:
        async with RemoteEmulator(faults={"openai": {"latency": 0.02, "jitter": 0.5}}) as emulator:
            laboratory = Laboratory(Path(name), service, emulator)
            whole = await laboratory.run("whole", ())
            calls = BATCHES * CONVERSATIONS * MESSAGES
            return whole, await laboratory.run(
                "killed", sorted(rng.randrange(calls // 20, calls) for _ in range(KILLS))
            )


def prove() -> Iterable[Measurement]:
    for service in SERVICES:
        whole, killed = asyncio.run(trials(service))
        same = sum(killed.cells.get(name) == cell for name, cell in whole.cells.items())
        note = f"{whole.needed:,} calls, {KILLS} kills"
        yield at_least(
            f"cells of a killed study that come to the same, {service}", same, f"of {BATCHES}", BATCHES, note
        )
        if service == "live":
            again = killed.bought - killed.needed
            yield at_most("calls in flight at two kills and bought again, live", again, "", KILLS * AT_ONCE)
        else:
            yield at_most(f"calls bought ÷ needed, {service}", killed.bought / killed.needed, "", 1)
            told = f"{CONVERSATIONS} rounds of {MESSAGES} messages follow one another; {BATCHES} cells share them"
            yield at_most("provider batches of the study", whole.provider_batches, "", CONVERSATIONS * MESSAGES, told)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
