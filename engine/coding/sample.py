"""Which sides of a batch people code, and what they can say of them.

The frame lists what can be coded and what the batch's instruments say of it. Of every conversation one side is drawn by lot:
first one of the strata that its sides are in, then one of the sides in it. Of these the sample takes so many of each
stratum, again by lot. So no two sides of a sample are of one conversation, and within a stratum a side's chance is known. The
order is random over all strata: whoever stops early has coded a smaller sample of the same kind. A sample is drawn once into
the file, made larger or drawn anew; no code is lost by it."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

from tidepool.engine.call import stream
from tidepool.engine.errors import UsageError
from tidepool.storage import codes as rows
from tidepool.storage.batches import find_batch, refuse_running
from tidepool.storage.codes import GameSide, put_sample
from tidepool.storage.file import reading
from tidepool.storage.queries.conversations import ratings_by_unit
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
        """Key → code, for those that one key says; on a scale beyond 0 to 9 ratings are typed."""
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
        """What may be said, for a person."""
        if self.scale is None:
            return "yes, no or unclear (y, n, ?)"
        return f"a number from {self.scale[0]:g} to {self.scale[1]:g}, or unclear (?)"

    def read(self, text: str) -> str | None:
        """The code that a text stands for; None where it is none. A spreadsheet may have put an apostrophe in front."""
        word = " ".join(text.strip().removeprefix("'").casefold().split())
        code = _WORDS.get(word)
        if self.scale is None or code == UNCLEAR:
            return code
        value = _number(word)
        return f"{value:g}" if value is not None and self.scale[0] <= value <= self.scale[1] else None


def _number(word: str) -> float | None:
    """Written with a point or a comma; `float` alone would also take "nan", "1e5" and figures of other scripts."""
    plain = word.replace(",", ".").replace("−", "-")
    if len(word) > LONGEST_NUMBER or plain.strip("0123456789.-+"):
        return None
    try:
        return float(plain)
    except ValueError:
        return None


# -- the sample --------------------------------------------------------------------------------------------------------


POSITIVE, UNCERTAIN, NEGATIVE = "positive", "uncertain", "negative"
UNCERTAIN_PART = 4
"""one in so many of the negatives is taken of the uncertain ones: where errors are likeliest"""
MOST_STRATA = 9
"""of ratings; where there are more different ones, neighbours share a stratum"""

Unit = Literal["sides", "messages"]
Instrument = Literal["detectors", "judge", "marks"]
"""of a game's sides, of a judge's, or of an evolution's answers"""
Place = tuple[int, int, int]
"""sequence number of the talk, side from 0, turn of the message; turn 0: the side as a whole"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What could be coded, and the stratum that the instrument puts it in."""

    place: Place
    stratum: str


@dataclass(frozen=True, slots=True)
class Sampled:
    place: Place
    stratum: str
    weight: float
    """how many of the batch it stands for"""


@dataclass(frozen=True, slots=True)
class Sample:
    unit: Unit
    instrument: Instrument
    draw: int
    """1 for the first; each one that is drawn anew has a number of its own, and with it its own lots"""
    strata: Mapping[str, int]
    """how many of the batch are in each"""
    talks: int
    chosen: tuple[Sampled, ...] = field(repr=False, default=())
    """in the order in which they are coded"""

    @property
    def noun(self) -> str:
        """What it is a sample of, for people."""
        return "answers" if self.instrument == "marks" else self.unit

    @property
    def population(self) -> int:
        return sum(self.strata.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "instrument": self.instrument,
            "draw": self.draw,
            "strata": dict(self.strata),
            "talks": self.talks,
            "chosen": [[*sampled.place, sampled.stratum, sampled.weight] for sampled in self.chosen],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Sample":
        """The file may be a stranger's: what is not as it is written here raises."""
        chosen = tuple(
            Sampled((int(number), int(side), int(turn)), str(stratum), float(weight))
            for number, side, turn, stratum, weight in data["chosen"]
        )
        strata = {str(name): int(count) for name, count in data["strata"].items()}
        unit: Unit = "messages" if data["unit"] == "messages" else "sides"
        label = data["instrument"]
        instrument: Instrument = "judge" if label == "judge" else "marks" if label == "marks" else "detectors"
        return cls(unit, instrument, int(data["draw"]), strata, int(data["talks"]), chosen)


def draw_sample(
    frame: Sequence[Candidate], size: int, random: Random, unit: Unit, instrument: Instrument, draw: int = 1
) -> Sample:
    """At most one of each talk, so at most as many as there are talks. With the same lots, a larger sample holds a smaller."""
    picks = _pick_one_per_talk(frame, random)
    by_stratum: defaultdict[str, list[tuple[Place, int]]] = defaultdict(list)
    for candidate, times in picks:
        by_stratum[candidate.stratum].append((candidate.place, times))
    ranks: dict[Place, float] = {}
    for name in sorted(by_stratum):
        random.shuffle(by_stratum[name])
        ranks |= {place: random.random() for place, _ in by_stratum[name]}
    strata = Counter(candidate.stratum for candidate in frame)
    sizes = allocation({name: len(places) for name, places in by_stratum.items()}, strata, size)
    chosen = [
        Sampled(place, name, strata[name] * times / sum(draws for _, draws in by_stratum[name][: sizes[name]]))
        for name in sorted(by_stratum)
        for place, times in by_stratum[name][: sizes[name]]
    ]
    ordered = tuple(sorted(chosen, key=lambda item: ranks[item.place]))
    return Sample(unit, instrument, draw, dict(sorted(strata.items())), len({item.place[0] for item in frame}), ordered)


def _pick_one_per_talk(frame: Sequence[Candidate], random: Random) -> list[tuple[Candidate, int]]:
    """Each with how many lots it was drawn from: 2 where both sides of a talk might have been."""
    talks: defaultdict[int, defaultdict[str, list[Candidate]]] = defaultdict(lambda: defaultdict(list))
    for candidate in frame:
        talks[candidate.place[0]][candidate.stratum].append(candidate)
    picks = []
    for number in sorted(talks):
        strata = talks[number]
        choices = strata[random.choice(sorted(strata))]
        picks.append((random.choice(choices), len(strata) * len(choices)))
    return picks


def allocation(available: Mapping[str, int], strata: Mapping[str, int], size: int) -> dict[str, int]:
    """How many of each stratum. Verdicts: half positive, half negative, the uncertain among these; ratings: equal parts.
    What one stratum lacks the others give."""
    if not set(available) <= {POSITIVE, UNCERTAIN, NEGATIVE}:
        return _level(available, size)
    positives = available.get(POSITIVE, 0)
    negatives = {name: available[name] for name in (UNCERTAIN, NEGATIVE) if name in available}
    halves = _level({POSITIVE: positives, NEGATIVE: sum(negatives.values())}, size)
    half = halves[NEGATIVE]
    share = strata.get(UNCERTAIN, 0) / max(1, strata.get(UNCERTAIN, 0) + strata.get(NEGATIVE, 0))
    uncertain = min(negatives.get(UNCERTAIN, 0), max(round(half * share), half // UNCERTAIN_PART))
    uncertain = max(uncertain, half - negatives.get(NEGATIVE, 0))
    sizes = {POSITIVE: halves[POSITIVE], UNCERTAIN: uncertain, NEGATIVE: half - uncertain}
    return {name: sizes[name] for name in available}


def _level(available: Mapping[str, int], size: int) -> dict[str, int]:
    """Equal parts, as far as there is enough of each; one more goes to those that come first."""
    sizes = dict.fromkeys(available, 0)
    remaining = min(size, sum(available.values()))
    while remaining:
        unfilled = [name for name in available if sizes[name] < available[name]]
        each = max(1, remaining // len(unfilled))
        for name in unfilled:
            more = min(each, available[name] - sizes[name], remaining)
            sizes[name] += more
            remaining -= more
    return sizes


def rating_strata(ratings: Sequence[float]) -> dict[float, str]:
    """The stratum of each rating: its own, or where there are many different ones one of `MOST_STRATA` of like size."""
    values = sorted(set(ratings))
    if len(values) <= MOST_STRATA:
        return {value: f"{value:g}" for value in values}
    ordered = sorted(ratings)
    edges = sorted({ordered[len(ordered) * part // MOST_STRATA] for part in range(MOST_STRATA)})
    strata: dict[float, str] = {}
    for value in values:
        position = max(position for position, edge in enumerate(edges) if edge <= value)
        last = edges[position + 1] if position + 1 < len(edges) else None
        strata[value] = f"{edges[position]:g} to under {last:g}" if last is not None else f"{edges[position]:g} or more"
    return strata


# -- the frame ---------------------------------------------------------------------------------------------------------


SIDE_QUESTION = "Did this side give its secret away, in whatever way?"
MESSAGE_QUESTION = "Does this message give the secret away, in whatever way?"
ANSWER_QUESTION = "Is this reply right?"
JUDGE, ANY = "judge", "all detectors"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Of one instrument: the places where it says something, and those of them that it calls positive."""

    places: frozenset[Place]
    positive: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Frame:
    codebook: CodeBook
    candidates: Sequence[Candidate]
    agents: Mapping[Place, str]
    missing: int
    """sides that the instrument says nothing of: they cannot be drawn"""
    verdicts: Mapping[str, Verdicts]
    """by the name of a detector, `all detectors` or `judge`"""
    ratings: Mapping[Place, float]
    """a judge's, of a simulation"""


def frame_of(connection: sqlite3.Connection, batch: Mapping[str, Any], unit: Unit, instrument: Instrument) -> Frame:
    """Raises where nothing in the batch can be coded so."""
    if batch["kind"] == "secret_game":
        return _game(connection, batch["number"], unit, instrument)
    if batch["kind"] == "simulation" and _judge_of(batch):
        if unit == "messages":
            raise UsageError("A simulation's judge rates whole sides: code them with --unit sides.")
        if instrument != "judge":
            raise UsageError("What is coded of a simulation are its judge's ratings: leave out --instrument.")
        return _rated(connection, batch)
    if batch["kind"] == "evolution":
        if unit == "messages" or instrument != "marks":
            raise UsageError(
                "What is coded of an evolution are its marks of answers: leave out --unit and --instrument."
            )
        return _answers(connection, batch)
    reason = "has no judge" if batch["kind"] == "simulation" else f"is a {batch['kind'].replace('_', ' ')}"
    raise UsageError(
        f"Batch {batch['id']} {reason}: there is nothing to code by hand. Secret games can be coded, evolutions, and simulations with a judge."
    )


def default_instrument(batch: Mapping[str, Any]) -> Instrument:
    by_kind: dict[str, Instrument] = {"simulation": "judge", "evolution": "marks"}
    return by_kind.get(batch["kind"], "detectors")


def code_book(batch: Mapping[str, Any], unit: Unit) -> CodeBook:
    if batch["kind"] == "simulation" and (judge := _judge_of(batch)):
        low, high = judge["scale"]
        return CodeBook(str(judge["question"]), (float(low), float(high)))
    if batch["kind"] == "evolution":
        return CodeBook(ANSWER_QUESTION)
    return CodeBook(MESSAGE_QUESTION if unit == "messages" else SIDE_QUESTION)


def _judge_of(batch: Mapping[str, Any]) -> Mapping[str, Any] | None:
    judge: Mapping[str, Any] | None = json.loads(batch["config"])["simulation"]["judge"]
    return judge


# -- a secret game -------------------------------------------------------------------------------------------


def _game(connection: sqlite3.Connection, batch_number: int, unit: Unit, instrument: Instrument) -> Frame:
    sides = rows.game_sides(connection, batch_number)
    if unit == "messages":
        if instrument == "judge":
            raise UsageError("The judge speaks of whole sides: code them with --unit sides.")
        return _messages(sides, rows.message_turns(connection, batch_number))
    judged = [side for side in sides if side.verdict is not None]
    if instrument == "judge" and sides and not judged:
        raise UsageError("No judge was asked in this batch: leave out --instrument judge.")
    eligible = judged if instrument == "judge" else sides
    places = frozenset(side.place for side in sides)
    hits = {(name, side.place) for side in sides for name, _ in hits_of(side)}
    verdicts = {ANY: Verdicts(places, frozenset(side.place for side in sides if side.revealed)), **_named(hits, places)}
    if judged:
        positive = frozenset(side.place for side in judged if side.verdict)
        verdicts[JUDGE] = Verdicts(frozenset(side.place for side in judged), positive)
    return Frame(
        CodeBook(SIDE_QUESTION),
        [Candidate(side.place, _stratum(side, instrument)) for side in eligible],
        {side.place: side.agent for side in sides},
        len(sides) - len(eligible),
        verdicts,
        {},
    )


def _stratum(side: GameSide, instrument: Instrument) -> str:
    if side.verdict if instrument == "judge" else side.revealed:
        return POSITIVE
    return UNCERTAIN if side.uncertain and not side.revealed else NEGATIVE


def _messages(sides: Sequence[GameSide], message_turns: Sequence[tuple[int, int]]) -> Frame:
    """The messages of each side up to the one in which its secret was found: after it nothing is left to keep."""
    turns: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number, turn in message_turns:
        turns[number, (turn - 1) % 2].append(turn)
    strata: dict[Place, str] = {}
    agents: dict[Place, str] = {}
    hits: set[tuple[str, Place]] = set()
    for side in sides:
        last = side.turn if side.revealed else None
        for turn in turns[side.number, side.side]:
            if last is None or turn <= last:
                strata[side.number, side.side, turn] = (
                    POSITIVE if turn == last else UNCERTAIN if side.uncertain else NEGATIVE
                )
                agents[side.number, side.side, turn] = side.agent
        hits |= {(name, (side.number, side.side, turn)) for name, turn in hits_of(side) if turn is not None}
    places = frozenset(strata)
    positive = frozenset(place for place, stratum in strata.items() if stratum == POSITIVE)
    candidates = [Candidate(place, stratum) for place, stratum in strata.items()]
    return Frame(
        CodeBook(MESSAGE_QUESTION), candidates, agents, 0, {ANY: Verdicts(places, positive), **_named(hits, places)}, {}
    )


def _named(hits: Iterable[tuple[str, Place]], allowed: frozenset[Place]) -> dict[str, Verdicts]:
    places: defaultdict[str, set[Place]] = defaultdict(set)
    for name, place in hits:
        places[name].add(place)
    return {name: Verdicts(allowed, frozenset(places[name]) & allowed) for name in sorted(places)}


def hits_of(side: GameSide) -> Iterator[tuple[str, int | None]]:
    """(detector, turn) of everything that was found and is no ordinary reading; of a side whose details were not kept,
    what found it first."""
    try:
        details = json.loads(side.details) if side.details else None
    except (ValueError, RecursionError):
        details = None
    hits = details.get("hits") if isinstance(details, dict) else details
    if not isinstance(hits, list):
        if side.revealed and side.detector:
            yield side.detector, side.turn
        return
    for hit in hits:
        if isinstance(hit, dict) and isinstance(hit.get("detector"), str) and not hit.get("uncertain"):
            turn = hit.get("turn")
            yield hit["detector"], turn if isinstance(turn, int) else None


# -- a simulation --------------------------------------------------------------------------------------------


def _rated(connection: sqlite3.Connection, batch: Mapping[str, Any]) -> Frame:
    sides = {
        (number, side.place - 1, 0): side
        for number, rated in ratings_by_unit(connection, batch["number"])
        for side in rated
    }
    ratings = {place: side.rating for place, side in sides.items() if side.rating is not None}
    strata = rating_strata(list(ratings.values()))
    return Frame(
        code_book(batch, "sides"),
        [Candidate(place, strata[rating]) for place, rating in ratings.items()],
        {place: side.entity for place, side in sides.items()},
        len(sides) - len(ratings),
        {},
        ratings,
    )


# -- an evolution --------------------------------------------------------------------------------------------


def _answers(connection: sqlite3.Connection, batch: Mapping[str, Any]) -> Frame:
    """Every marked answer, by whether the mark calls it right; an agent is the model that answered."""
    answers = {(answer.number, answer.side, 0): answer for answer in rows.graded_answers(connection, batch["number"])}
    marked = {place: answer for place, answer in answers.items() if answer.correct is not None}
    right = frozenset(place for place, answer in marked.items() if answer.correct)
    return Frame(
        CodeBook(ANSWER_QUESTION),
        [Candidate(place, POSITIVE if place in right else NEGATIVE) for place in marked],
        {place: answer.model for place, answer in answers.items()},
        len(answers) - len(marked),
        {_marked_by(batch): Verdicts(frozenset(marked), right)},
        {},
    )


def _marked_by(batch: Mapping[str, Any]) -> str:
    """As people call whoever marked: a judge, a scorer, or the task."""
    settings = json.loads(batch["config"])["evolution"]
    return f"scorer {settings['scorer']}" if settings.get("scorer") else f"task {settings.get('task', 'auto')}"


# -- the sample in the file --------------------------------------------------------------------------------------------


SIZE = 100
LARGEST = 100_000


def sample_of(connection: sqlite3.Connection, batch_number: int, unit: Unit) -> Sample | None:
    stored = finding(connection, batch_number, f"coding.{unit}")
    return None if stored is None else Sample.from_json(stored)


def ensure_sample(
    path: Path,
    reference: str,
    unit: Unit = "sides",
    *,
    size: int | None = None,
    instrument: Instrument | None = None,
    redraw: bool = False,
) -> Sample:
    """The batch's sample; drawn where there is none yet, where it is to be larger, or where it is asked for anew."""
    with reading(path) as connection:
        batch = dict(find_batch(connection, reference))
        existing = sample_of(connection, batch["number"], unit)
        if existing and not redraw and _enough(existing, size, instrument):
            return existing
        refuse_running(path, batch["id"])
        if size is not None and not 1 <= size <= LARGEST:
            raise UsageError(f"A sample has 1 to {LARGEST:,} {unit}, not {size:,}.")
        draw = 1 if existing is None else existing.draw + redraw
        drawn_by = instrument or (existing.instrument if existing and not redraw else default_instrument(batch))
        frame = frame_of(connection, batch, unit, drawn_by)
        random = stream(batch["seed"], "coding", unit, drawn_by, draw)
        new = draw_sample(frame.candidates, size or size_as_before(existing), random, unit, drawn_by, draw)
    if not new.chosen:
        raise UsageError(
            f"Batch {batch['id']} has nothing to code yet: no conversation with a verdict has come to its end."
        )
    if existing and not redraw and new.strata != existing.strata:
        raise UsageError(
            f"Batch {batch['id']} has gone on since its sample was drawn, so it cannot be made larger. Draw it anew with "
            "--redraw: codes of sides that are drawn again count on, the others are kept and stand for nothing."
        )
    weights = [(chosen.place, chosen.weight) for chosen in new.chosen]
    put_sample(path, batch["id"], f"coding.{unit}", new.as_json(), weights, turns=unit == "messages")
    return new


def size_as_before(existing: Sample | None) -> int:
    """As before; a sample of all the talks that there were grows with the batch."""
    if existing is None or (len(existing.chosen) == existing.talks and existing.talks < SIZE):
        return SIZE
    return len(existing.chosen)


def _enough(existing: Sample, size: int | None, instrument: Instrument | None) -> bool:
    """Raises where something else is asked for than a larger one."""
    if instrument not in (None, existing.instrument):
        raise UsageError(
            f"The sample was drawn by the verdicts of the {existing.instrument}. Its codes tell the errors of every instrument; "
            "for a sample by another one's verdicts add --redraw."
        )
    if size is not None and size < len(existing.chosen):
        raise UsageError(
            f"The sample has {len(existing.chosen):,} {existing.unit} already; it can be made larger, or drawn anew with --redraw."
        )
    return size is None or size == len(existing.chosen) or len(existing.chosen) == existing.talks
