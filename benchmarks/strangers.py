"""Strangers' files: several hundred forged study files, and what every command makes of each.

python -m benchmarks.strangers             all of them, told one by one
python -m benchmarks.strangers waves       those whose titles hold the word
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.strangers.case import Case
from tests.strangers.cases import CASES
from tests.strangers.drive import READING, WRITING
from tests.strangers.stage import Seen, staged
from tidepool.engine.bench.figures import Measurement, at_least

AT_ONCE = 2
STEPS = (*READING, *WRITING)


def results(cases: Sequence[Case], tell: bool = False) -> list[Seen]:
    with tempfile.TemporaryDirectory(prefix="strangers-") as place, ThreadPoolExecutor(AT_ONCE) as hands:
        folder = Path(place)
        os.environ["TIDEPOOL_STATE"], os.environ["TIDEPOOL_SELLER"] = str(folder / "state"), str(folder / "seller")
        with staged(folder) as stage:
            stage.measure(STEPS)

            def play(case: Case) -> Seen:
                seen = stage.play(case, STEPS)
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
