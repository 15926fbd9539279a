"""Kills a study in the middle, resumes it, and asks the seller's own record what was bought twice."""

import asyncio
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.support.command import Tidepool
from tests.support.state import committed_seeds, end_state, query, sold_by_batch, sold_live
from tests.support.studies import written
from tidepool.engine.call import seed_of
from tidepool.engine.config.loading import load_config
from tidepool.engine.run import resume_batch, run_batch

CONVERSATIONS, MESSAGES = 30, 4
CALLS = CONVERSATIONS * MESSAGES
AT_ONCE = 10

STUDIES = {
    "live": f'[service]\nname = "live"\nmax_concurrent = {AT_ONCE}\n[providers.simulated]\nlatency = 0.01\njitter = 0.7',
    "auto": '[service]\nname = "auto"\nbatch_from = 0\npoll_interval = 0.02\n[providers.simulated]\nbatch_seconds = 0.08',
}


@dataclass(frozen=True, slots=True)
class Killed:
    calls_before: int
    """committed when it was killed"""
    same_end: bool
    """the resumed study came to what the undisturbed one came to"""
    live_again: int
    """calls sold live more than once"""
    ordered_again: int
    """calls sold in a provider batch more than once"""
    needless: int
    """calls sold again though the ledger held their answer already"""
    most_of_one_talk: int
    """calls of one conversation that were sold again: it waits for one at a time, so only that can have been in flight"""


def undisturbed(folder: Path, service: str) -> dict[str, list[tuple[object, ...]]]:
    """What the study comes to when nobody kills it."""
    database = folder / f"undisturbed-{service}.db"
    asyncio.run(run_batch(load_config(_study(folder, service)), database))
    return end_state(database)


def kill_and_resume(folder: Path, service: str, expected: object, rng: Random) -> Killed:
    database = folder / f"killed-{service}-{rng.getrandbits(32):x}.db"
    command = Tidepool(folder, database)
    with command.start("--run", str(_study(folder, service))) as process:
        try:
            wait_for_calls(database, rng.randrange(CALLS), process)
            time.sleep(rng.random() * 0.03)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
    batch = query(database, "SELECT id FROM batches")[0][0]
    committed = committed_seeds(database, batch)
    if query(database, "SELECT status FROM batch") != [("completed",)]:
        asyncio.run(resume_batch(batch, database))
    live, ordered = sold_live(batch), sold_by_batch(database, batch)
    again = {seed for sold in (live, ordered) for seed, times in sold.items() if times > 1}
    return Killed(
        calls_before=len(committed),
        same_end=end_state(database, batch) == expected,
        live_again=sum(times > 1 for times in live.values()),
        ordered_again=sum(times > 1 for times in ordered.values()),
        needless=len(again & committed),
        most_of_one_talk=max(
            sum(seed_of(42, number, f"t{turn}") in again for turn in range(1, MESSAGES + 1))
            for number in range(1, CONVERSATIONS + 1)
        ),
    )


def _study(folder: Path, service: str) -> Path:
    return written(folder, CONVERSATIONS, MESSAGES, more=STUDIES[service], name=f"study-{service}")


def wait_for_calls(database: Path, calls: int, process: "subprocess.Popen[str]") -> None:
    """Until the file holds so many answers, or the study has ended."""
    while process.poll() is None:
        try:
            with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
                if connection.execute("SELECT count(*) FROM call").fetchone()[0] >= calls:
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.002)
