"""Strangers' files: several hundred forged study files, and what every command makes of each.

python -m benchmarks.strangers             all of them, told one by one
python -m benchmarks.strangers waves       those whose titles hold the word
"""

import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.strangers.case import SEED, Case
from tests.strangers.cases import CASES
from tests.strangers.drive import API, APP, READING, WRITING, Step
from tests.strangers.stage import Seen, staged
from tidepool.engine.bench.figures import Measurement, at_least

AT_ONCE = 2
WITH_SIMULATIONS = ("talks", "several", "queued", "old")
"""honest files that the API has something to say of"""
IN_THE_APP = 1 / 3
"""of all files are opened in the app too, by lot"""


def steps(case: Case) -> tuple[Step, ...]:
    in_the_app = random.Random(f"{SEED}/app/{case.title}").random() < IN_THE_APP
    doors = (*([API] if case.base in WITH_SIMULATIONS else []), *([APP] if in_the_app else []))
    return (*READING, *doors, *WRITING)


def results(cases: Sequence[Case], tell: bool = False) -> list[Seen]:
    with tempfile.TemporaryDirectory(prefix="strangers-") as place, ThreadPoolExecutor(AT_ONCE) as hands:
        folder = Path(place)
        os.environ["TIDEPOOL_STATE"], os.environ["TIDEPOOL_SELLER"] = str(folder / "state"), str(folder / "seller")
        with staged(folder) as stage:
            stage.measure((*READING, API, APP, *WRITING))

            def play(case: Case) -> Seen:
                seen = stage.play(case, steps(case))
                if tell:
                    print(_line(seen), flush=True)
                return seen

            return list(hands.map(play, cases))


def _line(seen: Seen) -> str:
    verdict = "ok" if not seen.wrongs else "WRONG\n    " + "\n    ".join(_together(seen.wrongs))
    return f"{seen.case.title} | {seen.told[:300]!r} | {verdict}"


def _together(wrongs: Sequence[str]) -> list[str]:
    """The commands that go wrong in the same way, in one line."""
    ways: dict[str, list[str]] = {}
    for wrong in wrongs:
        command, _, way = wrong.rpartition(": ")
        ways.setdefault(way, []).append(command)
    return [f"{way}: {', '.join(commands)}" for way, commands in ways.items()]


def prove() -> Iterator[Measurement]:
    seen = results(CASES)
    yield at_least("strangers' files", len(seen), "", 120)


if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")] or [""]
    held = "--held-back" in sys.argv
    chosen = [case for case in CASES if case.held_back == held and any(part in case.title for part in wanted)]
    seen = results(chosen, tell=True)
    print(f"{sum(not one.wrongs for one in seen)} of {len(seen)} as they should be")
