"""kill -9 at twenty random moments, live and through the simulated batch API; the seller's own record is the witness."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.support.killing import CALLS, Killed, kill_and_resume, undisturbed
from tidepool.engine.bench import Measurement, at_least, at_most

MOMENTS = 20


def prove() -> Iterator[Measurement]:
    for service, words in (("live", "live"), ("auto", "provider batches")):
        killed = kills(service)
        same = sum(kill.same_end for kill in killed)
        yield at_least(f"kills after which the end state equals an undisturbed run's, {words}", same, "of 20", MOMENTS)
        yield at_most(f"calls bought again though their answer was kept, {words}", _sum(killed, "needless"), "", 0)
        ordered = _sum(killed, "ordered_again") + (0 if service == "live" else _sum(killed, "live_again"))
        if service == "auto":
            yield at_most(
                "calls bought ÷ needed under kill -9, provider batches", 1 + ordered / (CALLS * MOMENTS), "", 1
            )
        else:
            most = max(kill.most_of_one_talk for kill in killed)
            note = f"at most {max(kill.live_again for kill in killed)} of {CALLS} calls after one kill"
            yield at_most("calls of one conversation in flight at a kill and bought again, live", most, "", 1, note)


def kills(service: str) -> list[Killed]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(folder / "seller")
        expected = undisturbed(folder, service)
        rng = Random(f"{service}/prove")
        return [kill_and_resume(folder, service, expected, rng) for _ in range(MOMENTS)]


def _sum(killed: list[Killed], name: str) -> int:
    return sum(getattr(kill, name) for kill in killed)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
