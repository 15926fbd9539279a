"""What of a batch can be coded, and what its instruments say of it: the frame that a sample is drawn from."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.engine.coding.code_book import CodeBook
from tidepool.engine.coding.sample import (
    NEGATIVE,
    POSITIVE,
    UNCERTAIN,
    Candidate,
    Instrument,
    Place,
    Unit,
    rating_strata,
)
from tidepool.engine.errors import UsageError
from tidepool.storage import codes as rows
from tidepool.storage.codes import GameSide

SIDE_QUESTION = "Did this side give its secret away, in whatever way?"
MESSAGE_QUESTION = "Does this message give the secret away, in whatever way?"
ANSWER_QUESTION = "Is this reply right?"
JUDGE, ANY = "judge", "all detectors"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Of one instrument: the places where it says something, and those of them that it calls positive."""

    said: frozenset[Place]
    positive: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Frame:
    book: CodeBook
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
    what = "has no judge" if batch["kind"] == "simulation" else f"is a {batch['kind'].replace('_', ' ')}"
    raise UsageError(
        f"Batch {batch['id']} {what}: there is nothing to code by hand. Secret games can be coded, evolutions, and simulations with a judge."
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
    known = judged if instrument == "judge" else sides
    every = frozenset(side.place for side in sides)
    found = {(name, side.place) for side in sides for name, _ in hits_of(side)}
    verdicts = {ANY: Verdicts(every, frozenset(side.place for side in sides if side.revealed)), **_named(found, every)}
    if judged:
        called = frozenset(side.place for side in judged if side.verdict)
        verdicts[JUDGE] = Verdicts(frozenset(side.place for side in judged), called)
    return Frame(
        CodeBook(SIDE_QUESTION),
        [Candidate(side.place, _stratum(side, instrument)) for side in known],
        {side.place: side.agent for side in sides},
        len(sides) - len(known),
        verdicts,
        {},
    )


def _stratum(side: GameSide, instrument: Instrument) -> str:
    if side.verdict if instrument == "judge" else side.revealed:
        return POSITIVE
    return UNCERTAIN if side.uncertain and not side.revealed else NEGATIVE


def _messages(sides: Sequence[GameSide], said: Sequence[tuple[int, int]]) -> Frame:
    """The messages of each side up to the one in which its secret was found: after it nothing is left to keep."""
    turns: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number, turn in said:
        turns[number, (turn - 1) % 2].append(turn)
    strata: dict[Place, str] = {}
    agents: dict[Place, str] = {}
    found: set[tuple[str, Place]] = set()
    for side in sides:
        last = side.turn if side.revealed else None
        for turn in turns[side.number, side.side]:
            if last is None or turn <= last:
                strata[side.number, side.side, turn] = (
                    POSITIVE if turn == last else UNCERTAIN if side.uncertain else NEGATIVE
                )
                agents[side.number, side.side, turn] = side.agent
        found |= {(name, (side.number, side.side, turn)) for name, turn in hits_of(side) if turn is not None}
    every = frozenset(strata)
    positive = frozenset(place for place, stratum in strata.items() if stratum == POSITIVE)
    candidates = [Candidate(place, stratum) for place, stratum in strata.items()]
    return Frame(
        CodeBook(MESSAGE_QUESTION), candidates, agents, 0, {ANY: Verdicts(every, positive), **_named(found, every)}, {}
    )


def _named(found: Iterable[tuple[str, Place]], every: frozenset[Place]) -> dict[str, Verdicts]:
    places: defaultdict[str, set[Place]] = defaultdict(set)
    for name, place in found:
        places[name].add(place)
    return {name: Verdicts(every, frozenset(places[name]) & every) for name in sorted(places)}


def hits_of(side: GameSide) -> Iterator[tuple[str, int | None]]:
    """(detector, turn) of everything that was found and is no ordinary reading; of a side whose details were not kept,
    what found it first."""
    kept = _read(side.details)
    hits = kept.get("hits") if isinstance(kept, dict) else kept
    if not isinstance(hits, list):
        if side.revealed and side.detector:
            yield side.detector, side.turn
        return
    for hit in hits:
        if isinstance(hit, dict) and isinstance(hit.get("detector"), str) and not hit.get("uncertain"):
            turn = hit.get("turn")
            yield hit["detector"], turn if isinstance(turn, int) else None


def _read(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


# -- a simulation --------------------------------------------------------------------------------------------


def _rated(connection: sqlite3.Connection, batch: Mapping[str, Any]) -> Frame:
    sides = rows.rated_sides(connection, batch["number"])
    ratings = {(side.number, side.side, 0): side.rating for side in sides if side.rating is not None}
    strata = rating_strata(list(ratings.values()))
    return Frame(
        code_book(batch, "sides"),
        [Candidate(place, strata[rating]) for place, rating in ratings.items()],
        {(side.number, side.side, 0): side.entity for side in sides},
        len(sides) - len(ratings),
        {},
        ratings,
    )


# -- an evolution --------------------------------------------------------------------------------------------


def _answers(connection: sqlite3.Connection, batch: Mapping[str, Any]) -> Frame:
    """Every marked answer, by whether the mark calls it right; an agent is the model that answered."""
    answers = {(one.number, one.side, 0): one for one in rows.graded_answers(connection, batch["number"])}
    marked = {place: one for place, one in answers.items() if one.correct is not None}
    right = frozenset(place for place, one in marked.items() if one.correct)
    return Frame(
        CodeBook(ANSWER_QUESTION),
        [Candidate(place, POSITIVE if place in right else NEGATIVE) for place in marked],
        {place: one.model for place, one in answers.items()},
        len(answers) - len(marked),
        {_marked_by(batch): Verdicts(frozenset(marked), right)},
        {},
    )


def _marked_by(batch: Mapping[str, Any]) -> str:
    """As people call whoever marked: a judge, a scorer, or the task."""
    settings = json.loads(batch["config"])["evolution"]
    return f"scorer {settings['scorer']}" if settings.get("scorer") else f"task {settings.get('task', 'auto')}"
