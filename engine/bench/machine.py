"""The engine's part of the performance table, measured on this machine; each figure in processes of its own."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from tidepool.engine.bench.figures import Measurement, at_least, at_most

BARE_START = "import argparse; argparse.ArgumentParser().parse_args([])"


def probe(name: str, size: int) -> dict[str, Any]:
    """One measurement in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "tidepool.engine.bench.probes", name, str(size)],
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(say: Callable[[str], None], *, full: bool) -> Iterator[Measurement]:
    """Quick: a minute. Full: with the sizes of the promises, a hundred thousand conversations."""
    say("start of the command")
    yield at_most("start: tidepool --help ÷ a bare interpreter with argparse", start_ratio(), "×", 2.0)
    say("committed calls, small")
    small = min((probe("speed", 1_000) for _ in range(3)), key=lambda figures: figures["cpu_us_per_call"])
    large_size = 100_000 if full else 10_000
    say(f"committed calls, {large_size:,} conversations")
    large = probe("speed", large_size)
    speed = max(small["calls_per_second"], large["calls_per_second"])
    yield at_least("committed calls a second, simulated, no latency", speed, "calls/s", 10_000)
    growth = large["cpu_us_per_call"] / small["cpu_us_per_call"]
    yield at_most(f"CPU per call, {large_size:,} conversations ÷ 1,000", growth, "×", 1.1)
    yield at_most(f"memory with {large_size:,} live conversations of 300-byte replies", large["memory_mb"], "MB", 700)
    say("replay")
    replayed = probe("replay", 20_000 if full else 4_000)
    yield at_least("answers replayed a second on resume", replayed["answers_per_second"], "answers/s", 20_000)
    say("makespan on skewed latencies")
    spread = probe("makespan", 2_000 if full else 1_000)
    yield at_most("makespan ÷ ideal scheduler, skewed latencies", spread["ratio"], "×", 1.05)


def start_ratio(repeats: int = 7) -> float:
    bare = _seconds([sys.executable, "-c", BARE_START], repeats)
    return (
        _seconds(
            [sys.executable, "-c", "import sys; from tidepool.tui.command.main import main; main(['--help'])"], repeats
        )
        / bare
    )


def _seconds(command: list[str], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        times.append(time.perf_counter() - started)
    return statistics.median(times)
