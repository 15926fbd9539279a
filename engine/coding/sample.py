"""Draws the sides of a batch that people code, and defines the codes.

The frame lists the sides that can be coded, with the verdicts of the batch's instruments. One side of every conversation is
drawn by lot. The sample takes half of its sides from those that the instrument calls positive, and half from the others. So no
two sides of a sample belong to one conversation. The order is random, so a coder who stops early has coded a smaller sample of
the same kind. A sample is stored in the file. It can be extended or redrawn, and no code is lost."""

import json
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tidepool.engine.call import stream
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.measures import PERCENT, Outcome
from tidepool.engine.kinds import load_kind
from tidepool.storage import codes as rows
from tidepool.storage.batches import find_batch, refuse_running
from tidepool.storage.codes import Place, put_sample
from tidepool.storage.file import reading
from tidepool.storage.queries.conversations import measured_by_unit, rated_sides
from tidepool.storage.queries.summary import finding

# -- codes -------------------------------------------------------------------------------------------------------------


YES, NO, UNCLEAR = "yes", "no", "unclear"
_WORDS = {
    **dict.fromkeys(("yes", "y", "revealed"), YES),
    **dict.fromkeys(("no", "n", "not"), NO),
    **dict.fromkeys(("unclear", "?", "cannot tell"), UNCLEAR),
}
LONGEST_NUMBER = 12


@dataclass(frozen=True, slots=True)
class CodeBook:
    question: str
    scale: tuple[float, float] | None = None
    """lowest and highest rating; None: codes are yes and no"""

    @property
    def keys(self) -> Mapping[str, str]:
        """Key → code, for codes that one key enters; on a scale beyond 0 to 9 ratings are typed."""
        if self.scale is None:
            return {"y": YES, "n": NO, "?": UNCLEAR}
        low, high = self.scale
        digits = {f"{n}": f"{n}" for n in range(10) if low <= n <= high} if low >= 0 and high <= 9 else {}
        return {**digits, "?": UNCLEAR}

    @property
    def typed(self) -> bool:
        """Whether a rating takes more than one key."""
        return len(self.keys) == 1

    @property
    def words(self) -> str:
        """The valid codes, for a message."""
        if self.scale is None:
            return "yes, no or unclear (y, n, ?)"
        return f"a number from {self.scale[0]:g} to {self.scale[1]:g}, or unclear (?)"

    def read(self, text: str) -> str | None:
        """The code for a text; None if it is invalid. Ignores a leading apostrophe, which spreadsheets add."""
        word = " ".join(text.strip().removeprefix("'").casefold().split())
        code = _WORDS.get(word)
        if self.scale is None or code == UNCLEAR:
            return code
        value = _number(word)
        return f"{value:g}" if value is not None and self.scale[0] <= value <= self.scale[1] else None


def _number(word: str) -> float | None:
    """Accepts a decimal point or comma; `float` alone would also take "nan", "1e5" and digits of other scripts."""
    plain = word.replace(",", ".").replace("−", "-")
    if len(word) > LONGEST_NUMBER or plain.strip("0123456789.-+"):
        return None
    try:
        return float(plain)
    except ValueError:
        return None


# -- the frame ---------------------------------------------------------------------------------------------------------


QUESTION = "Did this side give its secret away, in any way?"
POSITIVE, NEGATIVE, RATED = "positive", "negative", "rated"
JUDGE, DETECTORS, MEASURE = "judge", "detectors", "measure"


@dataclass(frozen=True, slots=True)
class Frame:
    agents: Mapping[Place, str]
    """of all sides that can be drawn"""
    verdicts: Mapping[str, Mapping[Place, bool]]
    """of a game: `detectors`, and `judge` if there was one; of another kind: its `measure`"""
    ratings: Mapping[Place, float]
    """a judge's, of a simulation, or a measure's"""
    missing: int = 0
    """sides without a rating, which cannot be drawn"""

    def stratum(self, place: Place) -> str:
        if place in self.ratings:
            return RATED
        return POSITIVE if self.verdicts[self.instrument][place] else NEGATIVE

    @property
    def instrument(self) -> str:
        return next(iter(self.verdicts), JUDGE)

    def strata(self) -> dict[str, int]:
        """How many sides of the batch are in each stratum."""
        return dict(sorted(Counter(map(self.stratum, self.agents)).items()))


def frame_of(connection: sqlite3.Connection, batch: Mapping[str, Any]) -> Frame:
    code_book(batch)
    if batch["kind"] not in ("secret_game", "simulation"):
        return _measured(connection, batch)
    if batch["kind"] == "simulation":
        rated = rated_sides(connection, batch["number"])
        entities = {(number, side): entity for number, side, entity, rating in rated if rating is not None}
        ratings = {(number, side): rating for number, side, _, rating in rated if rating is not None}
        return Frame(entities, {}, ratings, len(rated) - len(ratings))
    sides = rows.game_sides(connection, batch["number"])
    verdicts = {DETECTORS: {side.place: side.revealed for side in sides}}
    if judged := {side.place: side.verdict for side in sides if side.verdict is not None}:
        verdicts[JUDGE] = judged
    return Frame({side.place: side.agent for side in sides}, verdicts, {})


def _measured(connection: sqlite3.Connection, batch: Mapping[str, Any]) -> Frame:
    measure, _, name = first_measure(batch)
    agents: dict[Place, str] = {}
    values: dict[Place, float | None] = {}
    for number, participants, participant, measured, value, _, _ in measured_by_unit(connection, batch["id"]):
        names = json.loads(participants)
        if measured == name and (participant is None or participant in names):
            place = number, names.index(participant) if participant else 0
            agents[place], values[place] = participant or "", value
    known = {place: value for place, value in values.items() if value is not None}
    agents, missing = {place: agents[place] for place in known}, len(values) - len(known)
    if measure.unit == PERCENT:
        return Frame(agents, {MEASURE: {place: value > 0 for place, value in known.items()}}, {}, missing)
    return Frame(agents, {}, known, missing)


def first_measure(batch: Mapping[str, Any]) -> tuple[Outcome, str, str]:
    """The first measure of a kind, its words and its name, without the agent."""
    kind = load_kind(batch["kind"])
    measures = kind.results.measures(StoredConfig(batch["config"]).sections)
    if not kind.talks or not measures or math.inf in measures[0].bounds:
        raise UsageError(
            f"Batch {batch['id']} has nothing to code by hand. You can code secret games, simulations with a judge, and studies "
            "of your own whose first measure is a share or has bounds."
        )
    agent = measures[0].about.partition(".")[2]
    return measures[0], measures[0].words.removesuffix(f", {agent}"), measures[0].name.removesuffix(f" of {agent}")


def code_book(batch: Mapping[str, Any]) -> CodeBook:
    """Raises if nothing in the batch can be coded."""
    if batch["kind"] == "secret_game":
        return CodeBook(QUESTION)
    if batch["kind"] != "simulation":
        measure, words, _ = first_measure(batch)
        return CodeBook(f"{words}?", None if measure.unit == PERCENT else measure.bounds)
    judge = json.loads(batch["config"])["simulation"]["judge"]
    if not judge:
        raise UsageError(f"Batch {batch['id']} has no judge, so there is nothing to code by hand.")
    low, high = judge["scale"]
    return CodeBook(str(judge["question"]), (float(low), float(high)))


# -- the sample --------------------------------------------------------------------------------------------------------


SIZE = 100
LARGEST = 100_000
FINDING = "coding.sides"


@dataclass(frozen=True, slots=True)
class Sampled:
    place: Place
    stratum: str
    weight: float
    """how many sides of the batch it represents"""


@dataclass(frozen=True, slots=True)
class Sample:
    strata: Mapping[str, int]
    """how many sides of the batch are in each stratum"""
    chosen: tuple[Sampled, ...] = field(repr=False, default=())
    """in the order of coding"""

    def as_json(self) -> dict[str, Any]:
        chosen = [[*sampled.place, sampled.stratum, sampled.weight] for sampled in self.chosen]
        return {"strata": dict(self.strata), "chosen": chosen}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Sample":
        """Raises on invalid data, since the file may be untrusted."""
        chosen = tuple(
            Sampled((int(number), int(side)), str(stratum), float(weight))
            for number, side, stratum, weight in data["chosen"]
        )
        return cls({str(name): int(count) for name, count in data["strata"].items()}, chosen)


def draw_sample(frame: Frame, size: int, random: Random) -> Sample:
    """Takes at most one side per conversation. If one stratum has too few, the other fills up. With the same lots, a larger
    sample contains a smaller one."""
    talks: defaultdict[int, list[Place]] = defaultdict(list)
    for place in frame.agents:
        talks[place[0]].append(place)
    picks = [random.choice(places) for places in talks.values()]
    random.shuffle(picks)
    by_stratum: defaultdict[str, list[Place]] = defaultdict(list)
    for place in picks:
        by_stratum[frame.stratum(place)].append(place)
    positives = len(by_stratum[POSITIVE])
    half = min(positives, max((size + 1) // 2, size - (len(picks) - positives)))
    strata = frame.strata()
    weights: dict[Place, float] = {}
    for name, places in by_stratum.items():
        drawn = places[: half if name == POSITIVE else size - half]
        total = sum(len(talks[place[0]]) for place in drawn)
        weights |= {place: strata[name] * len(talks[place[0]]) / total for place in drawn}
    return Sample(
        strata, tuple(Sampled(place, frame.stratum(place), weights[place]) for place in picks if place in weights)
    )


def sample_of(connection: sqlite3.Connection, batch_number: int) -> Sample | None:
    stored = finding(connection, batch_number, FINDING)
    return None if stored is None else Sample.from_json(stored)


def ensure_sample(path: Path, reference: str, *, size: int | None = None, redraw: bool = False) -> Sample:
    """The batch's sample. Draws it if it is missing, if it must grow, or if a redraw is requested."""
    with reading(path) as connection:
        batch = dict(find_batch(connection, reference))
        existing = sample_of(connection, batch["number"])
        before = len(existing.chosen) if existing else 0
        if existing and not redraw and size in (None, before):
            return existing
        refuse_running(path, batch["id"])
        if size is not None and not 1 <= size <= LARGEST:
            raise UsageError(f"A sample can have 1 to {LARGEST:,} sides, not {size:,}.")
        if size is not None and size < before and not redraw:
            raise UsageError(
                f"The sample already has {before:,} sides. Choose a larger size, or draw a new sample with --redraw."
            )
        new = draw_sample(frame_of(connection, batch), size or before or SIZE, stream(batch["seed"], "coding"))
    if not new.chosen:
        raise UsageError(
            f"Batch {batch['id']} has nothing to code yet. A conversation can be coded when it is complete and has a verdict."
        )
    if existing and not redraw and new.strata != existing.strata:
        raise UsageError(
            f"Batch {batch['id']} has new conversations since its sample was drawn, so the sample cannot grow. Draw a new one "
            "with --redraw. Codes for sides that are in both samples still count. All other codes stay in the file but are not used."
        )
    put_sample(path, batch["id"], FINDING, new.as_json(), [(chosen.place, chosen.weight) for chosen in new.chosen])
    return new
