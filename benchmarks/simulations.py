"""2,000 dyadic simulations of 2 turns and 2 rounds, killed three times on their way: none lost, nothing bought twice.

Also: a study of 1,000 entities in threes, of which there are 166 million combinations, starts at once.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from tidepool.engine.bench import Measurement, at_most
from tidepool.engine.library.entity_types import generate
from tidepool.engine.library.type_files import built_in_types
from tidepool.engine.studies.simulation.meetings.combinations import combinations

SIMULATIONS = 2_000
CALLS = SIMULATIONS * 2 * 2 * 2
AT_ONCE = 50
KILLED_AT = (0.1, 0.45, 0.8)

STUDY = """
[batch]
kind = "simulation"
name = "Two thousand talks"
[service]
name = "{service}"
max_concurrent = {at_once}
batch_size = 1000
[providers.simulated]
latency = 0.01
[simulation]
context = "Neighbours talk about a proposal: no cars in the town on Sundays."
num_simulations = {simulations}
n_turns = 2
simulation_rounds = 2
thoughts = true
entity_file = "people.json"
"""


def prove() -> Iterator[Measurement]:
    yield from _starts_at_once()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(Path(folder) / "seller")
        people = [entity.as_record() for entity in generate(built_in_types()["human"], 100, 1)]
        (Path(folder) / "people.json").write_text(json.dumps(people))
        whole = _Study(Path(folder), "live", "whole")
        whole.run()
        for service in ("live", "auto"):
            yield from _killed(_Study(Path(folder), service, f"killed-{service}"), whole)


def _starts_at_once() -> Iterator[Measurement]:
    tracemalloc.start()
    began = time.perf_counter()
    first = list(islice(combinations(1_000, 3, 100_000, 42), 10))
    seconds = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert len({combination.members for combination in first}) == 10
    yield at_most("1,000 entities in threes: seconds to the first ten of 100,000 simulations", seconds, "s", 0.1)
    yield at_most("1,000 entities in threes: memory to the first ten of 100,000 simulations", peak, "MiB", 4)


def _killed(study: "_Study", whole: "_Study") -> Iterator[Measurement]:
    for share in KILLED_AT:
        study.run_until_killed(int(share * CALLS))
    summary = study.run()
    same = study.messages() == whole.messages()
    lost = SIMULATIONS - summary["units"]["completed"]
    again = study.bought_again(summary["batch_id"])
    name = f"2,000 dyadic simulations × 2 turns × 2 rounds, killed three times, service {study.service}"
    yield at_most(f"{name}: simulations lost", lost, "", 0)
    yield at_most(f"{name}: messages that differ from a run that was never killed", 0 if same else 1, "", 0)
    if study.service == "live":
        note = f"{AT_ONCE} in flight, and those on their way into the file"
        yield at_most(f"{name}: calls bought again per kill", again / len(KILLED_AT), "", 2 * AT_ONCE, note)
    else:
        yield at_most(f"{name}: calls bought ÷ needed", (CALLS + again) / CALLS, "", 1.0)


class _Study:
    """One study, run by the real command in processes of their own."""

    def __init__(self, folder: Path, service: str, name: str) -> None:
        self.service = service
        self._folder = folder
        self._database = folder / f"{name}.db"
        self._config = folder / f"{name}.toml"
        self._config.write_text(STUDY.format(service=service, at_once=AT_ONCE, simulations=SIMULATIONS))

    def _command(self) -> list[str]:
        what = ["--resume", "last"] if self._database.exists() else ["--run", str(self._config)]
        return [sys.executable, "-m", "tidepool", "--db", str(self._database), *what, "--json"]

    def run(self) -> dict[str, Any]:
        done = subprocess.run(self._command(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        summary: dict[str, Any] = json.loads(done.stdout)
        return summary

    def run_until_killed(self, calls: int) -> None:
        with subprocess.Popen(self._command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while self._answered() < calls and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)

    def _answered(self) -> int:
        try:
            return int(self._rows("SELECT coalesce(sum(calls), 0) FROM progress")[0][0])
        except sqlite3.Error:
            return 0

    def messages(self) -> list[tuple[Any, ...]]:
        return self._rows(
            "SELECT u.sequence_number, m.wave, m.turn, m.speaker, m.content, m.thought FROM messages m "
            "JOIN conversations u ON u.id = m.conversation_id ORDER BY 1, 2"
        )

    def bought_again(self, batch_id: str) -> int:
        from tidepool.engine.providers.simulated.purchase_log import PurchaseLog

        seller = PurchaseLog(batch_id)
        orders = [row[0] for row in self._rows("SELECT id FROM provider_batch")]
        sold = Counter([int(line, 16) for line in seller.live_sales()] + seller.ordered_seeds(orders))
        return sold.total() - len(sold)

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        if not self._database.exists():
            return [(0,)]
        with closing(sqlite3.connect(self._database, timeout=30)) as connection:
            return connection.execute(sql).fetchall()


if __name__ == "__main__":
    for figure in prove():
        print(figure)
