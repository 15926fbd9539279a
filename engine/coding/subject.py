"""What a coder sees of a side: what it said, what it heard, and its secret; of an answer: question, expected answer and reply. Neither verdicts nor models nor other people's
codes; nor, in a game, the agents' names, which often say who plays them."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.coding.sample import Place
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.studies.secret_game.findings.played_with import PlayedWith
from tidepool.engine.studies.secret_game.pairing import PlannedConversation
from tidepool.storage.codes import answer_at, who_is_at
from tidepool.storage.errors import FileError
from tidepool.storage.queries.units import StoredUnit, unit_of

OWN, PARTNER, REPLY = "this side", "partner", "reply"


@dataclass(frozen=True, slots=True)
class Said:
    speaker: str
    text: str
    own: bool
    """what is coded; the rest is there to understand it"""


@dataclass(frozen=True, slots=True)
class Subject:
    place: Place
    agent: str
    """for the file, not for the coder"""
    secret: str | None
    about: str
    """whose side it is, as the coder may know it"""
    said: tuple[Said, ...]


def subject_at(connection: sqlite3.Connection, batch: Mapping[str, Any], place: Place) -> Subject:
    number, side, turn = place
    if batch["kind"] == "evolution":
        return _answer(connection, batch, place)
    unit = unit_of(connection, batch["number"], number)
    if unit is None:
        raise FileError("The sample names a conversation that the batch does not have. The file was changed.")
    agent, secret = who_is_at(connection, batch["number"], place)
    if batch["kind"] != "secret_game":
        said = tuple(Said(one.speaker, one.content, one.speaker == agent) for one in unit.messages)
        return Subject(place, agent, None, agent, said)
    heard = [one for one in unit.messages if not turn or one.turn <= turn]
    told = tuple(
        Said(OWN if (one.turn - 1) % 2 == side else PARTNER, one.content, _coded(one.turn, side, turn)) for one in heard
    )
    return Subject(place, agent, secret or _secret(batch, unit, side), OWN, told)


def _answer(connection: sqlite3.Connection, batch: Mapping[str, Any], place: Place) -> Subject:
    """Neither the prompt nor the mark."""
    found = answer_at(connection, batch["number"], place)
    if found is None:
        raise FileError("The sample names an answer that the batch does not have. The file was changed.")
    texts = {"question": found.question, "expected": found.gold, REPLY: found.reply}
    said = tuple(Said(name, text, name == REPLY) for name, text in texts.items() if text.strip())
    return Subject(place, found.model, None, REPLY, said)


def _coded(turn: int, side: int, only: int) -> bool:
    return turn == only if only else (turn - 1) % 2 == side


def _secret(batch: Mapping[str, Any], unit: StoredUnit, side: int) -> str:
    """Of a file of version 1, from what the batch was played with."""
    played_with = PlayedWith.of(StoredConfig(batch["config"], _unchecked))
    opener, partner = (*unit.participants, "", "")[:2]
    meeting = PlannedConversation(unit.sequence_number, unit.game or 1, unit.round or 1, opener, partner)
    return played_with.secret(meeting, side)


def _unchecked(text: str) -> Any:
    return json.loads(text)
