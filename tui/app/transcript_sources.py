"""Sources of transcripts: conversations, the answers of an evolution, the episodes of a mutation.

Each source is a list of numbers of any length. Heads are read for the visible rows, and the text for the row under the cursor.
"""

import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from textual.content import Content

from tidepool.engine.studies.evolution.records import ROLES, finalists
from tidepool.storage.queries import search
from tidepool.storage.queries.learning import (
    AnswerFilter,
    AnswerHead,
    EpisodeHead,
    answer_heads,
    episode_heads,
    genome_history,
    genomes_with_same_prompt,
    matching_answers,
    of_split,
    players,
    read_answers,
)
from tidepool.storage.queries.lists import everybody, readable, talk_heads
from tidepool.storage.queries.watching import BatchLine, wave_lines
from tidepool.tui.app.kind_screens import screens_of
from tidepool.tui.app.widgets.rows import Piece, column, marked_names
from tidepool.tui.drawing.text import count, fitted, one_line
from tidepool.tui.drawing.transcript import GRADES, Readable, ReadAnswer

MOST_WAVES = MOST_SPEAKERS = 200
NAMES = 28
"""width of the names of the speakers"""
Choice = tuple[Content | str, str | int]
"""the label of a choice, and its value"""


@dataclass(frozen=True, slots=True)
class TranscriptFilter:
    """The chosen filters."""

    words: str = ""
    show: str = "all"
    participant: str | None = None
    part: str | int | None = None


class TranscriptSource:
    """The conversations of a batch. Other sources override what differs."""

    title = "Conversations"
    hint = 'search: words, "a phrase"'
    """placeholder of the search line"""
    shows: ClassVar[Mapping[str, str]] = {
        "all": "any result",
        "revealed": "revealed",
        "kept": "not revealed",
        "failed": "failed",
    }
    anybody = "anyone"
    any_part = "any wave"
    splits: ClassVar[Mapping[str, str]] = {}
    """choices instead of waves, with their labels"""
    lists_hits = True
    """whether a search lists messages; if not, it narrows the list"""
    places: Mapping[str, int] = MappingProxyType({})
    """places of the participants, which determine their glyphs and colours"""

    def __init__(self, batch_number: int = 0) -> None:
        self.number = batch_number

    def participants(self, connection: sqlite3.Connection) -> list[Choice]:
        return [(Content(one_line(name)), name) for name in everybody(connection, self.number)[:MOST_SPEAKERS]]

    def parts(self, connection: sqlite3.Connection) -> list[Choice]:
        if self.splits:
            return [(name, split) for split, name in self.splits.items()]
        waves = min(wave_lines(connection, [self.number], most=0)[0], MOST_WAVES)
        return [(f"wave {wave}", wave) for wave in range(1, waves + 1)]

    def matching(self, connection: sqlite3.Connection, filters: TranscriptFilter) -> "array[int]":
        return search.matching_units(connection, self.number, filter_of(filters))

    def count_text(self, numbers: Sequence[int], batch: BatchLine) -> str:
        return f"{count(len(numbers))} of {count(batch.units_total)} conversations"

    def heads(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> Mapping[int, Any]:
        return talk_heads(connection, self.number, numbers)

    def row(self, number: int, head: Any) -> list[Piece]:
        pieces: list[Piece] = [
            (f"{number:>7,} ", "dim"),
            *marked_names(head.participants, self.places, NAMES),
            (" ", ""),
        ]
        if head.status == "failed":
            pieces.append((f"× {one_line(head.error or 'failed')}", "failed"))
        elif head.revealed:
            pieces.append((f"◆ {' and '.join(map(one_line, head.revealed))} revealed", "running"))
        elif head.status != "completed":
            pieces.append(("▸ running", "dim"))
        return pieces

    def read(self, connection: sqlite3.Connection, number: int) -> Readable | None:
        return readable(connection, self.number, number)


def filter_of(filters: TranscriptFilter) -> search.Filter:
    wave = filters.part if isinstance(filters.part, int) else None
    return search.Filter(filters.words, filters.show, filters.participant, wave)


class Episodes(TranscriptSource):
    title = "Episodes"
    shows: ClassVar[Mapping[str, str]] = {"any": "all episodes", "failed": "failed"}
    any_part = "any query"
    splits: ClassVar[Mapping[str, str]] = {"training": "training", "heldout": "held out"}

    def participants(self, connection: sqlite3.Connection) -> list[Choice]:
        return [(Content(one_line(name)), name) for name in players(connection, self.number)]

    def matching(self, connection: sqlite3.Connection, filters: TranscriptFilter) -> "array[int]":
        numbers = super().matching(connection, filters)
        if not isinstance(filters.part, str):
            return numbers
        in_split = of_split(connection, self.number, filters.part)
        return array("I", (number for number in numbers if number in in_split))

    def count_text(self, numbers: Sequence[int], batch: BatchLine) -> str:
        return f"{count(len(numbers))} of {count(batch.units_total)} episodes: player, mean reward, query"

    def heads(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> Mapping[int, EpisodeHead]:
        return episode_heads(connection, self.number, numbers)

    def row(self, number: int, head: EpisodeHead) -> list[Piece]:
        pieces: list[Piece] = [
            (f"{number:>7,} ", "dim"),
            column(self.splits.get(head.split, one_line(head.split)), 8, "dim"),
            column(one_line(head.player), 14, "accent"),
        ]
        if head.status == "failed":
            return [*pieces, (f"× {one_line(head.error or 'failed')}", "failed")]
        reward = f"{head.reward:.3f}" if head.reward is not None else "▸" if head.status != "completed" else "–"
        return [*pieces, (f"{reward:>5} ", ""), (one_line(head.query), "dim")]


FINALISTS = {"champion": "champion", "baseline": "best seed", "random_search": "random"}


class Answers(TranscriptSource):
    title = "Answers"
    hint = "search: words of questions and replies"
    shows: ClassVar[Mapping[str, str]] = {
        "any": "all answers",
        "wrong": "wrong",
        "unclear": "unclear",
        "missing": "missing",
        "right": "right",
    }
    anybody = "any prompt"
    any_part = "any problem"
    splits: ClassVar[Mapping[str, str]] = {"judge": "held out", "search": "training"}
    lists_hits = False

    def participants(self, connection: sqlite3.Connection) -> list[Choice]:
        return [(ROLES[role], role) for role in finalists(connection, self.number)]

    def matching(self, connection: sqlite3.Connection, filters: TranscriptFilter) -> "array[int]":
        ids: tuple[str, ...] = ()
        if filters.participant:
            champion = finalists(connection, self.number).get(filters.participant, "")
            ids = tuple(genomes_with_same_prompt(connection, self.number, champion))
        grade = filters.show if filters.show in GRADES else None
        split = str(filters.part) if filters.part else None
        return matching_answers(connection, self.number, AnswerFilter(filters.words, grade, ids, split=split))

    def count_text(self, numbers: Sequence[int], batch: BatchLine) -> str:
        return f"{count(len(numbers))} answers, wrong ones first · enter opens one"

    def heads(
        self, connection: sqlite3.Connection, numbers: Sequence[int]
    ) -> Mapping[int, tuple[AnswerHead, str | None]]:
        """Returns the heads, each with the role of its prompt if it is a finalist."""
        roles = {genome_id: role for role, genome_id in reversed(finalists(connection, self.number).items())}
        by_number = answer_heads(connection, self.number, numbers)
        return {number: (head, roles.get(head.genome_id)) for number, head in by_number.items()}

    def row(self, number: int, head_and_role: tuple[AnswerHead, str | None]) -> list[Piece]:
        head, role = head_and_role
        mark, style = GRADES[head.grade]
        extracted = one_line(head.extracted or head.grade)
        gold = f", not {one_line(head.gold)}" if head.gold is not None and head.grade == "wrong" else ""
        return [
            (f" {mark} ", style),
            (fitted(self.splits.get(head.split, one_line(head.split)), 8) + f"{head.problem:>5} ", "dim"),
            column(FINALISTS[role] if role else one_line(head.genome_id), 12, "accent"),
            column(extracted + gold, 18, style),
            (one_line(head.question or ""), "dim"),
        ]

    def read(self, connection: sqlite3.Connection, number: int) -> Readable | None:
        answers = read_answers(connection, self.number, [number])
        if not answers:
            return None
        genome_id = answers[0].genome_id
        roles = [ROLES[role] for role, one in finalists(connection, self.number).items() if one == genome_id]
        history = genome_history(connection, self.number, genome_id)
        return ReadAnswer(answers[0], roles[0] if roles else None, history["prompt"] if history else "")


_SOURCES: Mapping[str, type[TranscriptSource]] = {"answers": Answers, "episodes": Episodes}


def transcript_source(batch: BatchLine) -> TranscriptSource:
    return _SOURCES.get(screens_of(batch.kind).reads, TranscriptSource)(batch.number)
