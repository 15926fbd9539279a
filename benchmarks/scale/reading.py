"""What reads a batch, on a small file and on one with a million conversations: python -m benchmarks.scale.reading

List, a summary, a transcript and what Watch reads when it opens must cost as much on the one as on the other. Statistics
may take longer, in bounded memory. CPU seconds of whole processes, the least of three.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.scale.cost import COMMAND, MOST_MEMORY, Cost, cost_of
from benchmarks.scale.files import KINDS, MANY, file_of, place_of_files
from tidepool.engine.bench import Measurement, at_most

FEW, HUNDRED_THOUSAND = 1_000, min(100_000, MANY)
TIMES = 3
SUMMARY = """
import sys
from pathlib import Path
from tidepool.engine.results.summary import summarise
assert summarise(Path(sys.argv[1]), "last", with_statistics=False)["calls"]["total"] > 0
"""
WATCH = """
import sys
from pathlib import Path
from tidepool.storage.file import reading
from tidepool.storage.reading import watching
import tidepool.tui.app.app
path = Path(sys.argv[1])
with reading(path) as connection:
    assert watching.all_watched(connection, path) and watching.watched(connection, path, 1)
    last = watching.last_begun(connection, 1)
    assert watching.unit_lines(connection, 1, last - 60, last) and watching.cells(connection, 1, last - 60, last)
    assert watching.wave_lines(connection, 1) and watching.past(connection, 1)
    watching.log_after(connection, 1, 0)
"""
"""what the first screen and Watch ask of the file, with all that the app loads"""


def readers(path: Path) -> dict[str, Sequence[str]]:
    """What should not grow with a batch, as commands."""
    return {
        "list": (*COMMAND, "--db", str(path), "list"),
        "show, statistics aside": (sys.executable, "-c", SUMMARY, str(path)),
        "show --conversation": (*COMMAND, "--db", str(path), "show", "last", "--conversation", "500"),
        "the first screen and Watch": (sys.executable, "-c", WATCH, str(path)),
    }


def prove() -> Iterator[Measurement]:
    with place_of_files() as folder:
        for kind in KINDS:
            small, large = file_of(folder, kind, FEW), file_of(folder, kind, MANY)
            for (name, few), many in zip(readers(small).items(), readers(large).values(), strict=True):
                once, now = cheapest(few), cheapest(many)
                note = f"{now.cpu:.2f} s of CPU, {now.memory:.0f} MB"
                yield at_most(f"{kind}, {MANY:,} ÷ {FEW:,}: {name}", now.cpu / once.cpu, "×", 1.5, note)
            found = cheapest(stats(large), 1)
            memory = f"{kind}, {MANY:,}: memory of stats"
            yield at_most(memory, found.memory, "MB", MOST_MEMORY, f"{found.cpu:.1f} s of CPU")
            found = cheapest(stats(file_of(folder, kind, HUNDRED_THOUSAND)))
            name = f"{kind}, {HUNDRED_THOUSAND:,}: CPU seconds of stats, the whole command"
            yield at_most(name, found.cpu, "s", 2.0, f"{found.memory:.0f} MB")


def stats(path: Path) -> Sequence[str]:
    return (*COMMAND, "--db", str(path), "stats", "last")


def cheapest(command: Sequence[str], times: int = TIMES) -> Cost:
    costs = [cost_of(command) for _ in range(times)]
    return Cost(min(cost.cpu for cost in costs), max(cost.memory for cost in costs))


if __name__ == "__main__":
    for figure in prove():
        print(figure, flush=True)
