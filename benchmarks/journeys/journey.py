"""A journey: from an empty file to a study composed, run, watched, read and exported; and all journeys, two at a time."""

import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.journeys.hands import HANDS, KINDS, Hand
from benchmarks.journeys.stage import BrowserStage, Lost, Missing, Stage, TerminalStage
from tidepool.engine.bench import Measurement, at_least

STAGES: dict[str, type[TerminalStage] | type[BrowserStage]] = {"terminal": TerminalStage, "browser": BrowserStage}
TAKEN = "taken-away"
BEGINNING = 9
"""letters of a name that a small screen has room for"""
OF_A_SHELL = ("TMUX", "NO_COLOR", "PYTHONPATH", "TIDEPOOL_API_TOKEN")
"""what a person's own shell may say, and would change what is seen"""


@dataclass(frozen=True, slots=True)
class Typed:
    label: str
    key: str
    value: str
    group: str = ""
    """which is folded at first"""


@dataclass(frozen=True, slots=True)
class Study:
    name: str
    typed: tuple[Typed, ...]
    planned: tuple[str, str]
    """what the plan says of these numbers, in a small and in a large window"""
    watched: str
    """what Watch shows of it"""
    counted: str
    """what the overview of its results says"""
    shown: tuple[tuple[str, tuple[str, ...]], ...]
    """panels of the results, left to right, and words that stand in them"""


STUDIES: Mapping[str, Study] = {
    "secret_game": Study(
        "A secret game",
        (Typed("Conversations", "num_interactions", "6"), Typed("Messages in each", "messages_per_interaction", "2")),
        ("6 conversations", "conversations  6 (service"),
        "● Ada → ■ Bob",
        "6 of 6 completed",
        (("Statistics", ("95 % intervals describe",)), ("Plots", ("who reveals, who obtains",))),
    ),
    "simulation": Study(
        "A simulation",
        (Typed("Conversations", "num_simulations", "2"), Typed("Turns", "n_turns", "1")),
        ("2 simulations", "simulations  2 (service"),
        "Hypatia",
        "2 of 2 completed",
        (("Statistics", ("combinations",)), ("Plots", ("words",))),
    ),
    "evolution": Study(
        "An evolution of prompts",
        (
            Typed("Population", "population_size", "6"),
            Typed("Generations", "max_generations", "2"),
            Typed("Training problems", "max_problems", "4"),
            Typed("Held-out problems", "validation_problems", "4"),
        ),
        ("genomes", "genomes"),
        "gain over the best seed",
        " completed",
        (
            ("Statistics", ("accuracy on held-out problems",)),
            ("Plots", ("fitness by generation",)),
            ("Answers", ("champion",)),
            ("Family tree", ("champion",)),
        ),
    ),
    "mutation": Study(
        "A mutation of queries",
        (
            Typed("Total steps", "num_env_steps", "80"),
            Typed("Held-out share", "heldout", "0.1", group="Learning"),
        ),
        ("episodes", "episodes"),
        "reward of the policy",
        " completed",
        (
            ("Statistics", ("reward on held-out queries",)),
            ("Plots", ("reward while learning",)),
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Journey:
    kind: str
    stage: str
    hand: str

    def __str__(self) -> str:
        columns, lines = HANDS[self.hand].size
        return f"{self.kind} by {self.hand} at {columns}×{lines} in a {self.stage}"


def go(journey: Journey, command: Sequence[str]) -> float:
    """Makes the journey in a folder of its own; returns the seconds it took, or raises what was lost."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="journey-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        database = folder / "study.db"
        size = HANDS[journey.hand].size
        with STAGES[journey.stage]([*command, "--db", str(database)], folder, surroundings(folder), size) as stage:
            travel(stage, HANDS[journey.hand](stage), journey.kind)
            wal = database.with_name("study.db-wal")
            if journey.stage == "browser":  # the page is closed a little before its app is gone
                stage.wait(lambda: not wal.exists(), "one plain file")
            if wal.exists():
                raise Lost("More than one plain file is left.")
        check(folder, database, journey.kind)
    return time.monotonic() - began


def surroundings(folder: Path) -> dict[str, str]:
    """Nothing is read from the user's own folders, and nothing left in them."""
    mine = {name: value for name, value in os.environ.items() if name not in OF_A_SHELL}
    own = ("TIDEPOOL_STATE", "TIDEPOOL_CONFIG", "TIDEPOOL_SELLER", "XDG_STATE_HOME")
    return {**mine, **{name: str(folder / name.lower()) for name in own}}


def travel(stage: Stage, hand: Hand, kind: str) -> None:
    study = STUDIES[kind]
    stage.until("Nothing here yet")
    for place, sight in (("5 Library", "No entities yet"), ("6 Providers", "openai")):
        hand.go(place)
        stage.until(sight)
    hand.go("2 Compose")
    hand.compose(kind, study.name)
    for typed in study.typed:
        if typed.group:
            hand.unfold(typed.group)
        hand.fill(typed.label, typed.value)
    stage.until("■", study.planned[hand.size[0] > 100])
    hand.run()
    stage.until("Progress", "■ completed", study.watched, study.name[:BEGINNING])
    hand.go("4 Results")
    stage.until("Overview", "Statistics", study.name[:BEGINNING])
    hand.find(study.counted)
    for panel, words in study.shown:
        hand.panel(panel)
        for word in words:
            hand.find(word)
    hand.export(TAKEN)
    stage.until(f"Exported to {TAKEN}")
    stage.look_closely()
    hand.leave()
    stage.until_ended()


def check(folder: Path, database: Path, kind: str) -> None:
    """The file and the export hold what was seen."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT kind, status, simulated, config FROM batch").fetchall()
    if [row[:3] for row in rows] != [(kind, "completed", 1)]:
        raise Lost(f"The file should hold one completed batch of {kind}, simulated, but holds {rows}.")
    config = json.loads(rows[0][3])[kind]
    for typed in STUDIES[kind].typed:
        if str(config[typed.key]) != typed.value:
            raise Lost(f"{typed.value} was typed into {typed.label}, but the batch has {config[typed.key]}.")
    exported = list((folder / TAKEN).rglob("results.json"))
    if [json.loads(path.read_text(encoding="utf-8"))["batch"]["kind"] for path in exported] != [kind]:
        raise Lost(f"The export of {kind} is not there, but {sorted(folder.rglob('*.json'))}.")


AT_ONCE = 2
HERE = (sys.executable, "-P", "-m", "tidepool")
"""the command, as this very Python has it"""


@dataclass(frozen=True, slots=True)
class Ended:
    journey: Journey
    seconds: float = 0.0
    lost: str = ""
    """what went wrong, and the screen"""
    missing: str = ""
    """why it was not made"""

    @property
    def good(self) -> bool:
        return not (self.lost or self.missing)

    def __str__(self) -> str:
        if self.missing:
            return f"{self.journey}: not tried, {self.missing}"
        return f"{self.journey}: LOST\n{self.lost}" if self.lost else f"{self.journey}: good, {self.seconds:.1f} s"


def every_journey(
    kinds: Iterable[str] = KINDS, stages: Iterable[str] = STAGES, hands: Iterable[str] = HANDS
) -> list[Journey]:
    return [Journey(kind, stage, hand) for stage, hand, kind in product(stages, hands, kinds)]


def run(journeys: Iterable[Journey], command: Sequence[str] = HERE) -> Iterator[Ended]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(lambda journey: _ended(journey, command), journeys)


def _ended(journey: Journey, command: Sequence[str]) -> Ended:
    try:
        return Ended(journey, go(journey, command))
    except Missing as missing:
        return Ended(journey, missing=str(missing))
    except Exception as error:  # of the browser's too: each is a journey that did not arrive
        return Ended(journey, lost=f"{type(error).__name__}: {error}")


def prove() -> Iterator[Measurement]:
    journeys = every_journey()
    ended = []
    for one in run(journeys):
        if not one.good:
            print(one, flush=True)
        ended.append(one)
    slowest = max(one.seconds for one in ended)
    yield at_least(
        "journeys of all four kinds, keys at 80×24 and mouse at 160×48, in a terminal and in a browser",
        sum(one.good for one in ended),
        f"of {len(journeys)}",
        len(journeys),
        f"from an empty file to an export; the slowest in {slowest:.0f} s, two at a time",
    )
